// Reads the page's address, opens the table, follows what happens there.

import { Gone, Refused, Revoked, Table, namesIn } from "./api.js";
import { View, hoursOf, write } from "./view.js";
import { LANGUAGES, chosen } from "./words.js";

const SERVICE = new URL(".", location.href); // whatever stands before /table, a proxy's path too
const PARTS = ["cards", "timers", "characters", "log"];
const MOST_EVENTS = 100;
const TICK_MS = 250;
const REFRESH_MS = 200;
const RETRY_MS = 2_000;
const LONGEST_PAUSE_MS = 15_000;

const $ = (selector) => document.querySelector(selector);
const pause = (ms) => new Promise((resume) => setTimeout(resume, ms));
const online = () => new Promise((resume) => addEventListener("online", resume, { once: true }));
const keptAs = (table) => `emberdice token ${table}`;

/** What stands after # reaches no server and no log. */
function readAddress() {
  const told = new URLSearchParams(location.hash.slice(1));
  const table = told.get("table") ?? "";
  const token = told.get("token") ?? sessionStorage.getItem(keptAs(table)) ?? "";
  const overlay = told.has("overlay") ? told.get("overlay").split(",").filter((each) => PARTS.includes(each)) : null;
  const right = /^[\w-]{1,64}$/.test(table) && /^[\x21-\x7e]{1,100}$/.test(token) && overlay?.length !== 0;
  const isForOthers = told.has("token") && !token.startsWith("ember_observer_");
  if (isForOthers) putAway({ told, table, token, right });
  return { told, table, token, overlay, right, lang: chosen(told.get("lang")) };
}

function goTo(told) {
  location.replace(`#${told}`);
  location.reload();
}

/**
 * A token that can do more than look stays in this tab, and leaves the address and the history: before anything is asked,
 * for the service may be away, or refuse it.
 */
function putAway({ told, table, token, right }) {
  if (right) sessionStorage.setItem(keptAs(table), token);
  told.delete("token");
  history.replaceState(null, "", `#${told}`);
}

class Page {
  constructor(address, words) {
    this.address = address;
    this.words = words;
    this.table = new Table(SERVICE, address.table, address.token, address.lang);
    this.events = [];
    this.over = false;
    this.refreshing = false;
    this.stale = false;
  }

  async follow() {
    setInterval(() => this.tick(), TICK_MS);
    addEventListener("pagehide", () => this.table.leave());
    addEventListener("pageshow", (shown) => shown.persisted && location.reload());
    document.addEventListener("visibilitychange", () => document.hidden || this.refresh());
    this.status("connecting");
    for (let failures = 0; ; failures += 1) {
      let waitMs = Math.min(LONGEST_PAUSE_MS, 500 * 2 ** failures);
      try {
        await this.load();
        if (this.over) return;
        for await (const event of this.table.events(this.cursor)) {
          if (this.over) return;
          failures = 0;
          this.status("live");
          if (event) await this.hear(event);
        }
      } catch (error) {
        const reason = endOf(error);
        if (reason) return this.end(reason);
        waitMs = Math.max(waitMs, (error.afterSeconds ?? 0) * 1_000);
      }
      this.status("cut");
      await Promise.race([pause(waitMs * (0.75 + Math.random() / 2)), online()]);
    }
  }

  /** Everything anew; the cursor is from where the stream goes on without a gap. */
  async load() {
    this.view ??= new View(this.words, await namesIn(SERVICE, this.address.lang));
    await this.loadState();
    if (this.over) return;
    const [{ events }] = await Promise.all([this.table.read(`/events?order=desc&limit=${MOST_EVENTS}`), this.loadName()]);
    this.events = events;
    this.view.log(this.events);
    $("#table").hidden = false;
  }

  async loadState() {
    const state = await this.table.read("/state");
    if (this.unfit(state.role)) return;
    this.clock = { ...state.clock, read: performance.now() };
    this.cursor = state.last_event;
    this.view.state(state);
    this.tick();
  }

