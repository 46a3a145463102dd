/** The messages of a channel: days, threads, what only one person sees, cards that change. */

import { drawBlocks } from "./blocks.js";
import { h, icon, reconcile } from "./dom.js";
import { Tail } from "./tail.js";
import { mrkdwn } from "./text.js";
import { clock, day, full, ofTs } from "./time.js";

const SHOWN = 40;
const REPLIES_SHOWN = 3;

export class MessageList {
  #marks = new Map();
  #unfolded = new Set();
  #dismissed = new Set();
  #more = 0;
  #channel = null;
  #list = [];
  #store;
  #act;
  #problems;
  #tail;

  /**
   * `act(send, {element, blockId, value, source}, key)` acts on an element, and `problems` holds
   * what went wrong with it under the same key, the message's `ts`.
   */
  constructor(store, act, problems) {
    this.#store = store;
    this.#act = act;
    this.#problems = problems;
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
    this.#list = this.#store.messages(channelId).filter((one) => !this.#dismissed.has(one.ts));
    const items = this.#items(isNew);
    this.#tail.keep(() => reconcile(this.root, items, this.#marks), isNew);
  }

  /** Bring a message into view, if it is here. */
  reveal(ts) {
    if (!this.#list.some((one) => one.ts === ts)) {
      return;
    }
    this.#more = this.#list.length;
    this.show(this.#channel);
    const node = this.#marks.get(ts)?.node;
    node?.scrollIntoView({ block: "start" });
    node?.classList.add("arrived");
  }

  #items(isNew) {
    const threads = grouped(this.#list);
    const shown = threads.slice(-SHOWN - this.#more);
    const items = [];
    if (threads.length === 0) {
      items.push({ key: "empty", signature: this.#channel, render: () => this.#empty() });
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
    const problems = [thread.root, ...thread.replies].map((one) => this.#problems.get(one.ts));
    const signature = JSON.stringify([thread, problems, this.#unfolded.has(ts)]);
    const render = (isRedrawn) => {
      const node = this.#thread(thread);
      if (!isNew) {
        node.classList.add(isRedrawn ? "changed" : "arrived");
      }
      return node;
    };
    return { key: ts, signature, render };
  }

  #thread({ root, replies }) {
    const isAll = this.#unfolded.has(root.ts) || replies.length <= REPLIES_SHOWN;
    const shown = isAll ? replies : replies.slice(-REPLIES_SHOWN);
    return h(
      "article",
      { class: "thread", "data-ts": root.ts },
      this.#message(root),
      replies.length > 0
        ? h(
            "div",
            { class: "replies" },
            h(
              "p",
              { class: "replies-head" },
              `${replies.length} ${replies.length === 1 ? "reply" : "replies"}`,
              isAll ? null : this.#unfold(root.ts, replies.length - shown.length),
            ),
            shown.map((reply) => this.#message(reply)),
          )
        : null,
    );
  }

  #unfold(ts, count) {
    const click = () => {
      this.#unfolded.add(ts);
      this.show(this.#channel);
    };
    return h("button", { type: "button", class: "link", on: { click } }, `Show ${count} earlier`);
  }

  #message(message) {
    const isPrivate = message.ephemeral_for !== null;
    const surface = {
      key: message.ts,
      names: this.#store.names,
      act: (element, blockId, value, source) =>
        this.#act(
          (act) => this.#store.click(message, act),
          { element, blockId, value, source },
          message.ts,
        ),
    };
    const body =
      message.blocks.length > 0
        ? drawBlocks(message.blocks, surface)
        : h("div", { class: "said", dir: "auto" }, mrkdwn(message.text, this.#store.names));
    return h(
      "div",
      { class: isPrivate ? "message private" : "message" },
      isPrivate ? h("p", { class: "private-mark" }, icon("eye"), "Only visible to you") : null,
      this.#face(message),
      h(
        "div",
        { class: "message-main" },
        this.#head(message),
        body,
        this.#problem(message.ts),
        isPrivate ? this.#dismiss(message.ts) : null,
      ),
    );
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

  #dismiss(ts) {
    const click = () => {
      this.#dismissed.add(ts);
      this.show(this.#channel);
    };
    return h("button", { type: "button", class: "link", on: { click } }, "Dismiss message");
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

/** A person's initials on their colour. */
export function avatar({ initials, colour }) {
  return h("span", { class: "face", "aria-hidden": "true", vars: { "--face": colour } }, initials);
}

function divider(text) {
  return h("p", { class: "day" }, h("span", {}, text));
}

/** Return the threads in order: each message that stands for itself, with its replies. */
function grouped(messages) {
  const threads = new Map();
  for (const message of messages) {
    const parent = message.thread_ts;
    if (parent && parent !== message.ts && threads.has(parent)) {
      threads.get(parent).replies.push(message);
    } else {
      threads.set(message.ts, { root: message, replies: [] });
    }
  }
  return [...threads.values()];
}
