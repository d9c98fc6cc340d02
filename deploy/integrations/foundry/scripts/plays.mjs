/** What a user can do: a question, a step of the service, a chat card. */

import { THROWN, RENDERED, post } from "./cards.mjs";
import * as dialogs from "./dialogs.mjs";
import { isSeated, seat } from "./seat.mjs";
import { Problem, ask } from "./service.mjs";
import { escaped, say } from "./words.mjs";

const PROTECTIONS = /** @type {Record<string, string[]>} */ ({
  none: [],
  light: ["light"],
  heavy: ["heavy"],
  both: ["light", "heavy"],
});
const TRACKS = /** @type {Record<string, string>} */ ({ treat_damage: "damage", calm_self: "trauma", calm_other: "trauma" });

/**
 * @param {string} path
 * @param {object} [body]
 */
function step(path, body = {}) {
  return ask(seat(), "POST", `{table}${path}`, { body, ...RENDERED });
}

/** @param {string} character */
const at = (character) => `/characters/${encodeURIComponent(character)}`;

/**
 * Foundry shows a notification as HTML, in v12 as it comes, and a refusal repeats what somebody typed.
 * @param {"info" | "warn" | "error"} kind
 * @param {string} text
 */
function notify(kind, text) {
  ui.notifications?.[kind](escaped(text), { localize: false });
}

/** Says a refusal in the service's words. Anything else is a fault, and not hidden. */
export function playing(/** @type {(...told: any[]) => Promise<unknown>} */ play) {
  return async (/** @type {any[]} */ ...told) => {
    if (!isSeated()) return notify("warn", say("problem.no_seat"));
    try {
      return await play(...told);
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      notify("error", error.message);
      return null;
    }
  };
}

export const roll = playing(async () => {
  const asked = await dialogs.askRoll(await characters(), seat().character);
  if (!asked) return;
  const { character, ...pool } = asked;
  await post(await step(`${at(character)}/sixd6/rolls`, pool));
});

export const act = playing(async () => {
  const there = await characters();
  if (!there.some((each) => each.burn2d6)) return notify("warn", say("problem.no_burn_sheet"));
  const asked = await dialogs.askAction(there, seat().character);
  if (!asked) return;
  const { character, ...action } = asked;
  await post(await step(`${at(character)}/burn2d6/rolls`, slotsNamed(action)));
});

/** Points of slots under their names; slots that burn nothing are left out. @param {Record<string, any>} action */
function slotsNamed(action) {
  const slots = Object.entries(action).filter(([name]) => name.startsWith("slot:"));
  const others = Object.entries(action).filter(([name]) => !name.startsWith("slot:"));
  const burned = slots.filter(([, points]) => points).map(([name, points]) => [name.slice("slot:".length), points]);
  return { ...Object.fromEntries(others), burn_slots_by_name: Object.fromEntries(burned) };
}

export const hit = playing(async () => {
  const asked = await dialogs.askHit(await characters(), seat().character);
  if (!asked) return;
  const { character, protections, ...blow } = asked;
  const worn = PROTECTIONS[protections];
  const wound = await step(`${at(character)}/sixd6/damage`, { ...blow, wait: "soak", ...(worn && { protections: worn }) });
  await post(wound);
  if (wound.state === "awaiting_soak") await soakOf(wound);
});

/** A hit that waits, from its card or from the table's window. */
export const soak = playing(async (/** @type {string} */ character, /** @type {string} */ id) => {
  const { hits } = await state();
  const waiting = hits.find((/** @type {any} */ each) => each.hit === id);
  if (waiting?.state === "awaiting_conversions") return convert(waiting);
  if (!waiting) return notify("info", say("problem.hit_done"));
  await soakOf({ ...waiting, character });
});

/** @param {any} wound */
async function soakOf(wound) {
  const asked = await dialogs.askSoak(wound);
  if (!asked) return;
  const pool = asked.kind === "none" ? { kind: "none" } : asked;
  const waits = asked.kind === "composure" ? { wait: "conversions" } : {};
  const soaked = await step(`${at(wound.character)}/sixd6/damage/${wound.hit}/soak`, { ...pool, ...waits });
  await post(soaked, soaked.dice?.some(isOfSoak) ? THROWN.last : THROWN.none);
  if (soaked.state === "awaiting_conversions") await convert(soaked);
}

/** @param {any} die */
const isOfSoak = (die) => die.kind !== "damage";

/** @param {any} wound */
async function convert(wound) {
  const asked = await dialogs.askConversions(wound);
  if (asked) await post(await step(`${at(wound.character)}/sixd6/damage/${wound.hit}/conversions`, asked), THROWN.none);
}

/** @param {() => void} refused shows the timers that stand in the way */
export const heal = playing(async (refused) => {
  const asked = await dialogs.askHealing(await characters(), seat().character);
  if (!asked) return;
  const { character, level, ...care } = asked;
  const held = level === undefined ? {} : { [TRACKS[care.care] ?? "damage"]: level };
  try {
    await post(await step(`${at(character)}/sixd6/healing`, { ...care, ...held }));
  } catch (error) {
    if (error instanceof Problem && error.body.next_roll) refused();
    throw error;
  }
});

export const draw = playing(async (/** @type {string} */ deck = "light") => {
  const asked = await dialogs.askDraw(await characters(), seat().character, deck);
  if (!asked) return;
  const { deck: pile, ...drawn } = asked;
  await post(await step(`/decks/${pile}/draws`, drawn));
});

export const discard = playing(async (/** @type {string} */ card) => {
  await post(await step("/discards", { cards: [card] }));
});

/** @returns {Promise<any>} */
export function state() {
  return ask(seat(), "GET", "{table}/state");
}

/** @returns {Promise<any[]>} */
async function characters() {
  return (await state()).characters;
}
