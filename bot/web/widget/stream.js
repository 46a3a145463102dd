// @ts-check
/**
 * Follow a log: a stream read by hand (EventSource sends no Authorization header and gives up at
 * the first refusal), or questions now and then where a proxy keeps the stream back.
 */

import { Backoff, onHope, pause } from "./http.js";

/**
 * @typedef {object} Source
 * @property {(signal: AbortSignal) => Promise<Response>} open asks for the stream
 * @property {() => Promise<void>} catchUp takes what is stored since
 * @property {(event: any) => void} take
 * @property {(state: "live" | "reconnecting" | "offline") => void} state
 */

// The desk says something every 15 s; a line is dead that is silent for longer than two of them.
const SILENT_MS = 40_000;
const STALE_MS = 20_000;
// The desk's first words come at once, unless a proxy gathers them.
const FIRST_BYTE_MS = 6_000;
const POLL_MS = 2_000;
const POLLS = 30;
const STEADY_MS = 5_000;

/**
 * Follow until `signal` aborts; raises what the desk refuses for good.
 * @param {Source} source
 * @param {AbortSignal} signal
 */
export async function follow(source, signal) {
  const backoff = new Backoff();
  while (!signal.aborted) {
    const begun = Date.now();
    try {
      if (!(await listen(source, signal, backoff))) {
        await poll(source, signal);
      }
    } catch (/** @type {any} */ error) {
      if (signal.aborted) {
        return;
      }
      if (error.status === 401 || error.isFinal) {
        throw error;
      }
      source.state(navigator.onLine ? "reconnecting" : "offline");
    }
    if (Date.now() - begun > STEADY_MS) {
      backoff.attempts = 0;
    }
    await backoff.wait(signal);
  }
}

/**
 * Read one stream to its end; false where nothing came of it in time.
 * @param {Source} source @param {AbortSignal} signal @param {Backoff} backoff
 */
async function listen(source, signal, backoff) {
  const cut = new AbortController();
  const end = () => cut.abort();
  let isOpen = false;
  let heardAt = 0;
  let timer = setTimeout(end, FIRST_BYTE_MS);
  signal.addEventListener("abort", end, { signal: cut.signal });
  onHope(cut.signal, ({ type }) => {
    if (type === "online" || Date.now() - heardAt > STALE_MS) {
      end();
    }
  });
  try {
    const response = await source.open(cut.signal);
    await read(/** @type {any} */ (response.body), (event) => {
      clearTimeout(timer);
      timer = setTimeout(end, SILENT_MS);
      heardAt = Date.now();
      if (!isOpen) {
        isOpen = true;
        source.state("live");
      }
      if (event) {
        // What is only live comes with every new stream, good or bad.
        backoff.attempts = event.seq ? 0 : backoff.attempts;
        source.take(event);
      }
    });
  } catch (error) {
    const isKeptBack = cut.signal.aborted && !isOpen && !signal.aborted && navigator.onLine;
    if (isKeptBack) {
      return false;
    }
    throw error;
  } finally {
    clearTimeout(timer);
    end();
  }
  return true;
}

/**
 * Call `heard` for every piece that arrives, and with every event in it.
 * @param {ReadableStream<BufferSource>} body
 * @param {(event?: any) => void} heard
 */
async function read(body, heard) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) {
      return;
    }
    heard();
    const blocks = (rest + value).split(/\r?\n\r?\n/);
    rest = blocks.pop() ?? "";
    for (const block of blocks) {
      const lines = block.split(/\r?\n/);
      const data = lines.filter((line) => line.startsWith("data:")).map((line) => line.slice(5));
      // The desk's own trouble has a name; it ends the stream, and the next one is tried.
      if (data.length > 0 && !lines.some((line) => line.startsWith("event:"))) {
        heard(JSON.parse(data.join("\n")));
      }
    }
  }
}

/** @param {Source} source @param {AbortSignal} signal */
async function poll(source, signal) {
  for (let asked = 0; asked < POLLS && !signal.aborted; asked += 1) {
    await source.catchUp();
    source.state("live");
    await pause(POLL_MS, signal);
  }
}
