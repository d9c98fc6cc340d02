/** Chat: what a module posts goes to every browser, and each shows what its user may see. */

import { RollClass } from "./dice.mjs";

/** v12 and v13 name the modes so; from v14 on they have the names on the left. */
const ROLL_MODES = { public: "publicroll", gm: "gmroll", blind: "blindroll", self: "selfroll" };

/** @param {{me: any, users: any[], generation: number, mode: () => string, send: (data: any) => Promise<void>}} world */
export function chatMessages({ me, users, generation, mode, send }) {
  const gms = () => users.filter(({ isGM }) => isGM);

  class StandInMessage {
    /** @param {any} data */
    constructor(data) {
      this.flags = data.flags;
      this.whisper = /** @type {string[]} */ (data.whisper);
      this.blind = data.blind;
      this.speaker = data.speaker;
      this.content = data.content;
      this.author = { ...users.find(({ id }) => id === data.author), isSelf: data.author === me.id };
      this.rolls = data.rolls.map((/** @type {string} */ roll) => RollClass.fromData(JSON.parse(roll)));
    }

    get visible() {
      return !this.whisper.length || this.author.isSelf || this.whisper.includes(me.id);
    }

    /** @param {any} data @param {any} operation */
    static async create(data, operation = {}) {
      const { rollMode, messageMode } = operation;
      const known = generation < 14 ? Object.values(ROLL_MODES) : Object.keys(ROLL_MODES);
      const wanted = (generation < 14 ? rollMode : messageMode) ?? mode();
      if (!known.includes(wanted)) throw new Error(`no mode: ${wanted}`);
      const isApplied = !data.whisper?.length && (data.rolls.length || generation >= 14);
      await send({ ...data, ...(isApplied ? audience(wanted) : {}), author: me.id, rolls: data.rolls.map(JSON.stringify) });
    }

    static getSpeaker({ alias = me.name } = {}) {
      return { alias };
    }

    /** @param {string} name */
    static getWhisperRecipients(name) {
      return name === "GM" ? gms() : users.filter((user) => user.name === name);
    }
  }

  /** @param {string} wanted */
  function audience(wanted) {
    const whisper = { p: [], g: gms(), b: gms(), s: [me] }[/** @type {"p" | "g" | "b" | "s"} */ (wanted[0])];
    return { whisper: whisper.map(({ id }) => id), blind: wanted.startsWith("blind") };
  }

  /** @satisfies {Partial<Record<keyof typeof ChatMessage, unknown>>} */
  const known = { create: StandInMessage.create, getSpeaker: StandInMessage.getSpeaker };
  const later = generation < 14 ? {} : { applyMode: audience };
  return Object.assign(StandInMessage, known, later);
}

/** @param {any} message the text as Foundry enriches it: in text, whatever markup it stands in */
export function shown(message) {
  const item = document.createElement("li");
  item.className = `chat-message ${message.whisper.length ? "whisper" : ""}`;
  item.innerHTML = `<h4 class="message-sender"></h4><div class="message-content">${message.content}</div>`;
  /** @type {Element} */ (item.firstElementChild).textContent = message.speaker.alias;
  enrich(/** @type {Element} */ (item.lastElementChild));
  return item;
}

const ENRICHED = /\[\[.+?\]\]+|[@&][A-Za-z]+\[[^\]]*\]|(?:https?:\/\/|www\.)\S+/;

/** @param {Element} content */
function enrich(content) {
  const walker = document.createTreeWalker(content, NodeFilter.SHOW_TEXT);
  for (let text = walker.nextNode(); text; text = walker.nextNode()) {
    if (!ENRICHED.test(text.nodeValue ?? "")) continue;
    const link = document.createElement("a");
    link.className = "enriched";
    link.textContent = text.nodeValue;
    /** @type {ChildNode} */ (text).replaceWith(link);
  }
}
