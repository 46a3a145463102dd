// @ts-check
/** Where the customer types. */

import { h, icon, say, unseen } from "./dom.js";

const MAX = 4_000;
const COUNT_FROM = 3_500;

export class Composer {
  #words;
  #send;
  #isComposed = false;

  /**
   * @param {import("./words.js").Words} words
   * @param {Node} stop the button beside Send
   * @param {(text: string) => void} send
   */
  constructor(words, stop, send) {
    this.#words = words;
    this.#send = send;
    this.input = h("textarea", {
      rows: "1",
      dir: "auto",
      enterkeyhint: "send",
      placeholder: words.say("placeholder"),
      "aria-label": words.say("message"),
      "aria-describedby": "count",
      input: (/** @type {InputEvent} */ event) => event.isComposing || this.#measure(),
      compositionend: () => this.#composed(),
      keydown: (/** @type {KeyboardEvent} */ event) => this.#key(event),
    });
    this.count = h("p", { id: "count", class: "note", "aria-live": "polite" });
    this.button = h(
      "button",
      { type: "submit", class: "round send", disabled: true },
      icon("send"),
      unseen(words.say("send")),
    );
    const submit = (/** @type {Event} */ event) => {
      event.preventDefault();
      this.#submit();
    };
    this.root = h(
      "form",
      { class: "composer", submit },
      h("div", {}, this.input, stop, this.button),
      this.count,
    );
  }

  /** Put a text where it can be changed, before what is there. @param {string} text */
  restore(text) {
    this.input.value = [text, this.input.value].filter(Boolean).join("\n");
    this.#measure();
    this.input.focus();
  }

  clear() {
    this.input.value = "";
    this.#measure();
  }

  /** Safari ends a composition before it tells of the Enter that ended it. */
  #composed() {
    this.#isComposed = true;
    setTimeout(() => {
      this.#isComposed = false;
      this.#measure();
    });
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    const isPicking = event.isComposing || event.keyCode === 229 || this.#isComposed;
    if (event.key === "Enter" && !event.shiftKey && !isPicking) {
      event.preventDefault();
      this.#submit();
    }
  }

  #submit() {
    const text = this.input.value;
    if (text.trim()) {
      this.clear();
      this.#send(text);
    }
  }

  #measure() {
    const { input } = this;
    // Counted as the desk counts: no character is ever cut in two.
    const characters = input.value.length > MAX ? [...input.value] : input.value;
    const isOver = typeof characters !== "string" && characters.length > MAX;
    if (isOver) {
      const at = input.selectionStart;
      input.value = characters.slice(0, MAX).join("");
      input.setSelectionRange(at, at);
    }
    const n = isOver ? MAX : characters.length;
    const values = { n, max: MAX };
    say(this.count, n < COUNT_FROM ? "" : this.#words.say(isOver ? "full" : "count", values));
    this.button.disabled = input.value.trim() === "";
    input.style.setProperty("height", "auto");
    input.style.setProperty("height", `${input.scrollHeight + 2}px`);
  }
}
