/** The panel beside a channel that holds one thread: its first message, all replies, a composer. */

import { Composer } from "./composer.js";
import { h, icon, reconcile, unseen } from "./dom.js";
import { Tail } from "./tail.js";

const COMMAND = /^\/\S/;

export class ThreadPanel {
  #marks = new Map();
  #shown = null;
  #store;
  #drawer;
  #tail;

  /** `close()` is called when the person is done with the thread. */
  constructor(store, drawer, close) {
    this.#store = store;
    this.#drawer = drawer;
    this.list = h("div", { class: "thread-list", role: "log", "aria-live": "off", tabindex: "0" });
    this.list.setAttribute("aria-label", "Thread");
    this.place = h("p", { class: "place-topic" });
    this.composer = new Composer("Reply in the thread", (text) => this.#send(text));
    this.composer.input.placeholder = "Reply…";
    this.root = h(
      "section",
      {
        class: "thread-panel",
        "aria-label": "Thread",
        hidden: true,
        on: { keydown: (event) => (event.key === "Escape" ? close() : null) },
      },
      h(
        "header",
        { class: "place-head" },
        h("div", {}, h("h3", { class: "place-title" }, "Thread"), this.place),
        h(
          "button",
          { type: "button", class: "sheet-close", on: { click: close } },
          icon("cross"),
          unseen("Close thread"),
        ),
      ),
      this.list,
      this.composer.root,
    );
    this.#tail = new Tail(this.list);
  }

  /** Show the thread of this message of a channel; null shows none. */
  show(channel, ts) {
    const messages = this.#store.messages(channel?.id);
    const root = messages.find((one) => one.ts === ts);
    this.root.hidden = !root;
    if (!root) {
      this.#shown = null;
      return;
    }
    const isNew = this.#shown !== ts;
    if (isNew) {
      this.#marks.clear();
      this.list.replaceChildren();
      this.#shown = ts;
    }
    this.place.textContent = channel.is_im ? "" : `#${channel.name}`;
    this.composer.root.hidden = channel.is_archived;
    const replies = messages.filter((one) => one.thread_ts === ts && one.ts !== ts);
    const items = [root, ...replies].map((message) => this.#item(message, isNew));
    if (replies.length > 0) {
      const count = `${replies.length} ${replies.length === 1 ? "reply" : "replies"}`;
      const render = () => h("p", { class: "day" }, h("span", {}, count));
      items.splice(1, 0, { key: "count", signature: count, render });
    }
    this.#tail.keep(() => reconcile(this.list, items, this.#marks), isNew);
  }

  #item(message, isNew) {
    const render = (isRedrawn) => {
      const node = this.#drawer.draw(message);
      if (!isNew) {
        node.classList.add(isRedrawn ? "changed" : "arrived");
      }
      return node;
    };
    const problems = this.#drawer.problemsOf([message]);
    return { key: message.ts, signature: JSON.stringify([message, problems]), render };
  }

  async #send(text) {
    if (COMMAND.test(text)) {
      // Slack takes no command of an app in a thread.
      const [command] = text.split(/\s/);
      return { problem: `${command} is not supported in threads. Sorry!`, keep: true };
    }
    return this.#store.post(text, this.#shown);
  }
}
