/** Slack's modal: the top view of a person's stack, as a form. */

import { drawBlocks, problemsOf, showErrors } from "./blocks.js";
import { h, icon, unseen } from "./dom.js";
import { entries, refill } from "./elements.js";
import { HttpProblem, isProblem, mayFail } from "./http.js";
import { decode } from "./text.js";

export class Modal {
  #dialog = null;
  #form = null;
  #shown = null;
  #viewId = null;
  #closed = new Set();
  #isSending = false;
  #sent = null;
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
    if (view && view.id === this.#viewId) {
      this.#redraw(view);
      return;
    }
    this.#viewId = view?.id ?? null;
    this.#dialog?.remove();
    this.#dialog = null;
    if (view) {
      this.#open(view);
    }
  }

  #open(view) {
    this.#form = this.#draw(view);
    this.#dialog = h("dialog", { class: "sheet", "aria-labelledby": "modal-title" }, this.#form);
    this.#dialog.addEventListener("cancel", (event) => {
      event.preventDefault();
      this.#close(this.#viewId);
    });
    document.body.append(this.#dialog);
    this.#dialog.showModal();
    for (const input of this.#form.querySelectorAll("textarea")) {
      // A long text is read from its beginning; browsers put the caret at its end.
      input.setSelectionRange(0, 0);
      input.scrollTop = 0;
    }
  }

  /** The bot has changed the view meanwhile: entries, focus and caret stay where they were. */
  #redraw(view) {
    const old = this.#form;
    const { scrollTop } = old.querySelector(".sheet-body");
    const active = old.contains(document.activeElement) ? document.activeElement : null;
    const caret = active && "selectionStart" in active ? [active.selectionStart, active.selectionEnd] : null;
    this.#form = this.#draw(view);
    refill(this.#form, entries(old));
    old.replaceWith(this.#form);
    this.#form.querySelector(".sheet-body").scrollTop = scrollTop;
    const { focus, block } = active?.dataset ?? {};
    const same = [...this.#form.querySelectorAll("[data-focus]")].filter((one) => one.dataset.focus === focus);
    const next = same.find((one) => one.dataset.block === block) ?? same[0];
    next?.focus();
    if (caret && caret[0] !== null && next && "setSelectionRange" in next) {
      next.setSelectionRange(...caret);
    }
  }

  #draw(view) {
    const blocks = drawBlocks(view.blocks, {
      key: view.id,
      names: this.#store.names,
      people: this.#store.people,
      act: (element, blockId, value, source) => {
        const values = entries(this.#form);
        // What was typed just before Save has gone with the form.
        const isOld = source.matches("[data-entry]") && JSON.stringify(values) === this.#sent;
        if (!this.#isSending && !isOld) {
          const send = (act) => this.#store.clickView(view.id, { ...act, values });
          this.#act(send, { element, blockId, value, source });
        }
      },
    });
    const close = () => this.#close(view.id);
    return h(
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
  }

  async #submit(event, view) {
    event.preventDefault();
    this.say("");
    const values = entries(this.#form);
    const problems = problemsOf(view.blocks, values);
    showErrors(this.#form, problems);
    if (Object.keys(problems).length > 0) {
      return;
    }
    this.#sent = JSON.stringify(values);
    this.#busy(true);
    try {
      const answer = await this.#store.submit(view.id, values);
      if (answer.problem) {
        this.say(answer.problem);
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
      this.say(Object.keys(errors).length > 0 ? "" : problem.message);
    } finally {
      this.#busy(false);
    }
  }

  async #close(viewId) {
    this.#closed.add(viewId);
    this.show(null);
    try {
      await this.#store.close(viewId);
    } catch (problem) {
      if (!isProblem(problem)) {
        throw problem;
      }
      this.#closed.delete(viewId);
      await mayFail(this.#store.pull());
    }
  }

  /** Say under the form what went wrong; an empty text says nothing. */
  say(text) {
    if (this.#dialog === null) {
      return;
    }
    this.#form.querySelector(".sheet-problem").textContent = text;
  }

  #busy(isBusy) {
    this.#isSending = isBusy;
    for (const button of this.#form.querySelectorAll("[type=submit]")) {
      button.disabled = isBusy;
    }
  }
}
