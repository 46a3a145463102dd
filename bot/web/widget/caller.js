// @ts-check
/** Ask the desk as whoever is signed in at the shop, or as the visitor of this browser. */

import { Refused, talk } from "./http.js";
import { Identity } from "./identity.js";

export class Caller {
  /** Whose conversation is shown: empty for a visitor, null before it is known. @type {string | null} */
  who = null;
  /** Whether the desk was ever reached. */
  hasReached = false;
  life = new AbortController().signal;

  /**
   * @param {{base: URL, tokenUrl: string | null}} place
   * @param {import("./queue.js").Store} store
   * @param {() => void} meet is called when somebody else turns out to be signed in
   */
  constructor(place, store, meet) {
    this.place = place;
    this.store = store;
    this.meet = meet;
    this.identity = new Identity(place.tokenUrl);
  }

  /** Ask the shop anew who it is, whoever it was. */
  anew() {
    this.identity = new Identity(this.place.tokenUrl);
  }

  /** Return the customer who is signed in, empty for a visitor. */
  async sub() {
    await this.identity.token();
    return this.identity.sub;
  }

  /**
   * Ask; a token that is refused is replaced, once. Returns what the JSON says, or with a signal
   * of one's own the response as it comes.
   * @param {string} path below the conversations
   * @param {import("./http.js").Question} [options]
   * @returns {Promise<any>}
   */
  async call(path, options = {}) {
    try {
      return await this.#once(path, options);
    } catch (/** @type {any} */ error) {
      if (error.status !== 401 || !this.who) {
        throw error;
      }
      this.identity.forget();
      return this.#once(path, options);
    }
  }

  /** @param {string} path @param {import("./http.js").Question} options */
  async #once(path, options) {
    const { identity, life, place } = this;
    const token = await identity.token();
    life.throwIfAborted();
    if (identity.sub !== this.who) {
      // Before anything is asked for in the name of somebody else.
      if (identity.sub) {
        this.meet();
      }
      throw new Refused(401);
    }
    const bearer = token ?? this.store.get("visitor")?.token;
    const answer = await talk(new URL(`chat/conversations${path}`, place.base), bearer, life, options);
    this.hasReached = true;
    return answer;
  }
}
