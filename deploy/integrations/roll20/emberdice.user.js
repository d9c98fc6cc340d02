// ==UserScript==
// @name         Emberdice for Roll20
// @name:fr      Emberdice pour Roll20
// @namespace    emberdice
// @version      1.0.0
// @description  6d6 System and Burn 2d6 in Roll20's chat, played by an Emberdice service
// @description:fr 6d6 System et Burn 2d6 dans le tchat de Roll20, joués par un service Emberdice
// @license      MIT
// @match        https://app.roll20.net/editor*
// @noframes
// @run-at       document-idle
// @grant        GM.xmlHttpRequest
// @grant        GM.getValue
// @grant        GM.setValue
// @grant        GM.registerMenuCommand
// @connect      *
// ==/UserScript==

/* global GM */

(async () => {
  "use strict";

  const TRIES = 4;
  const ANSWER_MS = 10_000;
  const FIRST_PAUSE_MS = 400;
  const LONGEST_LINE = "4000";
  const UNSURE_MS = 300_000;
  const PASSING = [0, 408, 429, 502, 503, 504];
  const SETTINGS = ["address", "table", "token", "character", "lang"];

  // What is understood, in both languages: without accents, and from three letters on where they say enough.

  const WORDS = {
    command: {
      roll: ["6d6", "jet"],
      burn: ["burn", "bruler"],
      hit: ["hit", "coup"],
      soak: ["soak", "encaisser"],
      convert: ["convert", "convertir"],
      heal: ["heal", "soigner"],
      draw: ["draw", "tirer"],
      cards: ["cards", "cartes"],
      limits: ["limits", "delais"],
      show: ["show", "montrer"],
      settings: ["ember", "emberdice"],
    },
    difficulty: {
      easy: ["easy", "facile"],
      normal: ["normal", "normale"],
      hard: ["hard", "difficile"],
      exceptional: ["exceptional", "exceptionnelle"],
      extreme: ["extreme"],
      impossible: ["impossible"],
    },
    visibility: { gm: ["gm", "mj"], blind: ["blind", "aveugle"] },
    stat: { move: ["move"], soul: ["soul"], eyes: ["eyes"], heart: ["heart"] },
    die: { d2: ["d2"], d4: ["d4"], d6: ["d6"], d8: ["d8"], d10: ["d10"], d12: ["d12"] },
    protection: { light: ["light", "legere"], heavy: ["heavy", "lourde"], none: ["none", "aucune"] },
    kind: { grit: ["grit", "dents"], composure: ["composure", "peur"], none: ["none", "rien"] },
    care: { treat_damage: ["treat", "degats"], calm_self: ["calm", "soi"], calm_other: ["other", "autrui"] },
    deck: { light: ["light", "legere"], grave: ["grave"] },
    surge: { surge: ["surge"] },
  };

  const SAID = {
    en: {
      unreached:
        "The Emberdice service was not reached. It may have been done all the same: your line is back in the chat box, and sent " +
        "again within five minutes it counts once.",
      answered: "The Emberdice service answered without a word.",
      no_seat: "Say first where the table is: type !ember.",
      no_character: "Say in !ember which character you play.",
      no_such_character: "The table has no character of that name.",
      no_hit: "No hit waits for that.",
      help:
        "!6d6 5+1 hard · !burn move 3 1 · !hit d8 light, then !soak grit 4 · !convert 1 · !heal calm 4 · " +
        "!draw light 2 · !cards · !limits; gm or blind keeps it secret",
      title: "Emberdice: the table",
      address: "Service",
      table: "Table",
      token: "Your token",
      kept: "kept; type to replace it",
      character: "Character",
      lang: "Language",
      keep: "Keep",
      cancel: "Cancel",
    },
    fr: {
      unreached:
        "Le service Emberdice n’a pas été joint. C’est peut-être fait malgré tout : votre ligne est revenue dans le tchat et, " +
        "renvoyée dans les cinq minutes, elle compte une seule fois.",
      answered: "Le service Emberdice a répondu sans un mot.",
      no_seat: "Dites d’abord où est la table : tapez !ember.",
      no_character: "Dites dans !ember quel personnage vous jouez.",
      no_such_character: "La table n’a pas de personnage de ce nom.",
      no_hit: "Aucun coup n’attend cela.",
      help:
        "!jet 5+1 difficile · !bruler move 3 1 · !coup d8 légère, puis !encaisser dents 4 · !convertir 1 · !soigner soi 4 · " +
        "!tirer grave 2 · !cartes · !delais ; mj ou aveugle le garde secret",
      title: "Emberdice : la table",
      address: "Service",
      table: "Table",
      token: "Votre jeton",
      kept: "gardé ; tapez pour le remplacer",
      character: "Personnage",
      lang: "Langue",
      keep: "Garder",
      cancel: "Annuler",
    },
  };

  class Problem extends Error {
    constructor(text, { status = 0, pauseMs = 0 } = {}) {
      super(text);
      Object.assign(this, { status, pauseMs });
    }
  }

  // The seat: kept by the userscript manager, where Roll20's page cannot read it.

  const seat = Object.fromEntries(await Promise.all(SETTINGS.map(async (name) => [name, await GM.getValue(name, "")])));
  seat.lang ||= navigator.language.startsWith("fr") ? "fr" : "en";

  const say = (name) => SAID[seat.lang][name];

  async function keep(told) {
    Object.assign(seat, told);
    seat.address = seat.address.trim().replace(/\/+$/, "");
    if (seat.character && isSeated()) seat.character = await idOf(seat.character);
    await Promise.all(SETTINGS.map((name) => GM.setValue(name, seat[name].trim())));
  }

  const isSeated = () => Boolean(seat.address && seat.table && seat.token);

  /** Of a character, by its name as it is typed. */
  async function idOf(name) {
    const { characters } = await ask("GET", "/characters", undefined, { name });
    if (!characters.length) throw new Problem(say("no_such_character"));
    return characters[0].id;
  }

  // The service. A lost answer is asked for again under the same key, so that nothing happens twice.

  const unsure = new Map();

  /** What found no answer may have been done: asked for again within some minutes, it goes under the same key. */
  function keyOf(step) {
    const kept = unsure.get(step);
    unsure.delete(step);
    return kept && performance.now() - kept.atMs < UNSURE_MS ? kept.key : crypto.randomUUID();
  }

  async function ask(method, path, body, told = {}) {
    const query = new URLSearchParams({ lang: seat.lang, include: "roll20", max: LONGEST_LINE, ...told });
    const step = JSON.stringify([seat.address, seat.table, seat.token, path, body]);
    const key = body && keyOf(step);
    const request = {
      method,
      url: `${seat.address}/v1/sessions/${encodeURIComponent(seat.table)}${path}?${query}`,
      headers: {
        Accept: "application/json",
        Authorization: `Bearer ${seat.token}`,
        ...(body && { "Content-Type": "application/json", "Idempotency-Key": key }),
      },
      data: body && JSON.stringify(body),
    };
    for (let again = TRIES - 1; ; again -= 1) {
      try {
        return await answered(request);
      } catch (problem) {
        const passes = PASSING.includes(problem.status);
        if (!again && key && passes) unsure.set(step, { key, atMs: performance.now() });
        if (!again || !passes) throw problem;
        await pause(problem.pauseMs || FIRST_PAUSE_MS * 2 ** (TRIES - 1 - again));
      }
    }
  }

  function answered(request) {
    return new Promise((resolve, reject) => {
      const lost = () => reject(new Problem(say("unreached")));
      const onload = (answer) => {
        const told = parsed(answer.responseText);
        if (answer.status === 200 && told) return resolve(told);
        const seconds = /^retry-after: *(\d+)/im.exec(answer.responseHeaders ?? "")?.[1] ?? 0;
        reject(new Problem(told?.text ?? say("answered"), { status: answer.status, pauseMs: Math.min(seconds, 5) * 1000 }));
      };
      const heard = { onload, onerror: lost, ontimeout: lost, onabort: lost };
      GM.xmlHttpRequest({ ...request, ...heard, timeout: ANSWER_MS, anonymous: true });
    });
  }

  function parsed(text) {
    try {
      return JSON.parse(text);
    } catch {
      return null;
    }
  }

  const pause = (ms) => new Promise((resume) => setTimeout(resume, ms));

  // A line, read: numbers in order, words that mean something, and what is left as the label.

  const folded = (word) => word.normalize("NFD").replace(/\p{M}/gu, "").toLowerCase();

  function meaning(kind, word) {
    const meant = Object.entries(WORDS[kind]).filter(([, known]) => known.some((each) => isMeant(each, folded(word))));
    return meant.length === 1 ? meant[0][0] : undefined;
  }

  const isMeant = (known, word) => known === word || (word.length >= 3 && known.startsWith(word));

  function read(text, kinds) {
    const told = { numbers: [], words: [] };
    for (const part of text.split(/\s+/).filter(Boolean)) {
      const kind = kinds.find((each) => !(each in told) && meaning(each, part));
      if (told.words.length) told.words.push(part);
      else if (/^\d{1,4}(\+\d{1,2})?$/.test(part)) told.numbers.push(...part.split("+").map(Number));
      else if (kind) told[kind] = meaning(kind, part);
      else told.words.push(part);
    }
    return told;
  }

  const labelled = ({ words }) => (words.length ? { label: words.join(" ").slice(0, 100) } : {});
  const secret = ({ visibility }) => (visibility ? { visibility } : {});

  function mine() {
    if (!seat.character) throw new Problem(say("no_character"), { status: -1 });
    return `/characters/${encodeURIComponent(seat.character)}`;
  }

  // What each command does. It answers what is to be said in the chat.

  const PLAYS = {
    roll(text) {
      const told = read(text, ["visibility", "difficulty"]);
      const [base = 0, red = 0] = told.numbers;
      const against = told.difficulty && { difficulty: told.difficulty };
      const pool = { base, red, ...against, ...labelled(told), ...secret(told) };
      return ask("POST", seat.character ? `${mine()}/sixd6/rolls` : "/sixd6/rolls", pool);
    },
    burn(text) {
      const told = read(text, ["visibility", "stat", "surge"]);
      const [dice_count = 2, burn_stat = 0] = told.numbers;
      const action = { stat: told.stat ?? "", dice_count, burn_stat, spend_surge: "surge" in told };
      return ask("POST", `${mine()}/burn2d6/rolls`, { ...action, ...labelled(told), ...secret(told) });
    },
    hit(text) {
      const told = read(text, ["visibility", "die", "protection"]);
      const worn = told.protection && { protections: told.protection === "none" ? [] : [told.protection] };
      const blow = { die: told.die ?? "", wait: "soak", ...worn, ...labelled(told), ...secret(told) };
      return ask("POST", `${mine()}/sixd6/damage`, blow);
    },
    async soak(text) {
      const { kind = "none", numbers } = read(text, ["kind"]);
      const [base, red = 0] = numbers;
      const pool = kind === "none" ? { kind } : { kind, red, ...(base !== undefined && { base }) };
      const waits = kind === "composure" && { wait: "conversions" };
      return ask("POST", `${await waiting("awaiting_soak")}/soak`, { ...pool, ...waits });
    },
    async convert(text) {
      const [count = 0] = read(text, []).numbers;
      return ask("POST", `${await waiting("awaiting_conversions")}/conversions`, { count });
    },
    heal(text) {
      const told = read(text, ["visibility", "care"]);
      const [base, level] = told.numbers;
      const track = told.care === "treat_damage" ? "damage" : "trauma";
      const given = { ...(base !== undefined && { base }), ...(level !== undefined && { [track]: level }) };
      return ask("POST", `${mine()}/sixd6/healing`, { care: told.care ?? "", ...given, ...secret(told) });
    },
    draw(text) {
      const { deck = "light", numbers, ...told } = read(text, ["visibility", "deck"]);
      const holder = seat.character ? { character: seat.character } : {};
      return ask("POST", `/decks/${deck}/draws`, { count: numbers[0] ?? 1, ...holder, ...secret(told) });
    },
    /** Whispered: the list holds what this user drew in secret, and the game master may see that. */
    async cards() {
      const { renderings, ...answer } = await ask("GET", "/cards", undefined, seat.character ? { character: seat.character } : {});
      return { ...answer, renderings: { roll20: `/w gm ${renderings.roll20}` } };
    },
    limits: () => ask("GET", `${mine()}/sixd6/healing`),
    show: (text) => ask("GET", `/events/${encodeURIComponent(read(text, []).numbers[0] ?? "")}`),
  };

  async function waiting(state) {
    const { hits } = await ask("GET", "/state");
    const hit = hits.findLast((each) => each.character === seat.character && each.state === state);
    if (!hit) throw new Problem(say("no_hit"), { status: -1 });
    return `${mine()}/sixd6/damage/${hit.hit}`;
  }

  /** The service's line, of which Roll20 evaluates nothing; with a blind roll, where the game master may read it. */
  function line({ renderings, redacted, event }) {
    return redacted ? `${renderings.roll20} {{&#33;show=${event}}}` : renderings.roll20;
  }

  // Roll20's chat.

  const chat = () => document.querySelector("#textchat-input");
  const box = () => chat()?.querySelector("textarea");

  /** Takes a command out of the chat box before Roll20 sends it; every other line is Roll20's own. */
  function taken() {
    const typed = box()?.value ?? "";
    const [, word, text] = /^\s*!([\p{L}\d]+)\s*([\s\S]*)$/u.exec(typed) ?? [];
    const command = word && Object.keys(WORDS.command).find((each) => WORDS.command[each].includes(folded(word)));
    if (!command) return false;
    box().value = "";
    play(command, text).catch((problem) => giveBack(problem, typed));
    return true;
  }

  async function play(command, text) {
    document.querySelector("#emberdice-note")?.remove();
    if (command === "settings") return openSettings();
    if (!isSeated()) throw new Problem(say("no_seat"), { status: -1 });
    const answer = await PLAYS[command](text);
    post(line(answer), answer.character_name ?? answer.patient_name);
  }

  function giveBack(problem, typed) {
    if (box() && !box().value) box().value = typed;
    note(problem instanceof Problem ? problem.message : String(problem));
    if (!(problem instanceof Problem)) throw problem;
  }

  /** Sent as if typed, as the character where Roll20 knows one of that name; what stood in the box stays there. */
  function post(text, name) {
    const as = document.querySelector("#speakingas");
    const [typed, was] = [box().value, as?.value];
    const character = [...(as?.options ?? [])].find((each) => each.text.trim() === name);
    if (character) character.selected = true;
    box().value = text;
    chat().querySelector("button").click();
    box().value = typed;
    if (as) as.value = was;
  }

  // What only this user reads.

  function note(text) {
    const shown = document.createElement("div");
    shown.id = "emberdice-note";
    shown.role = "status";
    shown.textContent = text;
    shown.style.cssText =
      "position:fixed;inset:auto auto 1em 1em;z-index:100000;max-width:min(30em,90vw);padding:.8em 1em;border-radius:6px;" +
      "background:#2b1d16;color:#fdeee2;font:15px/1.4 sans-serif;overflow-wrap:anywhere;cursor:pointer";
    shown.addEventListener("click", () => shown.remove());
    document.querySelector("#emberdice-note")?.remove();
    document.body.append(shown);
  }

  function openSettings() {
    document.querySelector("#emberdice-settings")?.remove();
    const dialog = document.createElement("dialog");
    dialog.id = "emberdice-settings";
    dialog.style.cssText =
      "width:min(24em,90vw);font:15px/1.5 sans-serif;color:#221a14;background:#fbf6ef;border:1px solid #7c5b45;border-radius:8px";
    const form = document.createElement("form");
    const title = document.createElement("h2");
    title.textContent = say("title");
    title.style.cssText = "margin:0 0 .5em;font-size:1.15em";
    const help = document.createElement("p");
    help.textContent = say("help");
    help.style.cssText = "margin:.8em 0;font-size:.9em";
    form.append(title, ...["address", "table", "token", "character"].map(field), language(), help);
    const kept = () => keep(filled(form)).then(() => dialog.close(), ({ message }) => note(message));
    form.append(button("keep", kept), button("cancel", () => dialog.close()));
    dialog.addEventListener("close", () => dialog.remove());
    dialog.append(form);
    document.body.append(dialog);
    dialog.showModal();
  }

  /** The token is never shown again; an empty field keeps the one there is. */
  function filled(form) {
    const told = Object.fromEntries(new FormData(form));
    if (!told.token) delete told.token;
    return told;
  }

  function field(name) {
    const input = document.createElement("input");
    Object.assign(input, { name, type: name === "token" ? "password" : "text", autocomplete: "off" });
    if (name === "token") input.placeholder = seat.token ? say("kept") : "";
    else input.value = seat[name];
    return shownAs(name, input);
  }

  function language() {
    const select = document.createElement("select");
    select.name = "lang";
    select.append(new Option("English", "en"), new Option("Français", "fr"));
    select.value = seat.lang;
    return shownAs("lang", select);
  }

  function shownAs(name, input) {
    const label = document.createElement("label");
    label.textContent = say(name);
    label.style.cssText = "display:block;margin:.4em 0";
    input.style.cssText = "display:block;box-sizing:border-box;width:100%;height:2.1em;margin:0;padding:.2em .4em";
    label.append(input);
    return label;
  }

  /** No button submits: the Enter that opened the window must not close it. */
  function button(value, does) {
    const made = document.createElement("button");
    Object.assign(made, { type: "button", value, textContent: say(value) });
    made.addEventListener("click", does);
    made.style.cssText = "min-height:2.2em;padding:.2em 1em;margin-inline-end:.6em";
    return made;
  }

  // In the capture phase: before Roll20's own handlers see the key or the click.

  function instead(event) {
    if (!taken()) return;
    event.preventDefault();
    event.stopImmediatePropagation();
  }

  document.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing && event.target === box()) instead(event);
  }, true);
  document.addEventListener("click", (event) => {
    if (event.target.closest?.("#textchat-input button")) instead(event);
  }, true);
  await GM.registerMenuCommand("Emberdice", openSettings);
})();
