/** Where Foundry meets the module: settings, a button, chat commands, chat cards. */

import { announce, enliven } from "./cards.mjs";
import { Panel } from "./panel.mjs";
import * as plays from "./plays.mjs";
import { ID, registerSettings, settings } from "./seat.mjs";
import { SeatWindow, TableWindow } from "./setup.mjs";

/** @type {Panel | undefined} */
let panel;

function table() {
  panel ??= new Panel();
  return panel;
}

/** What macros may call, too. */
const API = { ...plays, table: () => table().show(), heal: () => plays.heal(() => table().show()) };

const COMMANDS = /** @type {Record<string, () => unknown>} */ ({
  "/ember": () => API.table(),
  "/6d6": () => API.roll(),
  "/burn": () => API.act(),
});

Hooks.once("init", () => {
  registerSettings(() => panel?.reseat());
  settings().registerMenu(ID, "seat", menu("seat", "fa-solid fa-key", SeatWindow, false));
  settings().registerMenu(ID, "table", menu("table", "fa-solid fa-door-open", TableWindow, true));
  Object.assign(game.modules?.get(ID) ?? {}, { api: API });
  hearMessages();
});

/** @param {string} name @param {string} icon @param {any} type @param {boolean} restricted */
function menu(name, icon, type, restricted) {
  const words = `EMBERDICE.${name}`;
  return { name: `${words}.title`, label: `${words}.title`, hint: `${words}.hint`, icon, type, restricted };
}

/** Up to v12 Foundry hands over jQuery; later it calls the old hook as well, so that only one may be heard. */
function hearMessages() {
  if (Number(game.release?.generation) >= 13) {
    Hooks.on("renderChatMessageHTML", (message, shown) => void enliven(message, shown, API.soak));
  } else {
    Hooks.on("renderChatMessage", (message, shown) => void enliven(message, /** @type {any} */ (shown)[0], API.soak));
  }
  Hooks.on("createChatMessage", (message) => void announce(message));
}

Hooks.on("chatMessage", (_log, text) => {
  const command = text.trim().toLowerCase();
  if (!Object.hasOwn(COMMANDS, command)) return;
  COMMANDS[command]?.();
  return false;
});

/** Beside the token tools: a list of controls up to v12, named ones after. */
Hooks.on("getSceneControlButtons", (/** @type {any} */ controls) => {
  const tool = { name: ID, title: "EMBERDICE.panel.title", icon: "fa-solid fa-fire", button: true, visible: true };
  if (Array.isArray(controls)) {
    controls.find(({ name }) => name === "token")?.tools.push({ ...tool, onClick: API.table });
  } else {
    const tools = controls.tokens?.tools;
    if (tools) tools[ID] = { ...tool, order: Object.keys(tools).length, onChange: API.table };
  }
});
