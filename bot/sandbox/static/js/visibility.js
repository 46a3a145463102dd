/** Whether anybody sees the page: a browser has few connections to a host, shared by all tabs. */

let seen = new AbortController();

document.addEventListener("visibilitychange", () => {
  if (document.hidden) {
    seen.abort();
  } else {
    seen = new AbortController();
  }
});

/** Return a signal that aborts when the page goes out of sight. */
export function whileVisible() {
  return seen.signal;
}

/** Resolve as soon as the page is in sight. */
export async function untilVisible() {
  while (document.hidden) {
    await new Promise((resolve) => {
      document.addEventListener("visibilitychange", resolve, { once: true });
    });
  }
}
