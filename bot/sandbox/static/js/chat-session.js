/** A customer's conversation over HTTP: token, sending, live events. It draws nothing. */

import { Backoff } from "./backoff.js";
import { readEvents } from "./event-stream.js";
import { HttpProblem, ask, bearer, getJson, isProblem, mayFail, postJson } from "./http.js";
import { untilVisible, whileVisible } from "./visibility.js";

export const MAX_CHARACTERS = 4000;

const RENEW_BEFORE_MS = 60_000;
const MOST_ATTEMPTS = 6;
const QUIET_MS = 60_000;

/** The shop's token for a customer: made when first asked for, renewed before it ends. */
class ShopToken {
  #token = null;
  #endsAt = 0;

  constructor(customerId) {
    this.customerId = customerId;
  }

  async get() {
    if (Date.now() > this.#endsAt - RENEW_BEFORE_MS) {
      const body = { customer_id: this.customerId };
      this.#token = (await postJson("/sandbox/shop/token", body)).token;
      this.#endsAt = claims(this.#token).exp * 1000;
    }
    return this.#token;
  }

  forget() {
    this.#endsAt = 0;
  }
}

function claims(jwt) {
  const part = jwt.split(".")[1].replaceAll("-", "+").replaceAll("_", "/");
  return JSON.parse(new TextDecoder().decode(Uint8Array.from(atob(part), (c) => c.charCodeAt(0))));
}

/**
 * One customer's newest conversation, or a new one with the first message.
 *
 * `listener` has `event(event)` for each stored event in order, once; `sending(message)` whenever
 * a message of this page is `sending`, `sent` or `failed`; `connection(state)`, `live` or `lost`.
 */
export class ChatSession {
  #token;
  #listener;
  #stop = new AbortController();
  #path = null;
  #resumed = Promise.resolve();
  #lastSeq = 0;
  #readSeq = 0;
  #queue = Promise.resolve();

  constructor(customerId, listener) {
    this.#token = new ShopToken(customerId);
    this.#listener = listener;
  }

  /** Go on with the newest conversation, if there is one; what is sent meanwhile waits. */
  start() {
    this.#resumed = this.#resume();
    return this.#resumed;
  }

  async #resume() {
    const backoff = new Backoff();
    while (!this.#stop.signal.aborted) {
      try {
        const { items } = await this.#call((options) => getJson("/chat/conversations", options));
        if (items.length > 0) {
          this.#follow(items[0].conversation_id);
        }
        return;
      } catch (problem) {
        if (this.#stop.signal.aborted) {
          return;
        }
        if (!mayPass(problem)) {
          throw problem;
        }
        this.#listener.connection("lost");
        await backoff.wait(this.#stop.signal);
      }
    }
  }

  /** Leave: nothing is reported any more. */
  close() {
    this.#stop.abort();
  }

  /** Send a text. Messages go out one after the other, so that they arrive in this order. */
  send(text) {
    this.retry({ clientId: crypto.randomUUID(), text, state: "sending", seq: null });
  }

  /** Send again what failed; the desk knows its id and stores it once. */
  retry(message) {
    this.#tell(message, "sending");
    this.#queue = this.#queue.then(() => this.#deliver(message));
  }

