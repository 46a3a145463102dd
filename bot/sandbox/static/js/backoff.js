/** Wait between attempts: twice as long each time, with jitter, up to a limit. */

export class Backoff {
  #attempts = 0;

  constructor(first = 500, most = 15_000) {
    this.first = first;
    this.most = most;
  }

  get attempts() {
    return this.#attempts;
  }

  /** Start afresh after a success. */
  reset() {
    this.#attempts = 0;
  }

  /** Wait for the next attempt, at least `least` ms; less when the network comes back meanwhile. */
  async wait(signal, least = 0) {
    const full = Math.min(this.first * 2 ** this.#attempts, this.most);
    this.#attempts += 1;
    await pause(Math.max(least, full * (0.5 + Math.random() / 2)), signal, least === 0);
  }
}

/** Resolve after `ms`, or at once when `signal` aborts. */
export function pause(ms, signal, endsOnline = false) {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", end);
      window.removeEventListener("online", end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    signal?.addEventListener("abort", end);
    if (endsOnline) {
      window.addEventListener("online", end);
    }
    if (signal?.aborted) {
      end();
    }
  });
}
