// @ts-check
/** One customer's conversation with the desk: it draws nothing and survives everything. */

import { Bell } from "./bell.js";
import { Caller } from "./caller.js";
import { Backoff, Refused, onHope } from "./http.js";
import { Log } from "./log.js";
import { Queue, Store } from "./queue.js";
import { drain } from "./sender.js";
import { follow } from "./stream.js";
import { Tabs } from "./tabs.js";

/**
 * @typedef {"connecting" | "live" | "reconnecting" | "offline" | "signin" | "gone" | "blocked"} Connection
 *
 * @typedef {object} Listener
 * @property {() => void} wipe nothing of what is shown may stay
 * @property {(event: any, isNew: boolean) => void} event a stored event, once and in order
 * @property {() => void} changed anything else is different
 */

// The desk's pages hold more; what a shorter one leaves out comes with the stream.
const FULL_PAGE = 100;
const BLOCKED_AFTER = 3;

export class Session {
  /** @type {Connection} */
  connection = "connecting";
  /** @type {string | null} */
  id = null;
  log = new Log();
  queue = new Queue(() => this.#queued());
  #life = new AbortController();
  #caller;
  /** @type {Tabs | null} */
  #tabs = null;
  #isKnown = false;
  #isHistory = false;
  #bell = new Bell();

  /**
   * @param {{base: URL, tokenUrl: string | null, language: string}} place
   * @param {Listener} listener
   */
  constructor(place, listener) {
    this.place = place;
    this.listener = listener;
    this.store = new Store(`support-desk ${place.base.host} `);
    this.#caller = new Caller(place, this.store, () => {
      if (this.#caller.who) {
        this.#wipe();
      }
      void this.start();
    });
  }

  /** Whether somebody is signed in: a visitor has no requests to withdraw. */
  get isCustomer() {
    return Boolean(this.#caller.who);
  }

  /** Begin, or begin again with what is shown. */
  async start() {
    this.close();
    const life = new AbortController();
    this.#life = life;
    this.#caller.life = life.signal;
    this.connection = "connecting";
    onHope(life.signal, (event) => this.#hope(event));
    window.addEventListener("offline", () => this.#connect("offline"), { signal: life.signal });
    document.addEventListener("visibilitychange", () => this.#stand(), { signal: life.signal });
    document.addEventListener("securitypolicyviolation", (event) => this.#violated(event), {
      signal: life.signal,
    });
    const backoff = new Backoff();
    while (!life.signal.aborted) {
      try {
        await this.#identify(life.signal);
        await this.#resume(life.signal);
        this.#isKnown = true;
        this.#stand(true);
        return;
      } catch (/** @type {any} */ error) {
        this.#failed(error, life.signal, backoff.attempts);
        await backoff.wait(life.signal);
      }
    }
  }

  /** Talk to nobody any more. */
  close() {
    this.#life.abort();
    this.#isKnown = false;
    this.#tabs?.close();
    this.#tabs = null;
    this.#bell.ring();
  }

  /**
   * Somebody has signed in or out: ask anew who it is, and keep nothing, unless it is a visitor
   * who has signed in.
   */
  async reset(isHeard = false) {
    if (!isHeard) {
      this.#tabs?.say({ kind: "reset" });
    }
    this.close();
    const isVisitor = this.#caller.who === "";
    this.#caller.anew();
    if (!(isVisitor && (await this.#caller.sub().catch(() => "")))) {
      this.#wipe();
    }
    void this.start();
  }

  /** Try again at once, whatever stood in the way. */
  async reconnect() {
    this.#caller.identity.forget();
    await this.start();
  }

  /** The page names another place to get tokens from. @param {string | null} tokenUrl */
  identify(tokenUrl) {
    this.place.tokenUrl = tokenUrl;
    this.#caller.anew();
    void this.start();
  }

  /** Send a text; it is queued at once, whoever is asked for whatever meanwhile. @param {string} text */
  send(text) {
    const item = this.queue.add(sendable(text));
    this.#tabs?.say({ kind: "queue", items: [item] });
    this.#stand();
  }

  /** Try again what failed: the desk knows its id. @param {string} id */
  retry(id) {
    this.queue.change(id, { state: "waiting", problem: undefined });
    this.#tabs?.say({ kind: "change", id, change: { state: "waiting", problem: undefined } });
    this.#stand();
  }

  /** Take an unsent message back. @param {string} id */
  discard(id) {
    this.queue.drop((item) => item.id === id);
    this.#tabs?.say({ kind: "drop", id });
  }

  async stop() {
    await this.#post("/stop", {});
  }

  /** @param {string} approvalId */
  async withdraw(approvalId) {
    await this.#post(`/approvals/${approvalId}/withdraw`, {});
  }

  /** @param {number} score @param {string} comment */
  async rate(score, comment) {
    await this.#post("/rating", comment ? { score, comment } : { score });
  }

  /** The customer sees the end of the log. */
  read() {
    const { log } = this;
    if (log.newsSeq > log.readSeq) {
      this.#heardRead(log.lastSeq);
      this.#tabs?.say({ kind: "read", seq: log.lastSeq });
    }
    if (log.readSeq > log.toldSeq) {
      log.toldSeq = log.readSeq;
      this.#post("/read", { seq: log.readSeq }).catch(() => {
        log.toldSeq = 0;
      });
    }
  }

  // --- who it is, and which conversation

  /** @param {AbortSignal} signal */
  async #identify(signal) {
    const who = await this.#caller.sub();
    signal.throwIfAborted();
    const { who: known } = this.#caller;
    const before = known ?? this.store.get("who");
    if (before && before !== who) {
      if (!who && known) {
        // Signed out, or signed in for too long: the shop tells which by reset().
        throw new Refused(401);
      }
      this.#wipe();
    }
    this.#caller.who = who;
    this.store.set("who", who);
    const name = `support-desk ${this.place.base.href} ${who}`;
    this.#tabs?.close();
    this.#tabs = new Tabs(name, (message) => this.#hear(message), (signal) => this.#lead(signal));
    if (known === null) {
      const kept = this.store.get("queue");
      // A tab of somebody who was here before may still write its own.
      this.queue.merge(kept?.who === who ? kept.items : [], true);
    }
    this.#tabs.say({ kind: "hello" });
  }

  /** @param {AbortSignal} signal */
  async #resume(signal) {
    const visitor = this.store.get("visitor");
    let id = this.id;
    if (visitor && this.isCustomer) {
      const body = { anonymous_token: visitor.token };
      await this.#caller.call(`/${visitor.id}/attach`, { body }).catch(ignoreRefused);
      this.store.set("visitor", null);
      id = visitor.id;
    }
    if (this.isCustomer || visitor) {
      const listed = await this.#caller.call("").catch((error) => {
        if (error.status === 401 && !this.isCustomer) {
          // The desk knows nothing of this visitor any more.
          this.store.set("visitor", null);
          this.#forget();
          return null;
        }
        throw error;
      });
      const { items } = listed ?? { items: [] };
      const found = items.find((/** @type {any} */ one) => one.conversation_id === id) ?? items[0];
      if (found) {
        this.#adopt(found);
        await this.#catchUp();
      } else if (this.id) {
        this.#forget();
      }
    }
    if (!signal.aborted) {
      this.#connect("live");
    }
  }

  /** @param {any} found an item of the list, or what was made */
  #adopt({ conversation_id: id, read_seq: read = 0, anonymous_token: token }) {
    if (token) {
      this.store.set("visitor", { id, token });
    }
    if (this.id && this.id !== id) {
      this.#forget();
    }
    this.id = id;
    this.log.readSeq = this.log.toldSeq = Math.max(this.log.readSeq, read);
    this.#bell.ring();
  }

  /** Another conversation than the one that is shown. */
  #forget() {
    this.id = null;
    this.log = new Log();
    this.listener.wipe();
  }

  #wipe() {
    for (const key of ["who", "queue", "visitor"]) {
      this.store.set(key, null);
    }
    // Before it is known who is here, all that is queued was written here and now.
    if (this.#caller.who !== null) {
      this.#caller.who = null;
      this.queue.items = [];
      this.#forget();
    }
    this.listener.changed();
  }

  // --- the tab that leads

  /** Lead while there is somebody to look or something to wait for. */
  #stand(isNow = false) {
    const isBusy = this.log.isThinking || this.log.pending.size > 0 || this.queue.head !== null;
    if (!this.#isKnown) {
      return;
    }
    if (!document.hidden || isBusy) {
      this.#tabs?.stand(!document.hidden && isNow);
    } else {
      this.#tabs?.rest();
    }
    this.#bell.ring();
  }

  /** @param {AbortSignal} signal */
  async #lead(signal) {
    const end = () => this.#bell.ring();
    signal.addEventListener("abort", end);
    const follows = async () => {
      await this.#bell.until(() => this.id, signal);
      await follow(
        {
          open: (cut) => this.#open(cut),
          catchUp: () => this.#catchUp(true),
          take: (event) => signal.aborted || this.#take(event, true),
          state: (state) => this.#connect(state),
        },
        signal,
      );
    };
    const post = {
      next: () => this.#bell.until(() => this.queue.head, signal),
      deliver: (/** @type {any} */ item) => this.#deliver(item),
      tell: (/** @type {string} */ id, /** @type {any} */ change) => this.#tell(id, change),
      failed: (/** @type {any} */ error, /** @type {number} */ attempts) =>
        this.id || this.#failed(error, signal, attempts),
    };
    const parts = [drain(post, signal), follows()];
    await Promise.all(parts).catch((error) => this.#failed(error, signal, 0));
    // What was refused for good is not tried again by itself; the lead stays here.
    await this.#bell.until(() => false, signal);
  }

  /** @param {import("./queue.js").Item} item */
  async #deliver({ id, text }) {
    const { language } = this.place;
    const life = this.#life.signal;
    if (!this.id) {
      await this.#tabs?.alone(async () => {
        // Another tab, or another browser of the same customer, may have begun meanwhile.
        await this.#resume(life);
        if (!this.id) {
          const made = await this.#caller.call("", { body: { language } });
          life.throwIfAborted();
          this.#adopt(made);
          this.#tabs?.say({ kind: "conversation", made });
        }
      });
    }
    const { seq } = await this.#post("/messages", { client_id: id, text, language });
    life.throwIfAborted();
    this.#tell(id, { state: "sent", seq });
    this.#dropShown();
  }

  /** @param {string} id @param {any} change */
  #tell(id, change) {
    this.queue.change(id, change);
    this.#tabs?.say({ kind: "change", id, change });
  }

  // --- what is heard

  /** @param {any} event @param {boolean} isLive */
  #take(event, isLive) {
    this.#tabs?.say({ kind: "event", event });
    this.#hearEvent(event, isLive);
  }

  /** @param {any} event @param {boolean} isLive */
  #hearEvent(event, isLive) {
    if (!this.id) {
      // Another tab knows more already; this one will read all of it.
      return;
    }
    if (event.seq === undefined) {
      this.log.hear(event);
    } else if (isLive && event.seq > this.log.lastSeq + 1) {
      // This tab has missed some.
      void this.#catchUp().catch(() => {});
      return;
    } else if (this.log.take(event)) {
      const mine = event.data.client_id;
      this.queue.drop((item) => item.id === mine || item.seq === event.seq);
      this.listener.event(event, !this.#isHistory);
      this.#stand();
    }
    this.listener.changed();
  }

  /** Take every event that is stored since. */
  async #catchUp(isForAll = false) {
    const { log } = this;
    const isFirst = log.lastSeq === 0;
    for (;;) {
      const after = log.lastSeq;
      const { events } = await this.#caller.call(`/${this.id}/events?after=${after}`);
      if (log !== this.log) {
        return;
      }
      this.#isHistory = isFirst;
      for (const event of events) {
        if (isForAll) {
          this.#take(event, false);
        } else {
          this.#hearEvent(event, false);
        }
      }
      this.#isHistory = false;
      if (events.length < FULL_PAGE || log.lastSeq === after) {
        this.#dropShown();
        return;
      }
    }
  }

  #dropShown() {
    this.queue.drop(({ seq }) => seq !== undefined && seq <= this.log.lastSeq);
  }

  /** Hear another tab. @param {any} message */
  #hear(message) {
    const { kind, id, change } = message;
    if (kind === "hello") {
      this.#tabs?.say({ kind: "queue", items: this.queue.unsent });
      if (this.log.draft) {
        const { run_id, text } = this.log.draft;
        const event = { type: "delta", data: { run_id, offset: 0, text } };
        this.#tabs?.say({ kind: "event", event });
      }
    } else if (kind === "event") {
      this.#hearEvent(message.event, true);
    } else if (kind === "queue") {
      this.queue.merge(message.items);
    } else if (kind === "change") {
      this.queue.change(id, change);
      this.#dropShown();
    } else if (kind === "drop") {
      this.queue.drop((item) => item.id === id);
    } else if (kind === "read") {
      this.log.toldSeq = message.seq;
      this.#heardRead(message.seq);
    } else if (kind === "conversation") {
      this.#adopt(message.made);
      void this.#catchUp().catch(() => {});
    } else if (kind === "state") {
      this.#show(message.state);
      // A tab that has just taken the lead may have read what no other was told.
      if (id === this.id && message.seq > this.log.lastSeq) {
        void this.#catchUp().catch(() => {});
      }
    } else if (kind === "reset") {
      void this.reset(true);
    }
  }

  /** @param {number} seq */
  #heardRead(seq) {
    this.log.readSeq = Math.max(this.log.readSeq, seq);
    this.listener.changed();
  }

  // --- how the connection stands

  /** @param {any} event @returns {void} */
  #hope({ type, persisted }) {
    this.queue.revive();
    // A page that was put away and comes back may find somebody else signed in.
    if (persisted || this.connection === "signin" || this.connection === "blocked") {
      void this.reconnect();
    } else if (type !== "online") {
      this.#stand(true);
    } else if (!this.id) {
      this.#connect("live");
    }
  }

  /** @param {Connection} state */
  #connect(state) {
    if (state === "live") {
      this.queue.revive();
    }
    this.#tabs?.say({ kind: "state", state, id: this.id, seq: this.log.lastSeq });
    this.#show(state);
  }

  /** @param {Connection} state */
  #show(state) {
    if (this.connection !== state) {
      this.connection = state;
      this.listener.changed();
    }
  }

  /** @param {any} error @param {AbortSignal} signal @param {number} attempts */
  #failed(error, signal, attempts) {
    if (signal.aborted) {
      return;
    }
    if (error.status === 401) {
      this.#connect("signin");
    } else if (error.isFinal) {
      this.#connect("gone");
    } else if (
      error instanceof TypeError && !this.#caller.hasReached && attempts >= BLOCKED_AFTER && navigator.onLine
    ) {
      this.block();
    } else if (this.connection !== "blocked") {
      this.#connect(navigator.onLine ? "reconnecting" : "offline");
    }
    if (!(error instanceof Refused || error instanceof TypeError)) {
      reportError(error);
    }
  }

  /** @param {SecurityPolicyViolationEvent} event */
  #violated({ blockedURI, effectiveDirective, disposition }) {
    const isOurs = blockedURI.startsWith(this.place.base.origin) && disposition === "enforce";
    if (isOurs && effectiveDirective === "connect-src") {
      this.block();
    }
  }

  /** The page, or the desk, does not let them talk: say so, and what is needed, once. */
  block() {
    const { origin } = this.place.base;
    if (this.connection !== "blocked") {
      console.error(
        `<support-desk> can't reach the support desk. The page's Content-Security-Policy needs ` +
          `"connect-src ${origin}", and the desk's WIDGET_ORIGINS needs ${location.origin}.`,
      );
    }
    this.#connect("blocked");
  }

  // --- asking

  /** @param {string} path @param {any} body */
  async #post(path, body) {
    return this.#caller.call(`/${this.id}${path}`, { body });
  }

  /** @param {AbortSignal} signal */
  async #open(signal) {
    const headers = { Accept: "text/event-stream", "Last-Event-ID": String(this.log.lastSeq) };
    return this.#caller.call(`/${this.id}/events`, { headers, signal });
  }

  #queued() {
    const { who } = this.#caller;
    if (who !== null) {
      this.store.set("queue", { who, items: this.queue.unsent });
    }
    this.#bell.ring();
    this.listener.changed();
  }
}

/** @param {any} error */
function ignoreRefused(error) {
  if (!error.isFinal) {
    throw error;
  }
}

/** Without what is no text: NUL, and half of a pair. @param {any} text */
function sendable(text) {
  return (text.toWellFormed?.() ?? text).replaceAll("\0", "");
}
