// @ts-check
/** What stands in the conversation: messages, requests with their state, lines between them. */

import { button, h, icon, unseen } from "./dom.js";
import { markdown } from "./markdown.js";

/** @typedef {import("./words.js").Words} Words */

const SIGNS = /** @type {Record<string, any>} */ ({
  pending: "clock",
  approved: "check",
  done: "check",
  declined: "close",
  withdrawn: "back",
  replaced: "back",
});

/** A stored message. @param {Words} words @param {any} event */
export function turn(words, { at, data }) {
  const { role, text, by, question, answer_by: until } = data;
  const when = new Date(at);
  const isStaff = role === "staff";
  const said = isStaff && question && until ? question : text;
  const who = by || words.say(`by_${role}`);
  return h(
    "div",
    { class: `turn ${role}`, "data-role": role },
    isStaff ? h("bdi", { class: "who" }, who) : unseen(`${who}: `),
    h("div", { class: "bubble", dir: "auto" }, ...(role === "customer" ? [said] : markdown(said))),
    until ? h("strong", { class: "note" }, words.say("answer_by", { when: words.moment(new Date(until)) })) : null,
    h("time", { class: "note", datetime: at }, words.clock(when)),
  );
}

/**
 * A message that is on its way.
 * @param {Words} words
 * @param {import("./queue.js").Item} item
 * @param {{retry: (id: string) => void, edit: (id: string) => void}} act
 */
export function sending(words, { id, text, state, problem }, act) {
  return h(
    "div",
    { class: `turn customer ${state}`, "data-state": state },
    h("div", { class: "bubble", dir: "auto" }, text),
    state === "failed"
      ? h(
          "div",
          { class: "note bad", role: "alert" },
          h("span", {}, icon("alert"), `${words.say("failed")} \u2068${problem ?? ""}\u2069`),
          button({ class: "link", click: () => act.retry(id) }, words.say("retry")),
          problem ? button({ class: "link", click: () => act.edit(id) }, words.say("edit")) : null,
        )
      : h("span", { class: "note" }, words.say(state)),
  );
}

/** The words of a request's state. @param {Words} words @param {string} status */
export function stateWords(words, status) {
  return words.say(status === "failed" ? "could_not" : status) || status;
}

/**
 * A request as it stands; `withdraw` is null where nobody may take it back.
 * @param {Words} words
 * @param {any} event
 * @param {string} since when it was asked for
 * @param {((id: string) => Promise<void>) | null} withdraw
 */
export function chip(words, { data }, since, withdraw) {
  const { approval_id: id, status, text } = data;
  const isPending = status === "pending";
  const when = words.say("since", { when: words.moment(new Date(since)) });
  const trouble = h("span", { class: "note bad", role: "alert" });
  let isUnderWay = false;
  const take = async () => {
    // A button that is disabled would lose the focus, and whoever has no mouse their place.
    if (isUnderWay) {
      return;
    }
    isUnderWay = true;
    trouble.textContent = "";
    await withdraw?.(id).catch((/** @type {any} */ error) => {
      trouble.textContent = error.detail || words.say("failed");
      isUnderWay = false;
    });
  };
  return h(
    "div",
    { class: `chip ${status}`, "data-approval": id, "data-status": status, "aria-live": "off" },
    h(
      "div",
      { class: "state" },
      icon(SIGNS[status] ?? "alert"),
      h("strong", {}, stateWords(words, status)),
      isPending ? h("span", { class: "note" }, when) : null,
    ),
    h("p", { dir: "auto" }, text),
    isPending && withdraw ? button({ class: "link", click: take }, words.say("withdraw")) : null,
    trouble,
  );
}

/** A line that nobody said. @param {string} text */
export function line(text, kind = "line") {
  return h("p", { class: kind, dir: "auto" }, text);
}
