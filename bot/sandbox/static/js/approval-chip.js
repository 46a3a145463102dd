/** The chip that shows a customer how a request stands: always a word, never colour alone. */

import { h, icon } from "./dom.js";

const LOOKS = {
  pending: ["clock", "Pending"],
  approved: ["check", "Approved"],
  done: ["done", "Done"],
  declined: ["declined", "Declined"],
  expired: ["hourglass", "Expired"],
  withdrawn: ["undo", "Withdrawn"],
  replaced: ["pencil", "Replaced"],
  checking: ["search", "Checking"],
  failed: ["alert", "Failed"],
};

/** Draw the chip of an approval event's data; `withdraw` takes a pending request back. */
export function approvalChip({ approval_id: id, status, text }, withdraw) {
  const [sign, label] = LOOKS[status] ?? ["clock", status];
  return h(
    "div",
    { class: `chip chip-${status}`, "data-approval": id, "data-status": status },
    h("span", { class: "chip-state" }, icon(sign), label),
    h("p", { class: "chip-text", dir: "auto" }, text),
    status === "pending" ? withdrawButton(withdraw) : null,
  );
}

function withdrawButton(withdraw) {
  const button = h("button", { type: "button", class: "link chip-withdraw" }, "Withdraw request");
  button.addEventListener("click", async () => {
    button.disabled = true;
    try {
      await withdraw();
    } catch (problem) {
      button.replaceWith(h("span", { class: "chip-problem" }, problem.message));
    }
  });
  return button;
}
