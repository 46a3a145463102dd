/** Ask the desk: what it refuses is an `HttpProblem`, a lost connection `Unreachable`. */

export class Unreachable extends Error {
  constructor() {
    super("The desk does not answer.");
  }
}

export class HttpProblem extends Error {
  /** A problem+json answer; `retryAfter` is in milliseconds, 0 when the answer names none. */
  constructor(status, body, retryAfter) {
    super(body.detail ?? `The desk answered ${status}.`);
    this.status = status;
    this.code = body.code ?? "";
    this.errors = body.errors ?? {};
    this.retryAfter = retryAfter;
  }
}

export async function getJson(path, { token, signal } = {}) {
  return read(await ask(path, { headers: bearer(token), signal }));
}

export async function postJson(path, body, { token, signal } = {}) {
  const headers = { "Content-Type": "application/json", ...bearer(token) };
  const request = { method: "POST", headers, body: JSON.stringify(body), signal };
  return read(await ask(path, request));
}

/** Fetch, and raise what the desk refuses. */
export async function ask(path, request) {
  let response;
  try {
    response = await fetch(path, request);
  } catch {
    throw new Unreachable();
  }
  await refuse(response);
  return response;
}

/** Let a promise fail for want of the desk, and for no other reason: the next try comes anyway. */
export function mayFail(promise) {
  return promise.catch((problem) => {
    if (!isProblem(problem)) {
      throw problem;
    }
    return null;
  });
}

/** Tell a refusal or a lost connection from a mistake in this page. */
export function isProblem(error) {
  return error instanceof HttpProblem || error instanceof Unreachable;
}

/** Return a query string with its question mark. */
export function query(values) {
  return `?${new URLSearchParams(values)}`;
}

export function bearer(token) {
  return token ? { Authorization: `Bearer ${token}` } : {};
}

async function refuse(response) {
  if (!response.ok) {
    const seconds = Number(response.headers.get("Retry-After") ?? 0);
    const body = await response.json().catch(() => ({}));
    throw new HttpProblem(response.status, body, Number.isFinite(seconds) ? seconds * 1000 : 0);
  }
}

async function read(response) {
  if (response.status === 204) {
    return null;
  }
  try {
    return await response.json();
  } catch {
    throw new Unreachable();
  }
}
