/** Questions asked before a step. Each answers what the service takes, or null when it was closed. */

import { VISIBILITIES, chosenVisibility } from "./visibility.mjs";
import { Markup, html, say } from "./words.mjs";

export const DIFFICULTIES = ["easy", "normal", "hard", "exceptional", "extreme", "impossible"];
export const THREATS = ["d2", "d4", "d6", "d8", "d10", "d12"];
export const STATS = ["move", "soul", "eyes", "heart"];
export const CARES = ["treat_damage", "calm_self", "calm_other"];

/** @typedef {Record<string, any>} Answered */

/** @param {any[]} characters of the table's state @param {string} mine */
export function askRoll(characters, mine) {
  return ask("roll", [
    who(characters, mine),
    number("base", { max: 6, value: 3 }),
    number("red", { max: 6, value: 0 }),
    choice("difficulty", ["", ...DIFFICULTIES], ""),
    label(),
    secrecy(),
  ]);
}

/** @param {any[]} characters @param {string} mine */
export function askAction(characters, mine) {
  const burning = characters.filter((each) => each.burn2d6);
  const slots = [...new Set(burning.flatMap((each) => each.burn2d6.slots.map((/** @type {any} */ slot) => slot.name)))];
  return ask("action", [
    who(burning, mine),
    choice("stat", STATS, "move"),
    number("dice_count", { min: 1, max: 5, value: 2 }),
    number("action_difficulty", { max: 3, value: 0 }),
    number("burn_stat", { max: 20, value: 0 }),
    ...slots.map((name) => number(`slot:${name}`, { max: 20, value: 0, text: say("field.burn_slot", { name }) })),
    number("helpers", { max: 6, value: 0 }),
    check("spend_surge"),
    label(),
    secrecy(),
  ]);
}

/** @param {any[]} characters @param {string} mine */
export function askHit(characters, mine) {
  return ask("hit", [
    who(characters, mine),
    choice("die", THREATS, "d6"),
    choice("protections", ["sheet", "none", "light", "heavy", "both"], "sheet"),
    label(),
    secrecy(),
  ]);
}

/** Asked when the damage is seen. @param {any} wound */
export function askSoak(wound) {
  return ask("soak", [
    html`<p class="emberdice-seen">${say("soak.seen", { damage: String(wound.damage) })}</p>`,
    choice("kind", ["grit", "composure", "none"], "grit"),
    number("base", { max: 6, hint: say("field.from_sheet") }),
    number("red", { max: 6, value: 0 }),
  ]);
}

/** Asked when the dice of a composure are seen. @param {any} wound */
export function askConversions({ conversions_possible: most }) {
  return ask("conversions", [number("count", { max: most, value: most })]);
}

/** @param {any[]} characters @param {string} mine */
export function askHealing(characters, mine) {
  return ask("heal", [
    who(characters, mine, "patient"),
    choice("care", CARES, "treat_damage"),
    picker("carer", [["", say("field.carer_self")], ...named(characters)], ""),
    number("base", { max: 6, hint: say("field.from_sheet") }),
    number("red", { max: 6, value: 0 }),
    number("level", { max: 1000, hint: say("field.from_sheet") }),
    secrecy(),
  ]);
}

/** @param {any[]} characters @param {string} mine @param {string} deck */
export function askDraw(characters, mine, deck) {
  return ask("draw", [
    choice("deck", ["light", "grave"], deck),
    number("count", { min: 1, max: 20, value: 1 }),
    who(characters, mine),
    secrecy(),
  ]);
}

/**
 * @param {string} name
 * @param {Markup[]} fields
 * @returns {Promise<Answered | null>}
 */
async function ask(name, fields) {
  const answer = await foundry.applications.api.DialogV2.wait({
    window: { title: say(`dialog.${name}.title`) },
    classes: ["emberdice-dialog"],
    position: { width: 380 },
    content: html`${fields}`.text,
    rejectClose: false,
    buttons: [
      {
        action: "ok",
        label: say(`dialog.${name}.ok`),
        icon: "fa-solid fa-dice",
        default: true,
        callback: async (_event, button) => told(button.form),
      },
      { action: "cancel", label: say("dialog.cancel"), icon: "fa-solid fa-xmark", callback: async () => null },
    ],
  });
  return /** @type {Answered | null} */ (typeof answer === "object" ? answer : null);
}

/** What was filled in: numbers as numbers, and nothing for what was left empty. @param {HTMLFormElement | null} form */
function told(form) {
  /** @type {Answered} */
  const answers = {};
  for (const field of form?.elements ?? []) {
    if (!(field instanceof HTMLInputElement || field instanceof HTMLSelectElement) || !field.name) continue;
    if (field.type === "checkbox") answers[field.name] = /** @type {HTMLInputElement} */ (field).checked;
    else if (field.value.trim()) answers[field.name] = field.type === "number" ? Number(field.value) : field.value.trim();
  }
  return answers;
}

// Fields.

let fields = 0;

/** Several dialogs may be open, and an id may be there once. @param {string} text @param {(id: string) => Markup} input */
function field(text, input) {
  const id = `emberdice-field-${(fields += 1)}`;
  return html`<div class="form-group"><label for="${id}">${text}</label><div class="form-fields">${input(id)}</div></div>`;
}

/** @param {string} name @param {{min?: number, max: number, value?: number, hint?: string, text?: string}} told */
function number(name, { min = 0, max, value, hint, text = say(`field.${name}`) }) {
  return field(
    text,
    (id) => html`<input type="number" id="${id}" name="${name}" min="${min}" max="${max}" step="1" value="${value}"
      placeholder="${hint}">`,
  );
}

/** @param {string} name @param {string[][]} options @param {string} chosen @param {string} [text] */
function picker(name, options, chosen, text = say(`field.${name}`)) {
  const listed = options.map(([value = "", shown]) => {
    const selected = new Markup(value === chosen ? " selected" : "");
    return html`<option value="${value}"${selected}>${shown}</option>`;
  });
  return field(text, (id) => html`<select id="${id}" name="${name}">${listed}</select>`);
}

/** @param {string} name @param {string[]} values @param {string} chosen */
function choice(name, values, chosen) {
  return picker(name, values.map((value) => [value, say(`${name}.${value || "none"}`)]), chosen);
}

/** @param {string} name */
function check(name) {
  return field(say(`field.${name}`), (id) => html`<input type="checkbox" id="${id}" name="${name}">`);
}

/** @param {any[]} characters */
function named(characters) {
  return characters.map(({ character }) => [character.id, character.name]);
}

/** @param {any[]} characters @param {string} mine @param {string} [as] */
function who(characters, mine, as = "character") {
  return picker("character", named(characters), mine, say(`field.${as}`));
}

function label() {
  return field(say("field.label"), (id) => html`<input type="text" id="${id}" name="label" maxlength="100">`);
}

/** Chosen before the roll: Foundry's own mode, unless this roll is to be seen otherwise. */
function secrecy() {
  return choice("visibility", [...VISIBILITIES], chosenVisibility());
}
