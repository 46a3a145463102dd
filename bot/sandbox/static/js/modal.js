/** Slack's modal: the top view of a person's stack, as a form. */

import { drawBlocks, problemsOf, showErrors } from "./blocks.js";
import { h, icon, unseen } from "./dom.js";
import { entries } from "./elements.js";
import { HttpProblem, isProblem, mayFail } from "./http.js";
import { decode } from "./text.js";

export class Modal {
  #dialog = null;
  #form = null;
  #shown = null;
  #closed = new Set();
  #store;
  #act;

  /** `act(click, element, source)` acts on an element of the view. */
  constructor(store, act) {
    this.#store = store;
    this.#act = act;
  }

  /** Show this view; null shows none. What a person has typed stays while the view is the same. */
  show(top) {
    const view = top && !this.#closed.has(top.id) ? top : null;
    const id = view && `${view.id}/${view.hash}`;
    if (id === this.#shown) {
      return;
    }
    this.#shown = id;
    this.#dialog?.remove();
    this.#dialog = null;
    if (view) {
      this.#open(view);
    }
  }

  #open(view) {
    const blocks = drawBlocks(view.blocks, {
      key: view.id,
      names: this.#store.names,
      act: (element, blockId, value, source) =>
        this.#act(
          (act) => this.#store.clickView(view.id, { ...act, values: entries(this.#form) }),
          { element, blockId, value, source },
        ),
    });
    const close = () => this.#close(view);
    this.#form = h(
      "form",
      { novalidate: true, on: { submit: (event) => this.#submit(event, view) } },
      h(
        "header",
        { class: "sheet-head" },
        h("span", { class: "app-face" }, icon("check")),
        h("h3", { id: "modal-title" }, decode(view.title.text)),
        h("button", { type: "button", class: "sheet-close", on: { click: close } }, icon("cross"), unseen("Close")),
      ),
      h("div", { class: "sheet-body" }, blocks),
      h("p", { class: "sheet-problem", role: "alert" }),
      h(
        "footer",
        { class: "sheet-foot" },
        h(
          "button",
          { type: "button", class: "block-button", on: { click: close } },
          view.close ? decode(view.close.text) : "Cancel",
        ),
        view.submit
          ? h("button", { class: "block-button primary", type: "submit" }, decode(view.submit.text))
          : null,
      ),
    );
    this.#dialog = h("dialog", { class: "sheet", "aria-labelledby": "modal-title" }, this.#form);
    this.#dialog.addEventListener("cancel", (event) => {
      event.preventDefault();
      close();
    });
    document.body.append(this.#dialog);
    this.#dialog.showModal();
    for (const input of this.#form.querySelectorAll("textarea")) {
      // A long text is read from its beginning; browsers put the caret at its end.
      input.setSelectionRange(0, 0);
      input.scrollTop = 0;
    }
  }

  async #submit(event, view) {
    event.preventDefault();
    this.#say("");
    const values = entries(this.#form);
    const problems = problemsOf(view.blocks, values);
    showErrors(this.#form, problems);
    if (Object.keys(problems).length > 0) {
      return;
    }
    this.#busy(true);
    try {
      const answer = await this.#store.submit(view.id, values);
      if (answer.problem) {
        this.#say(answer.problem);
      } else {
        showErrors(this.#form, answer.errors ?? {});
      }
      await this.#store.pull();
    } catch (problem) {
      if (!isProblem(problem)) {
        throw problem;
      }
      const errors = problem instanceof HttpProblem ? problem.errors : {};
      showErrors(this.#form, errors);
      this.#say(Object.keys(errors).length > 0 ? "" : problem.message);
    } finally {
      this.#busy(false);
    }
  }

  async #close(view) {
    this.#closed.add(view.id);
    this.show(null);
    try {
      await this.#store.close(view.id);
    } catch (problem) {
      if (!isProblem(problem)) {
        throw problem;
      }
      this.#closed.delete(view.id);
      await mayFail(this.#store.pull());
    }
  }

  #say(text) {
    this.#form.querySelector(".sheet-problem").textContent = text;
  }

  #busy(isBusy) {
    for (const button of this.#form.querySelectorAll("[type=submit]")) {
      button.disabled = isBusy;
    }
  }
}
