/** Who may see a roll: Foundry's mode before it is made, and the chat message after. */

import { settings } from "./seat.mjs";

/** @typedef {"public" | "gm" | "blind" | "self"} Visibility */

export const VISIBILITIES = /** @type {const} */ (["public", "gm", "blind", "self"]);

/** Foundry calls them rollMode up to v13 and messageMode from v14 on, where speaking in character is public too. */
const ROLL_MODES = /** @type {const} */ ({ public: "publicroll", gm: "gmroll", blind: "blindroll", self: "selfroll" });
const MEANT = Object.fromEntries([
  ["ic", "public"],
  ...VISIBILITIES.flatMap((each) => [[each, each], [ROLL_MODES[each], each]]),
]);

/** What v14 has and the types of v13 do not know. */
const isV14 = () => "applyMode" in ChatMessage;

/** The user's own mode. One that this module does not know is kept to oneself: it must not become public. */
export function chosenVisibility() {
  const name = /** @type {"rollMode"} */ (isV14() ? "messageMode" : "rollMode");
  return /** @type {Visibility} */ (MEANT[settings().get("core", name)] ?? "self");
}

/** Whom Foundry shows the message. Its dice are in none that is not public. */
export function audience(/** @type {Visibility} */ visibility) {
  const me = game.user?.id ?? "";
  const gms = () => ChatMessage.getWhisperRecipients("GM").flatMap(({ id }) => id ?? []);
  const whisper = { public: () => [], gm: () => [...new Set([...gms(), me])], blind: gms, self: () => [me] };
  return { whisper: whisper[visibility](), blind: visibility === "blind" };
}

/** Told with the message, so that a mode that was changed since the roll does not take it over. */
export function creation(/** @type {Visibility} */ visibility) {
  return isV14() ? { messageMode: visibility } : { rollMode: ROLL_MODES[visibility] };
}