  async loadName() {
    const { name } = await this.table.read("");
    write($("#name"), name ?? this.words.open_table);
    document.title = name ?? "Emberdice";
  }

  unfit(role) {
    if (role === "gm") this.end("for_players");
    else if (role === "player" && this.address.overlay) this.end("for_observers");
    else if (role === "observer") offerAddress(this.address);
    return this.over;
  }

  async hear(event) {
    if (event.type === "reset") return; // the stream ends here, and all is loaded anew
    this.events = [event, ...this.events.filter((each) => each.id !== event.id)].slice(0, MOST_EVENTS);
    this.view.log(this.events);
    this.refresh();
    if (event.type === "session.changed") await this.loadName();
  }

  /** One reading at a time, however much happens. */
  async refresh() {
    this.stale = true;
    if (this.refreshing) return;
    this.refreshing = true;
    while (this.stale && !this.over) {
      this.stale = false;
      try {
        await this.loadState();
        await pause(REFRESH_MS);
      } catch {
        this.stale = true;
        await pause(RETRY_MS);
      }
    }
    this.refreshing = false;
  }

  tick() {
    if (!this.clock || this.over) return;
    const { running, elapsed_seconds, read } = this.clock;
    const elapsed = elapsed_seconds + (running ? (performance.now() - read) / 1_000 : 0);
    write($("#elapsed"), hoursOf(Math.floor(elapsed)));
    $("#clock").hidden = false;
    $("#paused").hidden = running;
    document.body.dataset.clock = running ? "running" : "paused";
    if (this.view.tick(elapsed)) this.refresh();
  }

  status(state) {
    document.body.dataset.state = state;
    write($("#status"), this.words[state]);
  }

  end(reason) {
    this.over = true;
    sessionStorage.removeItem(keptAs(this.address.table));
    $("#clock").hidden = $("#table").hidden = true;
    write($("#status"), "");
    showDoor(this.address, this.words[reason]);
  }
}

function endOf(error) {
  if (error instanceof Gone) return "gone";
  if (error instanceof Revoked) return "revoked";
  return error instanceof Refused && !error.passes ? "refused" : null;
}

function speak({ told, lang }) {
  document.documentElement.lang = lang;
  for (const node of document.querySelectorAll("[data-say]")) node.textContent = LANGUAGES[lang][node.dataset.say];
  const other = lang === "fr" ? "en" : "fr";
  const button = Object.assign($("#language"), { textContent: LANGUAGES[other].language, lang: other });
  button.addEventListener("click", () => {
    told.set("lang", other);
    goTo(told);
  });
}

/** For OBS, where the token was typed and the address of this page does not hold it. Nobody types in what OBS shows. */
function offerAddress({ told, token, overlay }) {
  if (!overlay || told.has("token")) return;
  const whole = new URLSearchParams([...told, ["token", token]]);
  $("#obs-address").value = new URL(`#${whole}`, location.href);
  $("#obs").hidden = false;
}

/** What is typed there goes into this tab's memory, never into an address, which a browser remembers. */
function showDoor({ told, table }, notice) {
  document.body.dataset.state = "door";
  $("#door").hidden = false;
  write($("#notice"), notice);
  $("#open-table").value = table;
  $("#open").addEventListener("submit", (submitted) => {
    submitted.preventDefault();
    const given = new FormData(submitted.target);
    const id = given.get("table").trim();
    told.set("table", /\/sessions\/([\w-]+)/.exec(id)?.[1] ?? id);
    told.delete("token");
    told.delete("overlay");
    sessionStorage.setItem(keptAs(told.get("table")), given.get("token").trim());
    if (given.has("overlay")) told.set("overlay", given.getAll("overlay").join(","));
    goTo(told);
  });
}

function main() {
  const address = readAddress();
  const words = LANGUAGES[address.lang];
  speak(address);
  if (address.overlay) document.documentElement.dataset.overlay = address.overlay.join(" ");
  addEventListener("hashchange", () => location.reload());
  if (address.right) new Page(address, words).follow();
  else showDoor(address, location.hash.length > 1 && address.told.has("table") ? words.incomplete : "");
}

main();
