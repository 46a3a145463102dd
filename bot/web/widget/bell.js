// @ts-check
/** Waiting for something to be there: whoever changes anything rings. */

export class Bell {
  /** @type {Set<() => void>} */
  #waiters = new Set();

  /**
   * Resolve with the first value that `look` finds; null when `signal` aborts, which rings too.
   * @template T
   * @param {() => T | null | false} look
   * @param {AbortSignal} signal
   * @returns {Promise<T | null>}
   */
  async until(look, signal) {
    while (!signal.aborted) {
      const found = look();
      if (found) {
        return found;
      }
      await new Promise((resolve) => this.#waiters.add(() => resolve(undefined)));
    }
    return null;
  }

  ring() {
    const waiters = [...this.#waiters];
    this.#waiters.clear();
    for (const wake of waiters) {
      wake();
    }
  }
}
