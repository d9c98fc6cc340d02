/** The table's window: what the service keeps, as it is now. It follows the table's stream, whoever plays. */

import { CARES } from "./dialogs.mjs";
import * as plays from "./plays.mjs";
import { isSeated, keepCharacter, seat } from "./seat.mjs";
import { Problem, follow } from "./service.mjs";
import { Window } from "./window.mjs";
import { duration, html, say } from "./words.mjs";

const LAST_SHOWN = 5;

export class Panel extends Window {
  /** @override */
  static DEFAULT_OPTIONS = {
    id: "emberdice-table",
    classes: ["emberdice-panel"],
    window: { title: "EMBERDICE.panel.title", icon: "fa-solid fa-fire", resizable: true },
    position: { width: 340, height: /** @type {const} */ ("auto") },
  };

  /** @type {any} */
  #state = null;
  #readAtMs = 0;
  /** @type {string[]} */
  #last = [];
  #problem = "";
  /** @type {AbortController | null} */
  #following = null;
  #ticking = 0;

  /** @override */
  clicked = {
    roll: () => plays.roll(),
    act: () => plays.act(),
    hit: () => plays.hit(),
    heal: () => plays.heal(() => this.show()),
    draw: (/** @type {HTMLElement} */ { dataset }) => plays.draw(dataset["deck"]),
    soak: (/** @type {HTMLElement} */ { dataset }) => plays.soak(dataset["character"], dataset["hit"]),
    discard: (/** @type {HTMLElement} */ { dataset }) => plays.discard(dataset["card"]),
  };

  show() {
    return this.render({ force: true });
  }

  /** Takes its seat anew: another table, another token. */
  async reseat() {
    this.#following?.abort();
    this.#following = null;
    this.#state = null;
    this.#last = [];
    if (this.rendered) await this.refresh();
  }

  /** What stands at the table now. */
  async refresh() {
    if (isSeated()) {
      try {
        this.#state = await plays.state();
        this.#readAtMs = performance.now();
        this.#problem = "";
        this.#listen(this.#state.last_event);
      } catch (error) {
        if (!(error instanceof Problem)) throw error;
        this.#problem = error.message;
      }
    }
    if (this.rendered) await this.render();
  }

