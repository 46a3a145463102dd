// @ts-check
/** Who is chatting, in the words of the shop: a signed token, or nobody. */

import { Refused, ask } from "./http.js";

const RENEW_BEFORE_MS = 60_000;
const NOBODY = [204, 401, 404];

export class Identity {
  /** The stable id of the customer, empty for an anonymous visitor. */
  sub = "";
  /** @type {string | null} */
  #token = null;
  #renewAt = 0;
  /** @type {Promise<void> | null} */
  #asking = null;

  /** @param {string | null} tokenUrl where the shop signs tokens; null where everybody is a visitor */
  constructor(tokenUrl) {
    this.tokenUrl = tokenUrl;
  }

  /** Return a token that is good for some time, null where nobody is signed in. */
  async token() {
    if (this.tokenUrl && Date.now() >= this.#renewAt) {
      this.#asking ??= this.#ask(this.tokenUrl).finally(() => {
        this.#asking = null;
      });
      await this.#asking;
    }
    return this.#token;
  }

  /** The token was refused: the next one is a new one. */
  forget() {
    this.#renewAt = 0;
  }

  /** @param {string} tokenUrl */
  async #ask(tokenUrl) {
    const url = new URL(tokenUrl, document.baseURI);
    const response = await ask(url, { method: "POST", credentials: "same-origin" }).catch((error) => {
      if (NOBODY.includes(error.status)) {
        return null;
      }
      throw error;
    });
    if (!response || response.status === 204) {
      this.#token = null;
      this.sub = "";
      this.#renewAt = Infinity;
      return;
    }
    // A shop that sends whoever is not signed in to another page answers with that page.
    const { token } = await response.json().catch(() => ({}));
    const { sub, iat, exp } = claims(token);
    const now = Date.now();
    // The visitor's clock may be wrong; how long a token lives is told by the token.
    const life = (iat ? exp - iat : exp - now / 1000) * 1000;
    this.#token = token;
    this.sub = String(sub);
    this.#renewAt = now + Math.max(life - RENEW_BEFORE_MS, life / 2);
  }
}

/** @param {string} jwt */
function claims(jwt) {
  try {
    const part = jwt.split(".")[1].replaceAll("-", "+").replaceAll("_", "/");
    const bytes = Uint8Array.from(atob(part), (one) => one.charCodeAt(0));
    return JSON.parse(new TextDecoder().decode(bytes));
  } catch {
    throw new Refused(401, "The shop's token is none.");
  }
}
