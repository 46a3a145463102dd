// @ts-check
/** What the customer thinks of the chat: one to five, and a word if they like. */

import { button, h } from "./dom.js";

const SCORES = [1, 2, 3, 4, 5];

export class Rating {
  /**
   * @param {import("./words.js").Words} words
   * @param {(score: number, comment: string) => Promise<void>} rate
   * @param {() => void} leave
   */
  constructor(words, rate, leave) {
    this.choices = SCORES.map((score) =>
      h("input", { type: "radio", name: "score", value: score, required: true }),
    );
    const choice = (/** @type {Node} */ input, /** @type {number} */ at) =>
      h(
        "label",
        {},
        input,
        h("b", {}, words.number(SCORES[at])),
        h("span", {}, words.say(`rate_${SCORES[at]}`)),
      );
    this.comment = h("textarea", {
      rows: "2",
      dir: "auto",
      maxlength: "1000",
      placeholder: words.say("comment"),
      "aria-label": words.say("comment"),
    });
    this.trouble = h("span", { class: "note bad", role: "alert" });
    const submit = async (/** @type {Event} */ event) => {
      event.preventDefault();
      const score = SCORES[this.choices.findIndex((one) => one.checked)];
      this.trouble.textContent = "";
      await rate(score, this.comment.value.trim()).then(leave, (error) => {
        this.trouble.textContent = error.detail || words.say("failed");
      });
    };
    this.root = h(
      "form",
      { class: "rating", submit },
      h("fieldset", {}, h("legend", {}, words.say("rate")), h("div", { class: "scores" }, ...this.choices.map(choice))),
      this.comment,
      this.trouble,
      h(
        "div",
        { class: "acts" },
        button({ class: "link", click: leave }, words.say("later")),
        h("button", { type: "submit", class: "main" }, words.say("submit")),
      ),
    );
  }

  /** @param {number | null} score what was said before */
  open(score) {
    this.trouble.textContent = "";
    this.choices.forEach((one, at) => {
      one.checked = SCORES[at] === score;
    });
    (this.choices.find((one) => one.checked) ?? this.choices[0]).focus();
  }

  clear() {
    this.comment.value = "";
  }
}
