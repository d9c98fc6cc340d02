/** Settings that are more than a line: the user's seat, and the table that a game master opens. */

import { keepToken, operatorsKey, seat, settings, ID } from "./seat.mjs";
import { Problem, ask } from "./service.mjs";
import { Window } from "./window.mjs";
import { html, language, say } from "./words.mjs";

/** @param {Window} window @param {string} name */
function typed(window, name) {
  const field = window.element.querySelector(`[name="${name}"]`);
  return field instanceof HTMLInputElement || field instanceof HTMLSelectElement ? field.value.trim() : "";
}

/** The user's own token. It is kept in this browser, and shown to nobody. */
export class SeatWindow extends Window {
  /** @override */
  static DEFAULT_OPTIONS = {
    id: "emberdice-seat",
    classes: ["emberdice-panel"],
    window: { title: "EMBERDICE.seat.title", icon: "fa-solid fa-key" },
    position: { width: 380, height: /** @type {const} */ ("auto") },
  };

  #told = "";

  /** @override */
  clicked = { keep: () => this.#keep() };

  async #keep() {
    await keepToken(typed(this, "token"));
    const { token } = seat();
    try {
      this.#told = token ? (await ask(seat(), "GET", "{table}/tokens/me")).text : say("seat.forgotten");
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      this.#told = error.message;
    }
    await this.render();
  }

  /** @override */
  content() {
    const kept = seat().token ? say("seat.kept") : say("seat.none");
    return html`<p class="hint">${say("seat.about")}</p>
      <div class="form-group"><label for="emberdice-token">${say("seat.token")}</label>
        <div class="form-fields">
          <input type="password" id="emberdice-token" name="token" autocomplete="off" placeholder="${kept}">
        </div></div>
      <p role="status">${this.#told}</p>
      <button type="button" data-action="keep">${say("seat.keep")}</button>`;
  }
}

/** A game master opens a table, and makes a token for each player. Each is shown once, here, and never to the world. */
export class TableWindow extends Window {
  /** @override */
  static DEFAULT_OPTIONS = {
    id: "emberdice-setup",
    classes: ["emberdice-panel"],
    window: { title: "EMBERDICE.table.title", icon: "fa-solid fa-door-open" },
    position: { width: 420, height: /** @type {const} */ ("auto") },
  };

  #told = "";
  #token = "";

  /** @override */
  clicked = {
    open: () => this.#saying(() => this.#open()),
    mint: () => this.#saying(() => this.#mint()),
    copy: () => game.clipboard?.copyPlainText(this.#token),
  };

  /** @param {() => Promise<string>} does */
  async #saying(does) {
    this.#token = "";
    try {
      this.#told = await does();
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      this.#told = error.message;
    }
    await this.render();
  }

  async #open() {
    const names = typed(this, "characters").split(",").map((name) => name.trim()).filter(Boolean);
    const rules = { tier_size: Number(typed(this, "tier_size")) || null };
    const body = { name: game.world?.title.slice(0, 100), lang: language(), characters: names, settings: rules };
    const key = await operatorsKey(typed(this, "key"));
    const opened = await ask({ ...seat(), token: "", key }, "POST", "/sessions", { body, once: true });
    await settings().set(ID, "session", opened.id);
    await keepToken(opened.tokens.gm);
    return say("table.opened");
  }

  async #mint() {
    const body = { role: "player", label: typed(this, "user").slice(0, 64) };
    const minted = await ask(seat(), "POST", "{table}/tokens", { body, once: true });
    this.#token = minted.token;
    return say("table.minted", { name: body.label });
  }

  /** @override */
  content() {
    const players = game.users?.filter((user) => !user.isGM).map(({ name }) => html`<option>${name}</option>`) ?? [];
    return html`<h3>${say("table.open")}</h3>
      <div class="form-group"><label for="emberdice-characters">${say("table.characters")}</label>
        <div class="form-fields">
          <input type="text" id="emberdice-characters" name="characters" placeholder="Zoé, Max">
        </div></div>
      <div class="form-group"><label for="emberdice-tier">${say("table.tier")}</label>
        <div class="form-fields"><input type="number" id="emberdice-tier" name="tier_size" min="1" max="20"></div></div>
      <div class="form-group"><label for="emberdice-key">${say("table.key")}</label>
        <div class="form-fields"><input type="password" id="emberdice-key" name="key" autocomplete="off"></div></div>
      <button type="button" data-action="open">${say("table.open")}</button>
      ${seat().token && html`<h3>${say("table.invite")}</h3><p class="hint">${say("table.invite_hint")}</p>
        <div class="form-group"><label for="emberdice-user">${say("table.user")}</label>
          <div class="form-fields"><select id="emberdice-user" name="user">${players}</select></div></div>
        <button type="button" data-action="mint">${say("table.mint")}</button>`}
      <p role="status">${this.#told}</p>
      ${this.#token && html`<p class="emberdice-token"><code>${this.#token}</code>
        <button type="button" data-action="copy">${say("table.copy")}</button></p>`}`;
  }
}
