/** Words in Foundry's language, and HTML that holds nothing but what was written for it. */

/** @returns {"fr" | "en"} The service's languages; it is asked in the one that Foundry shows. */
export function language() {
  return game.i18n?.lang.startsWith("fr") ? "fr" : "en";
}

/**
 * @param {string} key
 * @param {Record<string, string>} [values]
 */
export function say(key, values) {
  const name = `EMBERDICE.${key}`;
  return (values ? game.i18n?.format(name, values) : game.i18n?.localize(name)) ?? name;
}

/** HTML that may be shown as it is. */
export class Markup {
  /** @param {string} text */
  constructor(text) {
    this.text = text;
  }

  toString() {
    return this.text;
  }
}

/**
 * A template whose values are escaped, unless they are Markup.
 * @param {TemplateStringsArray} parts
 * @param {...unknown} values
 */
export function html(parts, ...values) {
  return new Markup(String.raw({ raw: parts }, ...values.map(inside)));
}

/** @returns {string} */
function inside(/** @type {unknown} */ value) {
  if (value instanceof Markup) return value.text;
  if (Array.isArray(value)) return value.map(inside).join("");
  return escaped(value === null || value === undefined || value === false ? "" : String(value));
}

export function escaped(/** @type {string} */ text) {
  return text.replace(/[&<>"'`]/g, (mark) => `&#${mark.charCodeAt(0)};`);
}

/**
 * Text for a chat card, which Foundry enriches: no inline roll, no link. It reads text, so that entities would not stop
 * it; a zero-width space does. What the service renders as HTML has them already.
 */
export function inert(/** @type {string} */ text) {
  return text.replace(/[@&](?=\w)|\[(?=\[)|:(?=\/\/)|\bwww(?=\.)/gi, "$&\u200b");
}

const UNITS = /** @type {const} */ ([["h", 3600], ["min", 60], ["s", 1]]);

/** 6723 → "1 h 52 min 3 s": how long, in full seconds, for a countdown. */
export function duration(/** @type {number} */ seconds) {
  let left = Math.max(0, Math.ceil(seconds));
  const parts = [];
  for (const [unit, size] of UNITS) {
    if (left >= size || parts.length || unit === "s") parts.push(`${Math.floor(left / size)} ${unit}`);
    left %= size;
  }
  return parts.join(" ");
}
