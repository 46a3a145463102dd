/** What Slack shows for an answer that is no acknowledgement. */

/** Return the words, and the reason beside them where there is one. */
export function failure({ problem, status, body, ms }) {
  if (status === undefined || status === 200) {
    return problem;
  }
  const reason = status === 0 ? `${body} after ${Math.round(ms)} ms` : `status ${status}`;
  return `${problem} (${reason})`;
}
