/** The messages of a channel: days, threads, what only one person sees, cards that change. */

import { h, icon, reconcile } from "./dom.js";
import { excerpt } from "./message.js";
import { Tail } from "./tail.js";
import { decode } from "./text.js";
import { day, ofTs } from "./time.js";

const SHOWN = 40;
const REPLIES_SHOWN = 3;

export class MessageList {
  #marks = new Map();
  #more = 0;
  #channel = null;
  #list = [];
  #store;
  #drawer;
  #open;
  #tail;

  /** `drawer` draws a message, `open(ts)` opens the thread of one. */
  constructor(store, drawer, open) {
    this.#store = store;
    this.#drawer = drawer;
    this.#open = open;
    this.root = h("div", {
      class: "messages",
      role: "log",
      "aria-live": "off",
      "aria-label": "Messages",
      tabindex: "0",
    });
    this.#tail = new Tail(this.root);
  }

  /** Show a channel's messages as they are now. */
  show(channelId) {
    const isNew = channelId !== this.#channel;
    if (isNew) {
      this.#marks.clear();
      this.root.replaceChildren();
      this.#more = 0;
      this.#channel = channelId;
    }
    this.#list = this.#store.messages(channelId);
    const items = this.#items(isNew);
    this.#tail.keep(() => reconcile(this.root, items, this.#marks), isNew);
  }

  /** Bring a message into view, if it is here. */
  reveal(ts) {
    const found = this.#list.find((one) => one.ts === ts);
    if (!found) {
      return;
    }
    this.#more = this.#list.length;
    this.show(this.#channel);
    const node = (this.#marks.get(ts) ?? this.#marks.get(found.thread_ts))?.node;
    node?.scrollIntoView({ block: "start" });
    node?.classList.add("arrived");
    if (!this.#marks.has(ts)) {
      this.#open(found.thread_ts);
    }
  }

  #items(isNew) {
    const threads = grouped(this.#list);
    const shown = threads.slice(-SHOWN - this.#more);
    const items = [];
    if (threads.length === 0) {
      const key = "empty";
      const signature = JSON.stringify(this.#store.channel(this.#channel) ?? null);
      items.push({ key, signature, render: () => this.#empty() });
    }
    if (shown.length < threads.length) {
      const hidden = threads.length - shown.length;
      items.push({ key: "more", signature: String(hidden), render: () => this.#earlier(hidden) });
    }
    let last = null;
    for (const thread of shown) {
      const today = day(ofTs(thread.root.ts));
      if (today !== last) {
        items.push({ key: today, signature: today, render: () => divider(today) });
        last = today;
      }
      items.push(this.#item(thread, isNew));
    }
    return items;
  }

  #item(thread, isNew) {
    const { ts } = thread.root;
    const problems = this.#drawer.problemsOf([thread.root, ...thread.replies]);
    const render = (isRedrawn) => {
      const node = this.#thread(thread);
      if (!isNew) {
        node.classList.add(isRedrawn ? "changed" : "arrived");
      }
      return node;
    };
    return { key: ts, signature: JSON.stringify([thread, problems]), render };
  }

  #thread({ root, parent, replies }) {
    return h(
      "article",
      { class: parent ? "thread broadcast" : "thread", "data-ts": root.ts },
      this.#drawer.draw(root, parent ? this.#origin(parent) : null),
      replies.length > 0 ? this.#replies(root, replies) : null,
    );
  }

  /** The newest replies, so that a card's story can be read without opening its thread. */
  #replies(root, replies) {
    const count = `${replies.length} ${replies.length === 1 ? "reply" : "replies"}`;
    return h(
      "div",
      { class: "replies" },
      h(
        "p",
        { class: "replies-head" },
        this.#opener(root.ts, count),
        replies.length > REPLIES_SHOWN ? h("span", {}, "the newest are shown") : null,
      ),
      replies.slice(-REPLIES_SHOWN).map((reply) => this.#drawer.draw(reply)),
    );
  }

  /** What a reply that was sent to the channel as well answers to. */
  #origin(parent) {
    const words = `replied to a thread: ${decode(excerpt(parent))}`;
    return h("p", { class: "origin" }, this.#opener(parent.ts, words));
  }

  #opener(ts, words) {
    const click = () => this.#open(ts);
    return h(
      "button",
      { type: "button", class: "link", "data-focus": `thread/${ts}`, on: { click } },
      words,
    );
  }

  #earlier(hidden) {
    const click = () => {
      this.#more += SHOWN;
      this.show(this.#channel);
    };
    return h(
      "button",
      { type: "button", class: "link earlier", on: { click } },
      `Show earlier messages (${hidden})`,
    );
  }

  #empty() {
    const channel = this.#store.channel(this.#channel);
    const name = channel?.is_im ? `@${this.#store.app.name}` : `#${channel?.name ?? ""}`;
    return h(
      "div",
      { class: "empty" },
      icon("hash"),
      h("h4", {}, `This is the start of ${name}`),
      h("p", {}, channel?.topic ? `${channel.topic}. Nothing has come up yet.` : "Nothing yet."),
    );
  }
}

function divider(text) {
  return h("p", { class: "day" }, h("span", {}, text));
}

/**
 * Return what stands in the channel, in order: each message that stands for itself with its
 * replies, and each reply that was sent to the channel as well, with its parent.
 */
function grouped(messages) {
  const threads = new Map();
  for (const message of messages) {
    const parent = message.thread_ts === message.ts ? null : message.thread_ts;
    const thread = parent ? threads.get(parent) : undefined;
    thread?.replies.push(message);
    if (!thread || message.reply_broadcast) {
      threads.set(message.ts, { root: message, parent: thread?.root ?? null, replies: [] });
    }
  }
  return [...threads.values()];
}
