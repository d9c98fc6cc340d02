/** Chat cards. A public one holds its dice; of a secret one each browser asks the service what its user may see. */

import { ID, isSeated, seat } from "./seat.mjs";
import { ask } from "./service.mjs";
import { audience, creation } from "./visibility.mjs";
import { Markup, html, inert, say } from "./words.mjs";

const INCLUDE = { include: "html,foundry" };
export const RENDERED = { query: INCLUDE };

/** @typedef {import("./visibility.mjs").Visibility} Visibility */

/** Which of an answer's rolls this step has thrown: a soak's answer repeats the damage die, a conversion's all of them. */
export const THROWN = {
  all: (/** @type {any[]} */ rolls) => rolls,
  last: (/** @type {any[]} */ rolls) => rolls.slice(-1),
  none: () => [],
};

/** @param {any} answer @param {(rolls: any[]) => any[]} [thrown] */
export async function post(answer, thrown = THROWN.all) {
  const visibility = /** @type {Visibility} */ (answer.visibility ?? "public");
  const isPublic = visibility === "public";
  const rolls = madeRolls(answer, thrown);
  const content = isPublic ? await card(answer, rolls) : html`<div class="emberdice"><p>${answer.public_text ?? say("card.secret")}</p></div>`;
  await ChatMessage.create(
    {
      content: content.text,
      rolls: isPublic ? rolls : [],
      speaker: ChatMessage.getSpeaker(answer.character_name ? { alias: answer.character_name } : {}),
      flags: { [ID]: { table: seat().table, event: answer.event, visibility } },
      ...(rolls.length && { sound: CONFIG.sounds.dice }),
      ...audience(visibility),
    },
    creation(visibility),
  );
  if (!isPublic) await animate(rolls);
}

/** None where the answer keeps its dice from this user. @param {any} answer @param {(rolls: any[]) => any[]} thrown */
function madeRolls(answer, thrown = THROWN.all) {
  return thrown(answer.renderings?.foundry ?? []).map((/** @type {any} */ made) => Roll.fromData({ dice: [], ...made }));
}

/** @param {any} answer the service's, whose rendering is escaped already @param {Roll<any>[]} rolls */
async function card(answer, rolls) {
  const dice = await Promise.all(rolls.map((roll) => roll.render()));
  const facts = answer.data ?? answer;
  const [text, thrown] = [answer.renderings.html, dice.join("")].map((each) => new Markup(each));
  return html`<div class="emberdice">${text}${thrown}${complications(answer.text, facts)}${soakButton(facts)}</div>`;
}

/** The cards that came, where the sentence gives their names alone. @param {string} text @param {any} facts */
function complications(text, { cards = [], drawn = [] }) {
  const told = [...cards, ...drawn].filter(({ effect }) => !text.includes(effect));
  return told.map(({ name, effect }) => html`<p class="card"><strong>${inert(name)}</strong> ${inert(effect)}</p>`);
}

/** @param {any} wound */
function soakButton({ hit, state, character }) {
  if (state !== "awaiting_soak") return "";
  return html`<button type="button" data-emberdice-hit="${hit}" data-emberdice-character="${character}">
    <i class="fa-solid fa-shield-halved" aria-hidden="true"></i> ${say("hit.soak")}
  </button>`;
}

/** @typedef {NonNullable<ChatMessage["flags"]["emberdice"]>} Told */

/** @param {ChatMessage} message @returns {Told | undefined} */
function toldWith(message) {
  return message.flags[ID];
}

/** @type {Map<string, Promise<any>>} */
const read = new Map();

/**
 * When Foundry shows a message: its button works, and a secret one opens for whom the service opens it.
 * @param {ChatMessage} message
 * @param {HTMLElement} shown
 * @param {(character: string, hit: string) => void} soak
 */
export async function enliven(message, shown, soak) {
  const told = toldWith(message);
  if (!told) return;
  await reveal(told, shown);
  for (const button of shown.querySelectorAll("[data-emberdice-hit]")) {
    const { emberdiceHit = "", emberdiceCharacter = "" } = /** @type {HTMLElement} */ (button).dataset;
    button.addEventListener("click", () => soak(emberdiceCharacter, emberdiceHit));
  }
}

/** @param {Told} told @param {HTMLElement} shown */
async function reveal(told, shown) {
  const place = shown.querySelector(".emberdice");
  const answer = place && (await secret(told));
  if (answer) place.outerHTML = (await card(answer, madeRolls(answer))).text;
}

/** The dice of a secret roll that somebody else made fall in the browsers that may see them. @param {ChatMessage} message */
export async function announce(message) {
  const answer = message.author?.isSelf ? null : await secret(toldWith(message));
  if (answer) await animate(madeRolls(answer));
}

/** What this user may see of a secret one; null: nothing, or it is none. @param {Told | undefined} told */
async function secret(told) {
  if (!told || told.visibility === "public" || !isSeated() || told.table !== seat().table) return null;
  const answer = await whole(told.event ?? "");
  return answer?.redacted ? null : answer;
}

/** An event as this user's token sees it, asked for once; null when it cannot be had, as when the log holds it no more. */
function whole(/** @type {string} */ event) {
  const { address, table, token } = seat();
  const key = [address, table, token, event].join(" ");
  const asked = read.get(key) ?? ask(seat(), "GET", `{table}/events/${encodeURIComponent(event)}`, RENDERED);
  read.set(key, asked);
  return asked.catch(() => {
    read.delete(key);
    return null;
  });
}

/** Dice So Nice, where it is there: dice of a secret roll, in this browser only. */
async function animate(/** @type {Roll<any>[]} */ rolls) {
  const dice3d = /** @type {any} */ (game).dice3d;
  for (const roll of dice3d ? rolls : []) await dice3d.showForRoll(roll, game.user, false);
}
