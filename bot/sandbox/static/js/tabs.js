/** Where the window is too narrow for two halves, tabs show one of them. */

const WIDE = window.matchMedia("(min-width: 1000px)");

export class Tabs {
  #tabs;
  #onShow;

  /** `onShow` is called when another half has come into view. */
  constructor(tabs, onShow) {
    this.#tabs = tabs;
    this.#onShow = onShow;
    for (const tab of tabs) {
      tab.addEventListener("click", () => this.#show(tab));
      tab.addEventListener("keydown", (event) => this.#key(event));
    }
    WIDE.addEventListener("change", () => this.#show(this.#current()));
    this.#show(location.hash.startsWith("#slack") ? tabs[1] : tabs[0]);
  }

  #current() {
    return this.#tabs.find((tab) => tab.getAttribute("aria-selected") === "true");
  }

  #show(shown) {
    for (const tab of this.#tabs) {
      const isShown = tab === shown;
      tab.setAttribute("aria-selected", String(isShown));
      tab.tabIndex = isShown ? 0 : -1;
      panelOf(tab).classList.toggle("away", !isShown && !WIDE.matches);
    }
    this.#onShow();
  }

  #key(event) {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (step) {
      const at = this.#tabs.indexOf(this.#current()) + step;
      const next = this.#tabs[(at + this.#tabs.length) % this.#tabs.length];
      this.#show(next);
      next.focus();
    }
  }
}

function panelOf(tab) {
  return document.getElementById(tab.getAttribute("aria-controls"));
}
