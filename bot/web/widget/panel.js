// @ts-check
/** The panel and the button that opens it: everything the customer sees. */

import { chip, line, sending, stateWords, turn } from "./bubbles.js";
import { Composer } from "./composer.js";
import { button, h, icon, say, unseen } from "./dom.js";
import { markdown } from "./markdown.js";
import { panelStyle } from "./panel-style.js";
import { Rating } from "./rating.js";

/**
 * @typedef {import("./session.js").Session} Session
 * @typedef {import("./words.js").Words} Words
 */

const NEAR_PX = 60;
const STUCK = ["signin", "gone", "blocked"];
const SHEET = window.matchMedia("(max-width: 480px)");
/** @type {Record<string, string>} */
const WHAT = { issue_refund: "refund", send_email: "email" };
const FOCUSABLE = "button, textarea, input, a[href], [tabindex='0']";

export class Panel {
  static style = panelStyle;

  /** Requests by id: their node, and when they were asked for. @type {Map<string, any>} */
  #chips = new Map();
  /** Lines that answers were stopped, with what waited then. @type {any[]} */
  #stops = [];
  #isAtEnd = true;
  #top = 0;
  #lastDay = "";
  #queueShown = "";
  #draftShown = "";

  /**
   * @param {Words} words
   * @param {Session} session
   * @param {() => void} close
   * @param {boolean} isInline whether it is a part of the page, which nothing opens or closes
   */
  constructor(words, session, close, isInline) {
    this.words = words;
    this.session = session;
    this.close = close;
    this.isInline = isInline;
    const t = (/** @type {string} */ key) => words.say(key);
    this.state = h("p", { class: "connection", role: "status" });
    this.log = h("div", { class: "log", role: "log", "aria-label": t("log"), "aria-live": "polite" });
    this.draft = h("div", { class: "bubble", dir: "auto" });
    this.drafting = h("div", { class: "turn agent draft", "aria-live": "off" }, this.draft);
    this.queue = h("div", { class: "log" });
    this.typing = h("div", { class: "typing", role: "status" }, unseen(t("typing")), h("i"), h("i"), h("i"));
    this.body = h(
      "div",
      { class: "body", tabindex: "0", role: "group", "aria-label": t("log"), scroll: () => this.#scrolled() },
      this.log,
      this.drafting,
      this.queue,
      this.typing,
    );
    const toNews = () => {
      this.toEnd();
      this.body.focus();
    };
    this.news = button({ class: "news", click: toNews }, icon("down"), t("news"));
    this.stop = button(
      { class: "round stop", click: () => void session.stop().catch(() => {}) },
      icon("stop"),
      unseen(t("stop")),
    );
    this.trouble = h("span");
    this.banner = h(
      "div",
      { class: "banner", role: "alert" },
      this.trouble,
      button({ class: "link", click: () => void session.reconnect() }, t("again")),
    );
    this.told = h("p", { class: "unseen", role: "status" });
    this.composer = new Composer(words, this.stop, (text) => {
      session.send(text);
      this.toEnd();
    });
    this.rating = new Rating(words, (score, comment) => session.rate(score, comment), () => this.#rate(false));
    this.ender = button({ class: "link end", click: () => this.#rate(true) }, t("end"));
    this.root = this.#build();
    new ResizeObserver(() => this.#keepEnd()).observe(this.body);
    this.wipe();
    for (const event of session.log.events) {
      this.add(event, false);
    }
  }

  #build() {
    const title = h("h2", { id: "title" }, this.words.say("title"));
    const role = this.isInline ? "region" : "dialog";
    const panel = h(
      "section",
      { class: "panel", id: "panel", role, "aria-labelledby": "title", tabindex: "-1", hidden: true },
      h(
        // No header element: that is a landmark of the page.
        "div",
        { class: "head" },
        h("div", {}, title, this.state),
        this.ender,
        button({ class: "round close", click: this.close }, icon("close"), unseen(this.words.say("close"))),
      ),
      this.banner,
      this.body,
      h("div", { class: "above" }, this.news),
      this.composer.root,
      this.rating.root,
      this.told,
    );
    panel.addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => this.#key(event));
    return panel;
  }

  /** @param {boolean} isOpen @param {boolean} isByHand whether the focus may move */
  show(isOpen, isByHand) {
    this.root.hidden = !isOpen;
    this.#fit();
    if (isOpen) {
      this.#keepEnd();
    }
    if (isOpen && isByHand) {
      this.#focus();
    }
  }

  #focus() {
    // On a phone the keyboard would cover what one came to read; where one rates, nobody types.
    (this.#isSheet || this.composer.root.hidden ? this.root : this.composer.input).focus();
  }

  /** What has the focus in here. @returns {Element | null} */
  get #held() {
    const { activeElement } = /** @type {any} */ (this.root.getRootNode());
    return this.root.contains(activeElement ?? null) ? activeElement : null;
  }

  /** Whoever has no mouse keeps their place when what they used is gone. @param {Element | null} held */
  #refocus(held) {
    if (held?.getClientRects().length === 0 && !this.root.hidden) {
      this.#focus();
    }
  }

  /** Nothing of what was said stays. */
  wipe() {
    this.#chips.clear();
    this.#stops = [];
    this.#lastDay = "";
    this.#isAtEnd = true;
    this.log.replaceChildren(
      h("div", { class: "turn agent" }, h("div", { class: "bubble" }, this.words.say("hello"))),
    );
    this.composer.clear();
    this.rating.clear();
    this.#rate(false);
    this.told.textContent = "";
  }

  /** Add what is stored. @param {any} event @param {boolean} isNew */
  add(event, isNew) {
    this.log.setAttribute("aria-busy", String(!isNew));
    const { type, at, data } = event;
    if (type === "message") {
      this.#dated(at, turn(this.words, event));
      if (data.finish === "failed") {
        this.log.append(line(this.words.say("answer_failed")));
      } else if (data.finish === "stopped") {
        this.#stopped();
      }
    } else if (type === "approval") {
      this.#request(event, isNew);
    } else if (type === "status" && data.status === "stopped") {
      this.#stopped();
    } else if (type === "status" && data.status === "failed") {
      this.log.append(line(this.words.say("answer_failed")));
    } else if (type === "hand_off") {
      const text = this.words.say(`hand_${data.state}`, { name: data.by ?? this.words.say("by_staff") });
      this.log.append(line(text || data.text));
    } else if (type === "rating") {
      this.#rate(false);
      this.log.append(line(this.words.say("rated", { n: data.score })));
    }
    // Scrolling waits for the next frame: a long log comes at once, and is laid out once.
    if (isNew && data.role !== "customer" && !this.#isAtEnd) {
      this.news.hidden = false;
    }
  }

  /** Show everything that changes without being stored. */
  update() {
    const { words, session } = this;
    const { log, connection } = session;
    const held = this.#held;
    const isStuck = STUCK.includes(connection);
    this.banner.hidden = !isStuck;
    say(this.trouble, isStuck ? words.say(connection) : "");
    const isWith = connection === "live" && log.attendedBy;
    this.state.dataset.connection = connection;
    say(this.state, isWith ? words.say("with", { name: isWith }) : isStuck ? "" : words.say(connection));
    this.#showQueue();
    this.#showDraft(log.draft?.text ?? "");
    this.typing.hidden = !log.isThinking || Boolean(log.draft?.text);
    this.stop.hidden = !log.isThinking;
    this.ender.hidden = !session.id || log.lastSeq === 0;
    this.log.setAttribute("aria-busy", "false");
    this.#keepEnd();
    this.#refocus(held);
  }

  /** Show the newest. */
  toEnd() {
    this.#isAtEnd = true;
    this.#keepEnd();
  }

  /** @param {string} at @param {Node} node */
  #dated(at, node) {
    const date = new Date(at);
    const day = date.toDateString();
    if (day !== this.#lastDay) {
      const isToday = day === new Date().toDateString();
      if (!isToday || this.#lastDay) {
        this.log.append(line(this.words.day(date), "day"));
      }
      this.#lastDay = day;
    }
    this.log.append(node);
  }

  /** @param {any} event @param {boolean} isNew */
  #request(event, isNew) {
    const { approval_id: id, status, text } = event.data;
    const shown = this.#chips.get(id);
    const since = shown?.since ?? event.at;
    const withdraw = this.session.isCustomer ? (/** @type {string} */ one) => this.session.withdraw(one) : null;
    const node = chip(this.words, event, since, withdraw);
    const held = this.#held;
    if (shown) {
      shown.node.replaceWith(node);
    } else {
      this.log.append(node);
    }
    this.#chips.set(id, { node, since, status, kind: event.data.tool });
    this.#refocus(held);
    if (isNew) {
      say(this.told, `${stateWords(this.words, status)}: ${text}`);
    }
    this.#stops.forEach((stop) => this.#sayStopped(stop));
  }

