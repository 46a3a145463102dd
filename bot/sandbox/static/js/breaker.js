/** The breaker and the stop switch in the top bar: what runs at present, read from the desk. */

import { h } from "./dom.js";
import { HttpProblem, getJson, mayFail } from "./http.js";

const CALM_MS = 15_000;
const TENSE_MS = 1_000;
const LABELS = {
  closed: "Breaker closed",
  half_open: "Breaker half-open",
  open: "Breaker open",
  stopped: "Everything is stopped",
};

export class BreakerLight {
  #root;
  #token = null;
  #timer = null;
  #asked = 0;
  #words = h("span", { class: "breaker-words", role: "status" });
  #more = h("span", { class: "breaker-more" });

  constructor(root) {
    this.#root = root;
    root.append(h("span", { class: "breaker-dot" }), this.#words, this.#more);
  }

  /** Read the breaker now, and again when it may have changed by itself. */
  async look() {
    clearTimeout(this.#timer);
    this.#asked += 1;
    const asked = this.#asked;
    const status = await mayFail(this.#read());
    if (asked !== this.#asked) {
      return;
    }
    this.#show(status);
    const tense = stateOf(status) !== "closed";
    this.#timer = setTimeout(() => this.look(), tense ? TENSE_MS : CALM_MS);
  }

  /** Read with the token of somebody with a role; tokens are new at each start of the desk. */
  async #read() {
    if (this.#token === null) {
      const people = await getJson("/sandbox/people");
      this.#token = people.find((person) => person.roles.length > 0).api_token;
    }
    try {
      return await getJson("/breaker", { token: this.#token });
    } catch (problem) {
      if (problem instanceof HttpProblem && problem.status === 401) {
        this.#token = null;
      }
      throw problem;
    }
  }

  #show(status) {
    const state = stateOf(status);
    this.#root.dataset.state = state;
    setText(this.#words, LABELS[state] ?? "Desk not reachable");
    setText(this.#more, status ? detail(status) : "");
    this.#more.title = this.#more.textContent;
  }
}

/** While everything is stopped the breaker does not matter: nothing reaches it. */
function stateOf(status) {
  return status?.stopped ? "stopped" : (status?.state ?? "unknown");
}

function detail(status) {
  return status.stopped ? stopped(status.stop) : admitting(status);
}

/** Who stopped everything and why; both are shown as they were written. */
function stopped(stop) {
  return stop ? `by ${stop.by || "somebody"}${stop.reason ? `: ${stop.reason}` : ""}` : "nothing runs";
}

function admitting({ state, admitted_in_window: admitted, max, window_s: window, opens_again_at: at }) {
  if (state === "closed") {
    return `${admitted} of ${max} automatic refunds in ${window} s`;
  }
  if (state === "half_open") {
    return "one refund is let through as a trial";
  }
  const seconds = at ? Math.ceil((new Date(at) - new Date()) / 1000) : 0;
  return seconds > 0 ? `automatic refunds are paused, one trial in ${seconds} s` : "automatic refunds are paused";
}

/** Change a text only when it differs: the line is read aloud when it changes. */
function setText(node, text) {
  if (node.textContent !== text) {
    node.textContent = text;
  }
}
