/** A Foundry window whose content is a template of this module. */

import { Markup } from "./words.mjs";

/** A click on `data-action` is handled by the method of that name in `clicked`. */
export class Window extends foundry.applications.api.ApplicationV2 {
  /** @type {Record<string, (target: HTMLElement) => unknown>} */
  clicked = {};

  /** @returns {Markup | Promise<Markup>} */
  content() {
    return new Markup("");
  }

  /** @override */
  async _renderHTML() {
    return (await this.content()).text;
  }

  /** @override @param {string} result @param {HTMLElement} content */
  _replaceHTML(result, content) {
    content.innerHTML = result;
  }

  /** @override @param {PointerEvent} event @param {HTMLElement} target */
  _onClickAction(event, target) {
    event.preventDefault();
    return this.clicked[target.dataset["action"] ?? ""]?.(target);
  }
}
