/** Slack's question before a button acts. */

import { h } from "./dom.js";
import { textNodes } from "./text.js";

/** Ask, and resolve to true if the person goes on; Escape and a click beside it mean no. */
export function confirmed({ title, text, confirm, deny, style }, names) {
  return new Promise((resolve) => {
    const dialog = h(
      "dialog",
      { class: "sheet confirm", "aria-labelledby": "confirm-title" },
      h("h3", { id: "confirm-title" }, textNodes(title, names)),
      h("p", { dir: "auto" }, textNodes(text, names)),
      h(
        "form",
        { method: "dialog", class: "sheet-foot" },
        h("button", { class: "block-button", value: "no" }, textNodes(deny, names)),
        h(
          "button",
          { class: `block-button ${style ?? "primary"}`, value: "yes" },
          textNodes(confirm, names),
        ),
      ),
    );
    dialog.addEventListener("click", (event) => {
      if (event.target === dialog) {
        dialog.close("no");
      }
    });
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve(dialog.returnValue === "yes");
    });
    document.body.append(dialog);
    dialog.showModal();
  });
}
