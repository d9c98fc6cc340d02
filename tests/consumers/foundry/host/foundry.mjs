/**
 * A stand-in for the page that a Foundry world serves: the documented names that the module uses, written for its tests.
 * It is not Foundry. That the names are Foundry's is checked against its published types.
 */

import { chatMessages, shown } from "./chat.mjs";
import { RollClass } from "./dice.mjs";
import { ApplicationV2, DialogV2 } from "./windows.mjs";

/** Where Foundry serves a module from. */
const MODULE = String("/modules/emberdice/scripts/emberdice.mjs");

const USERS = [
  { id: "gm00000000000000", name: "Gaëlle", isGM: true },
  { id: "player0000000000", name: "Paul", isGM: false },
  { id: "other00000000000", name: "Odile", isGM: false },
];

/** @param {URLSearchParams} told user, lang, generation, mode */
export async function start(told) {
  const me = /** @type {any} */ (USERS.find(({ id }) => id.startsWith(told.get("user") ?? "gm")));
  const generation = Number(told.get("generation") ?? 13);
  const seen = listened();
  const i18n = await words(told.get("lang") ?? "en");
  const hooks = heard();
  const settings = await keptSettings(generation, told.get("mode") ?? "public");
  const mode = () => settings.get("core", generation < 14 ? "rollMode" : "messageMode");
  const messages = chatMessages({ me, users: USERS, generation, mode, send: (data) => tell("/messages", data) });
  const animated = /** @type {any[]} */ ([]);
  const game = {
    release: { generation },
    user: me,
    users: USERS,
    world: { title: "Vendredi" },
    modules: new Map([["emberdice", {}]]),
    i18n,
    settings,
    clipboard: { copyPlainText: async () => {} },
    dice3d: { showForRoll: async (/** @type {any} */ roll) => animated.push(roll.toJSON()) },
  };
  Object.assign(globalThis, {
    game,
    CONFIG: { sounds: { dice: "sounds/dice.wav" } },
    ui: { notifications: notifications() },
    Hooks: hooks,
    Roll: RollClass,
    ChatMessage: messages,
    foundry: { utils: { randomID, debounce }, applications: { api: { ApplicationV2, DialogV2 } } },
    standIn: { seen, animated, messages: [] },
  });
  await import(MODULE);
  hooks.call("init");
  hooks.call("ready");
  document.body.dataset["ready"] = "true";
  await chat(messages, hooks, generation);
}

/** All that this browser hears of others, streams included. */
function listened() {
  const seen = { bodies: "", requests: /** @type {any[]} */ ([]) };
  const real = window.fetch;
  window.fetch = async (input, told) => {
    seen.requests.push({ url: String(input), method: told?.method ?? "GET", headers: { ...told?.headers } });
    const answer = await real(input, told);
    record(answer.clone(), seen);
    return answer;
  };
  return seen;
}

/** @param {Response} answer @param {{bodies: string}} seen */
async function record(answer, seen) {
  const reader = answer.body?.pipeThrough(new TextDecoderStream()).getReader();
  try {
    for (let part = await reader?.read(); part && !part.done; part = await reader?.read()) seen.bodies += part.value;
  } catch {
    // The one who asked hears of it.
  }
}

/** @param {string} lang */
async function words(lang) {
  const told = await (await fetch(`/modules/emberdice/lang/${lang}.json`)).json();
  const localize = (/** @type {string} */ key) => key.split(".").reduce((at, part) => at?.[part], told) ?? key;
  const format = (/** @type {string} */ key, /** @type {Record<string, string>} */ values) =>
    localize(key).replace(/\{(\w+)\}/g, (/** @type {string} */ whole, /** @type {string} */ name) => values[name] ?? whole);
  return { lang, localize, format };
}

