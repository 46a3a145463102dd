/** Where a person types: Enter sends, what went wrong is said above, commands are offered. */

import { h, icon, unseen } from "./dom.js";
import { failure } from "./failure.js";

export class Composer {
  #send;
  #commands;

  /**
   * `send(text)` returns an answer with `problem` when something is wrong with it; with `keep` the
   * text stays. `commands` are offered while a `/` is being typed.
   */
  constructor(label, send, commands = []) {
    this.#send = send;
    this.#commands = commands;
    this.input = h("textarea", {
      class: "said-input",
      rows: "1",
      dir: "auto",
      enterkeyhint: "send",
      "aria-label": label,
      on: { keydown: (event) => this.#key(event), input: () => this.#typed() },
    });
    this.trouble = h("p", { class: "trouble", role: "alert", hidden: true });
    this.offers = h("ul", { class: "command-offers", "aria-label": "Commands", hidden: true });
    this.root = h(
      "form",
      { class: "said-form", on: { submit: (event) => this.#submit(event) } },
      this.trouble,
      this.offers,
      h(
        "div",
        { class: "said-box" },
        this.input,
        h("button", { type: "submit", class: "said-send" }, icon("send"), unseen("Send")),
      ),
    );
  }

  /** Say what is wrong; an empty text says nothing. */
  say(text) {
    this.trouble.hidden = text === "";
    this.trouble.replaceChildren(...(text === "" ? [] : [icon("alert"), text]));
  }

  #typed() {
    this.say("");
    const typed = this.input.value;
    const fitting = typed.startsWith("/") && !typed.includes("\n")
      ? this.#commands.filter(({ name }) => name.startsWith(typed) || typed.startsWith(`${name} `))
      : [];
    this.offers.hidden = fitting.length === 0;
    this.offers.replaceChildren(...fitting.map((one) => this.#offer(one)));
  }

  #offer({ name, hint, about }) {
    const click = () => {
      this.input.value = `${name} `;
      this.#typed();
      this.input.focus();
    };
    return h(
      "li",
      {},
      h(
        "button",
        { type: "button", class: "command-offer", on: { click } },
        h("span", {}, h("strong", {}, name), hint ? ` ${hint}` : ""),
        h("small", {}, about),
      ),
    );
  }

  #key(event) {
    // While an input method composes, Enter picks a word.
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing && event.keyCode !== 229) {
      event.preventDefault();
      this.root.requestSubmit();
    } else if (event.key === "Escape" && !this.offers.hidden) {
      event.stopPropagation();
      this.offers.hidden = true;
    }
  }

  async #submit(event) {
    event.preventDefault();
    const text = this.input.value.trim();
    if (text === "") {
      return;
    }
    this.input.value = "";
    this.#typed();
    try {
      const answer = await this.#send(text);
      this.say(answer.problem ? failure(answer) : "");
      this.input.value = answer.keep ? text : this.input.value;
    } catch (problem) {
      this.input.value = text;
      this.say(problem.message);
    }
  }
}