  /** Take back a request that still waits for the team. */
  async withdraw(approvalId) {
    await this.#call((options) =>
      postJson(`${this.#path}/approvals/${approvalId}/withdraw`, {}, options),
    );
  }

  /** Tell the desk how far the customer has read. */
  async read(seq) {
    if (this.#path && seq > this.#readSeq) {
      this.#readSeq = seq;
      await mayFail(this.#call((options) => postJson(`${this.#path}/read`, { seq }, options)));
    }
  }

  async #deliver(message) {
    const backoff = new Backoff();
    while (!this.#stop.signal.aborted) {
      try {
        await this.#open();
        const body = { client_id: message.clientId, text: message.text };
        const { seq } = await this.#call((o) => postJson(`${this.#path}/messages`, body, o));
        message.seq = seq;
        this.#tell(message, "sent");
        return;
      } catch (problem) {
        if (!isProblem(problem)) {
          reportError(problem);
        }
        if (!mayPass(problem) || backoff.attempts >= MOST_ATTEMPTS) {
          message.problem = problem.message;
          this.#tell(message, "failed");
          return;
        }
        await backoff.wait(this.#stop.signal, problem.retryAfter ?? 0);
      }
    }
  }

  #tell(message, state) {
    message.state = state;
    if (!this.#stop.signal.aborted) {
      this.#listener.sending(message);
    }
  }

  async #open() {
    await mayFail(this.#resumed);
    if (this.#path === null) {
      await this.#create();
    }
  }

  async #create() {
    const made = await this.#call((options) => postJson("/chat/conversations", {}, options));
    this.#follow(made.conversation_id);
  }

  #follow(conversationId) {
    this.#path = `/chat/conversations/${conversationId}`;
    void this.#listen();
  }

  /** The conversation is gone: the next message opens another. */
  #forget() {
    this.#path = null;
    this.#lastSeq = 0;
    this.#readSeq = 0;
  }

  async #listen() {
    const backoff = new Backoff();
    while (!this.#stop.signal.aborted) {
      await untilVisible();
      const seen = whileVisible();
      try {
        await this.#stream(backoff, seen);
      } catch (problem) {
        if (problem instanceof HttpProblem && problem.status === 404) {
          this.#forget();
          return;
        }
        if (!isProblem(problem)) {
          reportError(problem);
        }
        if (!this.#stop.signal.aborted && !seen.aborted) {
          this.#listener.connection("lost");
        }
      }
      if (!seen.aborted) {
        await backoff.wait(this.#stop.signal);
      }
    }
  }

  async #stream(backoff, seen) {
    const quiet = new AbortController();
    const cut = () => quiet.abort();
    const watch = () => setTimeout(cut, QUIET_MS);
    let timer = watch();
    window.addEventListener("offline", cut);
    try {
      const signal = AbortSignal.any([this.#stop.signal, quiet.signal, seen]);
      const response = await this.#call((options) => this.#connect({ ...options, signal }));
      this.#listener.connection("live");
      // Every byte shows that the line is alive, the heartbeat's too.
      const alive = new TransformStream({
        transform: (chunk, out) => {
          clearTimeout(timer);
          timer = watch();
          out.enqueue(chunk);
        },
      });
      for await (const { id, event, data } of readEvents(response.body.pipeThrough(alive))) {
        if (event === "message" && id !== undefined) {
          backoff.reset();
          this.#take(JSON.parse(data));
        }
      }
    } finally {
      clearTimeout(timer);
      window.removeEventListener("offline", cut);
    }
  }

  async #connect({ token, signal }) {
    const headers = { Accept: "text/event-stream", ...bearer(token) };
    if (this.#lastSeq > 0) {
      headers["Last-Event-ID"] = String(this.#lastSeq);
    }
    return ask(`${this.#path}/events`, { headers, signal, cache: "no-store" });
  }

  #take(event) {
    if (event.seq > this.#lastSeq && !this.#stop.signal.aborted) {
      this.#lastSeq = event.seq;
      this.#listener.event(event);
    }
  }

  /** Call with a token; one that is refused is replaced, once. */
  async #call(ask) {
    const options = { signal: this.#stop.signal };
    try {
      return await ask({ ...options, token: await this.#token.get() });
    } catch (problem) {
      if (!(problem instanceof HttpProblem) || problem.status !== 401) {
        throw problem;
      }
      this.#token.forget();
      return ask({ ...options, token: await this.#token.get() });
    }
  }
}

/** Tell whether the same request may succeed later. */
function mayPass(problem) {
  return isProblem(problem) && (problem.status === 429 || (problem.status ?? 500) >= 500);
}