function heard() {
  const hooks = /** @type {Record<string, ((...told: any[]) => any)[]>} */ ({});
  const on = (/** @type {string} */ name, /** @type {(...told: any[]) => any} */ hear) => (hooks[name] ??= []).push(hear);
  const call = (/** @type {string} */ name, /** @type {any[]} */ ...told) =>
    !(hooks[name] ?? []).some((hear) => hear(...told) === false);
  /** @satisfies {Partial<Record<keyof typeof Hooks, unknown>>} */
  const known = { on, once: on, call };
  return known;
}

/** The world's are the server's; a client's stay in the browser. @param {number} generation @param {string} mode */
async function keptSettings(generation, mode) {
  const world = await (await fetch("/world")).json();
  const registered = /** @type {Record<string, any>} */ ({});
  const menus = /** @type {Record<string, any>} */ ({});
  const core = generation < 14 ? "core.rollMode" : "core.messageMode";
  const values = /** @type {Record<string, any>} */ ({ [core]: generation < 14 ? `${mode}roll` : mode });
  const get = (/** @type {string} */ namespace, /** @type {string} */ key) => {
    const name = `${namespace}.${key}`;
    if (name in values) return values[name];
    const told = registered[name];
    if (!told) throw new Error(`no such setting: ${name}`);
    const kept = told.scope === "world" ? world[name] : JSON.parse(localStorage.getItem(name) ?? "null");
    return kept ?? told.default;
  };
  const set = async (/** @type {string} */ namespace, /** @type {string} */ key, /** @type {any} */ value) => {
    const name = `${namespace}.${key}`;
    const told = registered[name];
    if (told.scope === "world") await tell("/world", { [name]: (world[name] = value) });
    else localStorage.setItem(name, JSON.stringify(value));
    told.onChange?.(value);
    return value;
  };
  const register = (/** @type {string} */ namespace, /** @type {string} */ key, /** @type {any} */ told) => {
    registered[`${namespace}.${key}`] = told;
  };
  const registerMenu = (/** @type {string} */ namespace, /** @type {string} */ key, /** @type {any} */ told) => {
    menus[`${namespace}.${key}`] = told;
  };
  /** @satisfies {Partial<Record<keyof foundry.helpers.ClientSettings, unknown>>} */
  const known = { get, set, register, registerMenu, menus: new Map() };
  return Object.assign(known, { openMenu: (/** @type {string} */ name) => new menus[name].type().render(true) });
}

function notifications() {
  const list = /** @type {HTMLElement} */ (document.querySelector("#notifications"));
  const tell = (/** @type {string} */ text) => {
    const item = document.createElement("li");
    item.innerHTML = text; // as Foundry does, which cleans it from v13 on only
    list.append(item);
  };
  /** @satisfies {Partial<Record<keyof foundry.applications.ui.Notifications, unknown>>} */
  const known = { info: tell, warn: tell, error: tell };
  return known;
}

function randomID(length = 16) {
  const letters = crypto.getRandomValues(new Uint8Array(length));
  return Array.from(letters, (each) => (each % 36).toString(36)).join("");
}

/** @param {() => void} does @param {number} ms */
function debounce(does, ms) {
  let waiting = 0;
  return () => {
    clearTimeout(waiting);
    waiting = window.setTimeout(does, ms);
  };
}

/** @param {string} path @param {object} data */
async function tell(path, data) {
  await fetch(path, { method: "POST", body: JSON.stringify(data) });
}

/** What the server tells every browser. @param {any} messages @param {any} hooks @param {number} generation */
async function chat(messages, hooks, generation) {
  for (let after = 0; ; ) {
    const news = await (await fetch(`/messages?after=${after}`)).json();
    after += news.length;
    for (const data of news) {
      /** @type {any} */ (globalThis).standIn.messages.push(data);
      const message = new messages(data);
      if (message.visible) show(message, hooks, generation);
      hooks.call("createChatMessage", message, {}, data.author);
    }
  }
}

/** @param {any} message @param {any} hooks @param {number} generation */
function show(message, hooks, generation) {
  const item = shown(message);
  if (generation >= 13) hooks.call("renderChatMessageHTML", message, item, {});
  hooks.call("renderChatMessage", message, [item], {});
  document.querySelector("#chat-log")?.append(item);
}
