// @ts-check
/** What the browser keeps, and the messages that the desk has not stored yet, in their order. */

/** A corner of localStorage; where that is blocked or full, memory has to do. */
export class Store {
  /** @type {Map<string, string>} */
  #memory = new Map();

  /** @param {string} prefix */
  constructor(prefix) {
    this.prefix = prefix;
  }

  /** @param {string} key @returns {any} null where there is nothing */
  get(key) {
    let text = this.#memory.get(key) ?? null;
    try {
      text ??= localStorage.getItem(this.prefix + key);
      return JSON.parse(text ?? "null");
    } catch {
      return null;
    }
  }

  /** @param {string} key @param {any} value null removes it */
  set(key, value) {
    const text = JSON.stringify(value);
    this.#memory.delete(key);
    try {
      if (value === null) {
        localStorage.removeItem(this.prefix + key);
      } else {
        localStorage.setItem(this.prefix + key, text);
      }
    } catch {
      this.#memory.set(key, text);
    }
  }
}

/**
 * @typedef {object} Item
 * @property {string} id made here, once: the desk stores a message once for each
 * @property {string} text
 * @property {"waiting" | "failed" | "sent"} state
 * @property {string} [problem] why it can never be sent as it is
 * @property {number} [seq] where the desk has put it
 */

export class Queue {
  /** @type {Item[]} */
  items = [];
  #changed;

  /** @param {() => void} changed */
  constructor(changed) {
    this.#changed = changed;
  }

  /** The next to send: null also while an earlier one has failed, for the order is kept. */
  get head() {
    const first = this.items.find((item) => item.state !== "sent");
    return first?.state === "waiting" ? first : null;
  }

  /** What is worth keeping over a reload. */
  get unsent() {
    return this.items.filter((item) => item.state !== "sent");
  }

  /** @param {string} text @returns {Item} */
  add(text) {
    const item = { id: uuid(), text, state: /** @type {const} */ ("waiting") };
    this.merge([item]);
    return item;
  }

  /** Take in what another tab, or this one before a reload, has queued. @param {Item[]} items */
  merge(items, isEarlier = false) {
    const fresh = items.filter((item) => !this.items.some(({ id }) => id === item.id));
    this.items = isEarlier ? [...fresh, ...this.items] : [...this.items, ...fresh];
    this.#changed();
  }

  /** @param {string} id @param {Partial<Item>} change */
  change(id, change) {
    this.items = this.items.map((item) => (item.id === id ? { ...item, ...change } : item));
    this.#changed();
  }

  /** Drop what the log shows, or what was taken back. @param {(item: Item) => boolean} isGone */
  drop(isGone) {
    const kept = this.items.filter((item) => !isGone(item));
    if (kept.length !== this.items.length) {
      this.items = kept;
      this.#changed();
    }
  }

  /** There is hope again: try what failed for want of a connection. */
  revive() {
    for (const { id, state, problem } of this.items) {
      if (state === "failed" && !problem) {
        this.change(id, { state: "waiting" });
      }
    }
  }
}

/** crypto.randomUUID is missing on pages without TLS. */
function uuid() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = (bytes[6] & 15) | 64;
  bytes[8] = (bytes[8] & 63) | 128;
  const hex = [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}
