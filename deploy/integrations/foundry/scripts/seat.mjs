/** Where this browser sits: which service, which table, with which token, as which character. */

export const ID = "emberdice";

/**
 * @typedef {object} Seat
 * @property {string} address of the service, without a slash at the end
 * @property {string} table id of the session
 * @property {string} token secret; never leaves this browser but to the service
 * @property {string} character id of the character that is played
 * @property {string} [key] the operator's; only where a table is opened
 */

/** @returns {Seat} */
export function seat() {
  const table = setting("session").trim();
  return {
    address: address(),
    table,
    token: setting("tokens")[table] ?? "",
    character: setting("characters")[table] ?? "",
  };
}

export function isSeated() {
  const { address, table, token } = seat();
  return Boolean(address && table && token);
}

/** An address that is none is no address: nothing is asked of it. */
function address() {
  const given = setting("address").trim();
  const url = URL.canParse(given) ? new URL(given) : null;
  return url && /^https?:$/.test(url.protocol) ? given.replace(/\/+$/, "") : "";
}

/** @param {string} token */
export async function keepToken(token) {
  await settings().set(ID, "tokens", { ...setting("tokens"), [setting("session").trim()]: token.trim() });
}

/** The key that the service's operator asks for, where it does. @param {string} typed nothing: the one that is kept */
export async function operatorsKey(typed) {
  if (typed) await settings().set(ID, "key", typed);
  return setting("key");
}

/** @param {string} character */
export async function keepCharacter(character) {
  await settings().set(ID, "characters", { ...setting("characters"), [setting("session").trim()]: character });
}

/** The world knows the service and the table; who sits there is known to each browser alone. */
export function registerSettings(/** @type {() => void} */ changed) {
  const shown = { scope: /** @type {const} */ ("world"), config: true, type: String, default: "", onChange: changed };
  settings().register(ID, "address", { ...shown, ...labelled("address") });
  settings().register(ID, "session", { ...shown, ...labelled("session") });
  const kept = { scope: /** @type {const} */ ("client"), config: false, type: Object, default: {}, onChange: changed };
  settings().register(ID, "tokens", kept);
  settings().register(ID, "characters", kept);
  // Foundry sends the world's settings to every player.
  settings().register(ID, "key", { scope: /** @type {const} */ ("client"), config: false, type: String, default: "" });
}

/** @param {string} key */
function labelled(key) {
  return { name: `EMBERDICE.settings.${key}.name`, hint: `EMBERDICE.settings.${key}.hint` };
}

/**
 * @template {"address" | "session" | "tokens" | "characters" | "key"} K
 * @param {K} key
 */
function setting(key) {
  return settings().get(ID, key);
}

export function settings() {
  if (!game.settings) throw new Error("Foundry is not ready");
  return game.settings;
}
