// @ts-check
/**
 * The tabs of one customer in one browser: one of them leads, it alone talks to the desk for all.
 *
 * Without Web Locks or BroadcastChannel every tab leads itself; the desk stores nothing twice.
 */

const isShared = "BroadcastChannel" in window && navigator.locks !== undefined;
const ALONE_MS = 10_000;

export class Tabs {
  /** @type {AbortController | null} */
  #turn = null;
  /** @type {BroadcastChannel | null} */
  #channel = null;
  #isLeading = false;

  /**
   * `lead(signal)` runs for as long as this tab leads; `hear(message)` gets what another tab says.
   * @param {string} name
   * @param {(message: any) => void} hear
   * @param {(signal: AbortSignal) => Promise<void>} lead
   */
  constructor(name, hear, lead) {
    this.name = name;
    this.lead = lead;
    if (isShared) {
      this.#channel = new BroadcastChannel(name);
      this.#channel.onmessage = ({ data }) => hear(data);
    }
  }

  /** Tell the other tabs. @param {any} message */
  say(message) {
    this.#channel?.postMessage(message);
  }

  /**
   * Lead as soon as nobody else does; a tab that comes into sight takes the lead at once, because
   * one that is out of sight may be asleep.
   * @param {boolean} isNow
   */
  stand(isNow) {
    if (this.#turn && (this.#isLeading || !isNow)) {
      return;
    }
    this.#turn?.abort();
    const turn = new AbortController();
    this.#turn = turn;
    const lead = () => {
      this.#isLeading = !turn.signal.aborted;
      return this.lead(turn.signal);
    };
    const how = isNow ? { steal: true } : { signal: turn.signal };
    const led = isShared
      ? navigator.locks.request(this.name, how, lead).catch((/** @type {any} */ error) => {
          // Who lets a page keep nothing lets it hold no locks either: then each tab leads itself.
          return error.name === "SecurityError" && lead();
        })
      : lead();
    // Where locks are forbidden there is nobody to share with.
    const ended = led.catch((error) => (error.name === "AbortError" ? undefined : lead()));
    // Another tab has taken the lead: stand again, behind it.
    void ended.then(() => {
      if (this.#turn === turn) {
        this.rest();
        if (isShared && !document.hidden) {
          this.stand(false);
        }
      }
    });
  }

  /** Stand back; somebody else may lead. */
  rest() {
    this.#turn?.abort();
    this.#turn = null;
    this.#isLeading = false;
  }

  /**
   * Do what no other tab may do at the same time; one that sleeps meanwhile is not waited for long.
   * @param {() => Promise<void>} work
   */
  async alone(work) {
    if (!isShared) {
      return work();
    }
    const signal = AbortSignal.timeout(ALONE_MS);
    return navigator.locks.request(`${this.name} alone`, { signal }, work).catch((error) => {
      if (["TimeoutError", "SecurityError"].includes(error.name)) {
        return work();
      }
      throw error;
    });
  }

  close() {
    this.rest();
    this.#channel?.close();
  }
}