  /** Say that an answer was stopped, and that what waits for the team still does. */
  #stopped() {
    const waiting = [...this.#chips].filter(([, one]) => one.status === "pending").map(([id]) => id);
    const stop = { node: line(""), waiting };
    this.#stops.push(stop);
    this.#sayStopped(stop);
    this.log.append(stop.node);
  }

  /** @param {{node: Element, waiting: string[]}} stop */
  #sayStopped({ node, waiting }) {
    const kinds = waiting.map((id) => this.#chips.get(id)).filter((one) => one.status === "pending");
    const what = kinds.map(({ kind }) => WHAT[kind] ?? "request");
    const key = what.length === 1 ? `stopped_${what[0]}` : what.length ? "stopped_request" : "stopped";
    say(node, this.words.say(key));
  }

  #showQueue() {
    const { items } = this.session.queue;
    const key = JSON.stringify(items);
    if (key !== this.#queueShown) {
      this.#queueShown = key;
      const act = {
        retry: (/** @type {string} */ id) => this.session.retry(id),
        edit: (/** @type {string} */ id) => {
          this.composer.restore(items.find((item) => item.id === id)?.text ?? "");
          this.session.discard(id);
        },
      };
      this.queue.replaceChildren(...items.map((item) => sending(this.words, item, act)));
    }
    this.queue.hidden = items.length === 0;
  }

  /** @param {string} text */
  #showDraft(text) {
    if (text !== this.#draftShown) {
      this.#draftShown = text;
      this.draft.replaceChildren(...markdown(text));
    }
    this.drafting.hidden = !text;
  }

  /** @param {boolean} isShown */
  #rate(isShown) {
    const held = this.#held;
    this.rating.root.hidden = !isShown;
    this.composer.root.hidden = isShown;
    if (isShown) {
      this.rating.open(this.session.log.rating);
    }
    this.#refocus(held);
  }

  #scrolled() {
    const { scrollHeight, scrollTop, clientHeight } = this.body;
    if (clientHeight > 0) {
      const isNear = scrollHeight - scrollTop - clientHeight < NEAR_PX;
      // What came below since has moved nobody: only who scrolls up has left the end.
      this.#isAtEnd = isNear || (this.#isAtEnd && scrollTop >= this.#top);
      this.#top = scrollTop;
      this.news.hidden ||= isNear;
    }
  }

  /** Stay at the end for whoever reads there. */
  #keepEnd() {
    if (this.#isAtEnd) {
      this.body.scrollTop = this.body.scrollHeight;
      this.news.hidden = true;
    }
  }

  /** Whether it covers the whole page when it is open. */
  get #isSheet() {
    return SHEET.matches && !this.isInline;
  }

  /** On a phone the sheet is as high as what the keyboard leaves of the window. */
  #fit() {
    const { visualViewport: seen } = window;
    const isSheet = !this.root.hidden && this.#isSheet;
    this.root.toggleAttribute("aria-modal", false);
    if (isSheet) {
      this.root.setAttribute("aria-modal", "true");
    }
    if (seen) {
      this.root.style.setProperty("--seen-height", isSheet ? `${seen.height}px` : "");
      this.root.style.setProperty("--seen-top", isSheet ? `${seen.offsetTop}px` : "");
    }
  }

  /** Keep up with the window until `signal` aborts. @param {AbortSignal} signal */
  watch(signal) {
    const fit = () => this.#fit();
    SHEET.addEventListener("change", fit, { signal });
    window.visualViewport?.addEventListener("resize", fit, { signal });
    window.visualViewport?.addEventListener("scroll", fit, { signal });
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    if (event.key === "Escape" && !this.isInline && !event.isComposing && event.keyCode !== 229) {
      event.stopPropagation();
      this.close();
    } else if (event.key === "Tab" && this.#isSheet) {
      const all = [...this.root.querySelectorAll(FOCUSABLE)].filter(
        (one) => !one.disabled && one.getClientRects().length > 0,
      );
      const { activeElement } = /** @type {any} */ (this.root.getRootNode());
      const [from, to] = event.shiftKey ? [all[0], all.at(-1)] : [all.at(-1), all[0]];
      if (activeElement === from || activeElement === this.root) {
        event.preventDefault();
        to.focus();
      }
    }
  }
}
