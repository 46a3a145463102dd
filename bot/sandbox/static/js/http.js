/** Ask the desk for JSON; what it refuses is an `HttpProblem`, a lost connection a `TypeError`. */

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
  return read(await fetch(path, { headers: bearer(token), signal }));
}

export async function postJson(path, body, { token, signal } = {}) {
  const headers = { "Content-Type": "application/json", ...bearer(token) };
  const request = { method: "POST", headers, body: JSON.stringify(body), signal };
  return read(await fetch(path, request));
}

/** Return a query string with its question mark. */
export function query(values) {
  return `?${new URLSearchParams(values)}`;
}

export function bearer(token) {
  return token ? { Authorization: `Bearer ${token}` } : {};
}

/** Raise the answer's problem, if it is one. */
export async function refuse(response) {
  if (!response.ok) {
    const seconds = Number(response.headers.get("Retry-After") ?? 0);
    const body = await response.json().catch(() => ({}));
    throw new HttpProblem(response.status, body, Number.isFinite(seconds) ? seconds * 1000 : 0);
  }
}

async function read(response) {
  await refuse(response);
  return response.status === 204 ? null : response.json();
}
