// @ts-check
/** Ask the desk, and wait between attempts. */

/** The desk has answered, and refuses. `retryAfter` is in milliseconds. */
export class Refused extends Error {
  /** @param {number} status @param {string} [detail] @param {number} [retryAfter] */
  constructor(status, detail = "", retryAfter = 0) {
    super(detail || `HTTP ${status}`);
    this.status = status;
    this.detail = detail;
    this.retryAfter = retryAfter;
  }

  /** Whether the same request can never succeed. */
  get isFinal() {
    return this.status >= 400 && this.status < 500 && ![401, 408, 425, 429].includes(this.status);
  }
}

/**
 * Fetch; raises Refused for an answer that is none, TypeError where there is no answer.
 * @param {string | URL} url
 * @param {RequestInit} options
 */
export async function ask(url, options) {
  const response = await fetch(url, { cache: "no-store", ...options });
  if (!response.ok) {
    const problem = await response.json().catch(() => ({}));
    const seconds = Number(response.headers.get("Retry-After")) || 0;
    throw new Refused(response.status, problem.detail, seconds * 1000);
  }
  return response;
}

/**
 * @typedef {object} Question
 * @property {any} [body] is posted as JSON
 * @property {Record<string, string>} [headers]
 * @property {AbortSignal} [signal] of whoever reads the response piece by piece
 */

const PATIENCE_MS = 20_000;

/**
 * Ask with a bearer token while `life` lasts. Returns what the JSON says; with a signal of one's
 * own the response as it comes.
 * @param {URL} url
 * @param {string | undefined} bearer
 * @param {AbortSignal} life
 * @param {Question} question
 */
export async function talk(url, bearer, life, { body, headers, signal }) {
  const over = new AbortController();
  const end = () => over.abort();
  const timer = signal ? 0 : setTimeout(end, PATIENCE_MS);
  for (const one of [life, signal]) {
    one?.addEventListener("abort", end, { signal: over.signal });
  }
  try {
    const response = await ask(url, {
      method: body ? "POST" : "GET",
      headers: {
        ...(body && { "Content-Type": "application/json" }),
        ...(bearer && { Authorization: `Bearer ${bearer}` }),
        ...headers,
      },
      body: body && JSON.stringify(body),
      signal: over.signal,
      // What was said arrives although the page is left in the same moment.
      keepalive: Boolean(body),
    });
    return signal ? response : response.status === 204 ? null : await response.json();
  } finally {
    clearTimeout(timer);
    if (!signal) {
      end();
    }
  }
}

const FIRST_MS = 300;
const MOST_MS = 15_000;

/** Twice as long each time, with jitter, up to a limit. */
export class Backoff {
  attempts = 0;

  /** @param {AbortSignal} signal @param {number} [least] ms */
  async wait(signal, least = 0) {
    const full = Math.min(FIRST_MS * 2 ** this.attempts, MOST_MS);
    this.attempts += 1;
    await pause(Math.max(least, full * (0.5 + Math.random() / 2)), signal, least === 0);
  }
}

/**
 * Listen for the moments at which a connection may work again, until `signal` aborts.
 * @param {AbortSignal} signal
 * @param {(event: Event) => void} listener
 */
export function onHope(signal, listener) {
  const heard = (/** @type {Event} */ event) => document.hidden || listener(event);
  window.addEventListener("online", listener, { signal });
  window.addEventListener("pageshow", heard, { signal });
  document.addEventListener("visibilitychange", heard, { signal });
}

/**
 * Resolve after `ms`, when `signal` aborts, or when there is hope.
 * @param {number} ms @param {AbortSignal} signal
 */
export function pause(ms, signal, endsEarly = true) {
  return new Promise((resolve) => {
    const over = new AbortController();
    const end = () => {
      over.abort();
      clearTimeout(timer);
      resolve(undefined);
    };
    const timer = setTimeout(end, signal.aborted ? 0 : ms);
    signal.addEventListener("abort", end, { signal: over.signal });
    if (endsEarly) {
      onHope(over.signal, end);
    }
  });
}
