/** One message as Slack draws it: whose it is, what it says, what went wrong with it. */

import { drawBlocks } from "./blocks.js";
import { h, icon } from "./dom.js";
import { mrkdwn } from "./text.js";
import { clock, full, ofTs } from "./time.js";

const EXCERPT = 60;

export class MessageDrawer {
  #store;
  #act;
  #problems;
  #dismiss;

  /**
   * `act(send, {element, blockId, value, source}, key)` acts on an element, `problems` holds what
   * went wrong with it under the same key, the message's `ts`, and `dismiss(ts)` puts away what
   * only one person sees.
   */
  constructor(store, act, problems, dismiss) {
    this.#store = store;
    this.#act = act;
    this.#problems = problems;
    this.#dismiss = dismiss;
  }

  /** Return what the look of these messages depends on besides themselves. */
  problemsOf(messages) {
    return messages.map((one) => this.#problems.get(one.ts));
  }

  /** Draw a message; `above` is what stands over it, such as the thread it was sent from. */
  draw(message, above = null) {
    const isPrivate = message.ephemeral_for !== null;
    return h(
      "div",
      { class: isPrivate ? "message private" : "message" },
      isPrivate ? h("p", { class: "private-mark" }, icon("eye"), "Only visible to you") : null,
      above,
      this.#face(message),
      h(
        "div",
        { class: "message-main" },
        this.#head(message),
        this.#body(message),
        this.#problem(message.ts),
        isPrivate ? this.#dismissal(message.ts) : null,
      ),
    );
  }

  #body(message) {
    if (message.blocks.length === 0) {
      return h("div", { class: "said", dir: "auto" }, mrkdwn(message.text, this.#store.names));
    }
    return drawBlocks(message.blocks, {
      key: message.ts,
      names: this.#store.names,
      people: this.#store.people,
      act: (element, blockId, value, source) =>
        this.#act(
          (act) => this.#store.click(message, act),
          { element, blockId, value, source },
          message.ts,
        ),
    });
  }

  #face(message) {
    const person = this.#store.people.find((one) => one.user_id === message.user);
    return person ? avatar(person) : h("span", { class: "app-face" }, icon("check"));
  }

  #head(message) {
    const at = ofTs(message.ts);
    return h(
      "p",
      { class: "message-head" },
      h("strong", {}, this.#store.names.user(message.user) ?? message.user),
      message.bot_id ? h("span", { class: "app-mark" }, "App") : null,
      h("time", { datetime: at.toISOString(), title: full(at) }, clock(at)),
      message.edited ? h("span", { class: "edited" }, "(edited)") : null,
    );
  }

  #problem(ts) {
    const text = this.#problems.get(ts);
    return text ? h("p", { class: "trouble", role: "alert" }, icon("alert"), text) : null;
  }

  #dismissal(ts) {
    const click = () => this.#dismiss(ts);
    return h("button", { type: "button", class: "link", on: { click } }, "Dismiss message");
  }
}

/** A person's initials on their colour. */
export function avatar({ initials, colour }) {
  return h("span", { class: "face", "aria-hidden": "true", vars: { "--face": colour } }, initials);
}

/** Return the beginning of what a message says. */
export function excerpt({ text }) {
  const words = text.replace(/\s+/g, " ").trim();
  return words.length > EXCERPT ? `${words.slice(0, EXCERPT)}…` : words;
}
