// @ts-check
/** Send what is queued, one after the other: what failed holds up what came later. */

import { Backoff } from "./http.js";

const QUICK_TRIES = 5;

/**
 * @typedef {import("./queue.js").Item} Item
 *
 * @typedef {object} Post
 * @property {() => Promise<Item | null>} next waits for it; null when it is over
 * @property {(item: Item) => Promise<void>} deliver
 * @property {(id: string, change: Partial<Item>) => void} tell
 * @property {(error: any, attempts: number) => void} failed
 */

/**
 * Send until `signal` aborts; raises when nobody is signed in any more.
 * @param {Post} post
 * @param {AbortSignal} signal
 */
export async function drain(post, signal) {
  const backoff = new Backoff();
  for (let item = await post.next(); item; item = await post.next()) {
    try {
      await post.deliver(item);
      backoff.attempts = 0;
    } catch (/** @type {any} */ error) {
      if (signal.aborted) {
        return;
      }
      if (error.status === 401) {
        throw error;
      }
      post.failed(error, backoff.attempts);
      if (error.isFinal) {
        post.tell(item.id, { state: "failed", problem: error.message });
      } else if (backoff.attempts >= QUICK_TRIES) {
        backoff.attempts = 0;
        post.tell(item.id, { state: "failed" });
      } else {
        await backoff.wait(signal, error.retryAfter);
      }
    }
  }
}