  /** @param {string} after */
  #listen(after) {
    if (this.#following) return;
    const following = (this.#following = new AbortController());
    const refresh = foundry.utils.debounce(() => this.refresh(), 50);
    const hear = (/** @type {any} */ event) => {
      if (event.text && !event.type.startsWith("token.")) this.#last = [event.text, ...this.#last].slice(0, LAST_SHOWN);
      refresh();
    };
    follow(seat(), { after, hear, signal: following.signal }).catch((error) => {
      this.#problem = error.message;
      if (this.rendered) this.render();
    });
  }

  /** @override @param {any} context @param {any} options */
  async _onRender(context, options) {
    await super._onRender(context, options);
    this.element.querySelector("select")?.addEventListener("change", ({ target }) => {
      keepCharacter(/** @type {HTMLSelectElement} */ (target).value);
    });
    window.clearInterval(this.#ticking);
    this.#ticking = window.setInterval(() => this.#tick(), 1000);
    // Not awaited: it renders again, and Foundry renders a window once at a time.
    if (options.isFirstRender) void this.refresh();
  }

  /** @override @param {any} options */
  _onClose(options) {
    super._onClose(options);
    window.clearInterval(this.#ticking);
    this.#following?.abort();
    this.#following = null;
  }

  /** The countdowns, without asking anybody. */
  #tick() {
    const passed = (performance.now() - this.#readAtMs) / 1000;
    for (const shown of /** @type {NodeListOf<HTMLElement>} */ (this.element.querySelectorAll("[data-seconds]"))) {
      const left = Number(shown.dataset["seconds"]) - (this.#state?.clock.running ? passed : 0);
      shown.textContent = left > 0 ? duration(left) : say("panel.ready");
    }
  }

  /** @override */
  content() {
    if (!isSeated()) return html`<p class="hint">${say("problem.no_seat")}</p>`;
    if (!this.#state) return html`<p class="hint">${this.#problem || say("panel.reading")}</p>`;
    const { characters, table_cards: shared, hits, decks } = this.#state;
    const mine = seat().character || characters[0]?.character.id;
    return html`
      ${this.#problem && html`<p class="emberdice-problem">${this.#problem}</p>`}
      ${picker(characters, mine)}
      ${buttons(decks)}
      ${hits.map((/** @type {any} */ hit) => pending(hit, characters))}
      ${characters.filter((/** @type {any} */ { character }) => character.id === mine).map(limits)}
      ${cards([...characters, { character: { name: say("panel.for_all") }, cards: shared }])}
      ${lately(this.#last)}
    `;
  }
}

/** @param {any[]} characters @param {string} mine */
function picker(characters, mine) {
  const options = characters.map(({ character: { id, name } }) =>
    id === mine ? html`<option value="${id}" selected>${name}</option>` : html`<option value="${id}">${name}</option>`,
  );
  return html`<select aria-label="${say("field.character")}">${options}</select>`;
}

/** @param {string[]} texts */
function lately(texts) {
  return texts.length > 0 && html`<h3>${say("panel.last")}</h3><ul>${texts.map((text) => html`<li>${text}</li>`)}</ul>`;
}

/** @param {any[]} decks */
function buttons(decks) {
  const pile = (/** @type {string} */ id) => decks.find(({ deck }) => deck === id)?.draw_pile ?? 0;
  const button = (/** @type {string} */ action, /** @type {string} */ icon) =>
    html`<button type="button" data-action="${action}">
      <i class="fa-solid ${icon}" aria-hidden="true"></i> ${say(`panel.${action}`)}
    </button>`;
  const draw = (/** @type {string} */ deck) =>
    html`<button type="button" data-action="draw" data-deck="${deck}">${say(`panel.${deck}`)} (${pile(deck)})</button>`;
  return html`<div class="emberdice-buttons">
    ${button("roll", "fa-dice")}${button("act", "fa-fire")}${button("hit", "fa-burst")}${button("heal", "fa-heart")}
    ${draw("light")}${draw("grave")}
  </div>`;
}

/** @param {any} hit @param {any[]} characters */
function pending(hit, characters) {
  const name = characters.find(({ character }) => character.id === hit.character)?.character.name ?? hit.character;
  return html`<p class="emberdice-pending">
    ${say("panel.pending", { name, damage: String(hit.damage) })}
    <button type="button" data-action="soak" data-character="${hit.character}" data-hit="${hit.hit}">
      ${say("hit.soak")}
    </button>
  </p>`;
}

/** @param {any} whose */
function limits({ healing: { cares } }) {
  const rows = CARES.map((id) => cares.find((/** @type {any} */ { care }) => care === id)).filter(Boolean);
  return html`<h3>${say("panel.limits")}</h3><dl>${rows.map(limit)}</dl>`;
}

/** @param {any} care */
function limit({ care, ready, next_roll: next }) {
  const seconds = ready ? 0 : next.remaining_seconds;
  const left = seconds ? duration(seconds) : say("panel.ready");
  return html`<dt>${say(`care.${care}`)}</dt><dd data-seconds="${seconds}">${left}</dd>`;
}

/** @param {any[]} holders */
function cards(holders) {
  const heldBy = (/** @type {any} */ { character, cards }) =>
    cards.map((/** @type {any} */ card) => ({ ...card, holder: character.name }));
  const held = holders.flatMap(heldBy);
  if (!held.length) return "";
  return html`<h3>${say("panel.cards")}</h3><ul class="emberdice-cards">${held.map(
    ({ id, name, effect, deck, holder }) => html`<li class="${deck === "grave" && "grave"}">
      <button type="button" data-action="discard" data-card="${id}" aria-label="${say("panel.discard", { name })}"
        data-tooltip="${say("panel.discard_short")}"><i class="fa-solid fa-xmark" aria-hidden="true"></i></button>
      <strong>${name}</strong> <span>${holder}</span><p>${effect}</p>
    </li>`,
  )}</ul>`;
}
