/** Windows and dialogs: the parts of ApplicationV2 and DialogV2 that a module without templates uses. */

const place = () => /** @type {HTMLElement} */ (document.querySelector("#windows"));

/** @param {string} title */
const localized = (title) => game.i18n?.localize(title) ?? title;

class StandInApplication {
  /** @type {any} */
  static DEFAULT_OPTIONS = {};
  rendered = false;
  element = document.createElement("div");

  get options() {
    return /** @type {typeof StandInApplication} */ (this.constructor).DEFAULT_OPTIONS;
  }

  /** One after the other: who waits in `_onRender` for another rendering waits for good. */
  #last = Promise.resolve();

  /** @param {any} [told] */
  async render(told = {}) {
    const before = this.#last;
    const now = before.then(() => this.#render(told));
    this.#last = now.catch(() => {});
    await now;
    return this;
  }

  /** @param {any} told */
  async #render(told) {
    const options = { ...(typeof told === "boolean" ? { force: told } : told), isFirstRender: !this.rendered };
    if (!this.rendered && !options.force) return;
    if (!this.rendered) this.#frame();
    this.rendered = true;
    const result = await this._renderHTML({}, options);
    this._replaceHTML(result, /** @type {HTMLElement} */ (this.element.querySelector(".window-content")), options);
    await this._onRender({}, options);
  }

  #frame() {
    const { id, classes = [], window: frame, position } = this.options;
    this.element.id = id;
    this.element.classList.add("application", ...classes);
    this.element.style.width = `${position.width}px`;
    this.element.innerHTML = `<header class="window-header"></header><section class="window-content"></section>`;
    /** @type {Element} */ (this.element.firstElementChild).textContent = localized(frame.title);
    this.element.addEventListener("click", (event) => {
      const target = /** @type {Element} */ (event.target).closest("[data-action]");
      if (target) this._onClickAction(/** @type {PointerEvent} */ (event), /** @type {HTMLElement} */ (target));
    });
    place().append(this.element);
  }

  async close() {
    this.element.remove();
    this.rendered = false;
    this._onClose({});
    return this;
  }

  /** @param {any} _context @param {any} _options @returns {Promise<any>} */
  async _renderHTML(_context, _options) {}
  /** @param {any} _result @param {HTMLElement} _content @param {any} _options */
  _replaceHTML(_result, _content, _options) {}
  /** @param {any} _context @param {any} _options */
  async _onRender(_context, _options) {}
  /** @param {any} _options */
  _onClose(_options) {}
  /** @param {PointerEvent} _event @param {HTMLElement} _target */
  _onClickAction(_event, _target) {}
}

class StandInDialog {
  /** @param {any} told */
  static wait({ window: frame, content, buttons, classes, position, rejectClose }) {
    if (rejectClose !== false) throw new Error("closing would be an error");
    const dialog = document.createElement("dialog");
    dialog.className = ["application", ...classes].join(" ");
    dialog.style.cssText = `position: static; display: block; color: inherit; width: ${position.width}px`;
    const form = `<form class="window-content">${content}<footer></footer></form>`;
    dialog.innerHTML = `<header class="window-header"></header>${form}`;
    /** @type {Element} */ (dialog.firstElementChild).textContent = localized(frame.title);
    place().append(dialog);
    return new Promise((resolve) => {
      for (const told of buttons) dialog.querySelector("footer")?.append(button(told, dialog, resolve));
    });
  }
}

/** @param {any} told @param {HTMLElement} dialog @param {(answer: any) => void} resolve */
function button({ action, label, callback }, dialog, resolve) {
  const made = document.createElement("button");
  made.dataset["action"] = action;
  made.textContent = localized(label);
  made.addEventListener("click", async (event) => {
    event.preventDefault();
    const answer = await callback(event, made, dialog);
    dialog.remove();
    resolve(answer ?? action);
  });
  return made;
}

/** @satisfies {Partial<Record<keyof foundry.applications.api.ApplicationV2, unknown>>} */
const known = { ...StandInApplication.prototype };
export const ApplicationV2 = Object.assign(StandInApplication, { known });
/** @satisfies {Partial<Record<keyof typeof foundry.applications.api.DialogV2, unknown>>} */
const dialogs = { wait: StandInDialog.wait };
export const DialogV2 = dialogs;
