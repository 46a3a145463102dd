/** The chat as a customer sees it: log, typing, chips, suggestions, composer. */

import { approvalChip } from "./approval-chip.js";
import { ChatSession, MAX_CHARACTERS } from "./chat-session.js";
import { h, icon, unseen } from "./dom.js";
import { Tail } from "./tail.js";
import { clock, day } from "./time.js";

const COUNT_FROM = 3_500;
const STATUS_WORDS = {
  stopped: "The answer was stopped.",
  failed: "The answer failed. Please write again.",
};

export class ChatPanel {
  #session = null;
  #customer = null;
  #onChange;
  #mine = [];
  #chips = new Map();
  #suggestions = [];
  #tail;

  /** `onChange` is called after each event that may have moved money. */
  constructor(onChange) {
    this.#onChange = onChange;
    this.#build();
  }

  /** Talk as this customer; `suggestions` are sentences worth trying. */
  async open(customer, suggestions) {
    this.#session?.close();
    this.#customer = customer;
    this.#suggestions = suggestions;
    this.#mine = [];
    this.#chips.clear();
    this.log.replaceChildren(this.#greeting());
    this.typing.hidden = true;
    this.#write("");
    this.#connection("live");
    this.#offer();
    const session = new ChatSession(customer.id, {
      event: (event) => this.#show(event),
      sending: (message) => this.#showSending(message),
      connection: (state) => this.#connection(state),
    });
    this.#session = session;
    await session.start();
  }

  /** Put a text into the composer and go there. */
  prefill(text) {
    this.#write(text);
    this.input.focus();
  }

  /** Show other suggestions, for instance after a refund. */
  suggest(suggestions) {
    this.#suggestions = suggestions;
    this.#offer();
  }

  #build() {
    this.state = h("span", { class: "chat-state" });
    this.log = h("div", {
      class: "chat-log",
      role: "log",
      "aria-label": "Conversation",
      "aria-live": "polite",
      tabindex: "0",
    });
    this.typing = h(
      "div",
      { class: "chat-typing", hidden: true, role: "status" },
      unseen("ShopStream support is typing"),
      h("i"),
      h("i"),
      h("i"),
    );
    const body = h("div", { class: "chat-body" }, this.log, this.typing);
    this.#tail = new Tail(body);
    this.offers = h("div", { class: "chat-offers", role: "group", "aria-label": "Suggestions" });
    this.root = h(
      "section",
      { class: "chat", "aria-label": "Chat with ShopStream support" },
      h(
        "header",
        { class: "chat-head" },
        h("span", { class: "chat-face" }, icon("chat")),
        h("div", {}, h("h3", {}, "ShopStream support"), this.state),
      ),
      body,
      this.offers,
      this.#composer(),
    );
  }

  #composer() {
    this.input = h("textarea", {
      class: "chat-input",
      rows: "1",
      dir: "auto",
      placeholder: "Ask about an order or a refund",
      "aria-label": "Your message",
      "aria-describedby": "chat-count",
      enterkeyhint: "send",
      on: { input: () => this.#measure(), keydown: (event) => this.#key(event) },
    });
    this.count = h("span", { class: "chat-count", id: "chat-count", role: "status" });
    this.button = h(
      "button",
      { type: "submit", class: "chat-send", disabled: true },
      icon("send"),
      unseen("Send"),
    );
    const submit = (event) => {
      event.preventDefault();
      this.#send(this.input.value);
    };
    return h(
      "form",
      { class: "chat-form", on: { submit } },
      h("div", { class: "chat-box" }, this.input, this.button),
      this.count,
    );
  }

  #key(event) {
    // While an input method composes, Enter picks a word.
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing && event.keyCode !== 229) {
      event.preventDefault();
      this.#send(this.input.value);
    }
  }

  #send(text) {
    if (text.trim() === "" || [...text].length > MAX_CHARACTERS || this.#session === null) {
      return;
    }
    if (text === this.input.value) {
      this.#write("");
    }
    this.#session.send(text);
  }

  #write(text) {
    this.input.value = text;
    this.#measure();
  }

  #measure() {
    const length = [...this.input.value].length;
    const over = length > MAX_CHARACTERS;
    this.count.textContent =
      length > COUNT_FROM ? `${length.toLocaleString()} of ${MAX_CHARACTERS.toLocaleString()}` : "";
    this.count.classList.toggle("over", over);
    this.input.setAttribute("aria-invalid", String(over));
    this.button.disabled = over || this.input.value.trim() === "";
    this.input.style.setProperty("height", "auto");
    this.input.style.setProperty("height", `${this.input.scrollHeight}px`);
  }

  #offer() {
    const offer = (text) =>
      h("button", { type: "button", class: "offer", on: { click: () => this.#send(text) } }, text);
    this.offers.replaceChildren(...this.#suggestions.map(offer));
  }

  #connection(state) {
    this.state.textContent = state === "live" ? "Online" : "Reconnecting …";
    this.state.classList.toggle("lost", state !== "live");
  }

  #greeting() {
    const first = this.#customer.name.split(" ")[0];
    return h(
      "div",
      { class: "turn turn-agent" },
      h("p", { class: "bubble", dir: "auto" }, `Hi ${first}, how can we help with your orders?`),
    );
  }

  #show(event) {
    const draw = {
      message: () => this.#message(event),
      approval: () => this.#approval(event),
      hand_off: () => this.#line(event.data.text ?? "A person from our team takes over.", "person"),
      status: () => this.#status(event.data.status),
    }[event.type];
    if (draw === undefined) {
      return;
    }
    this.#tail.keep(draw);
    if (event.type === "approval" || event.type === "message") {
      this.#onChange();
    }
    if (document.visibilityState === "visible") {
      void this.#session.read(event.seq);
    }
  }

  #message({ seq, at, data }) {
    const isMine = data.role === "customer";
    this.typing.hidden = !isMine;
    const sent = isMine ? this.#takeSending(seq, data.text) : null;
    const node = this.#turn(data, new Date(at));
    if (sent) {
      sent.replaceWith(node);
    } else {
      this.#append(node);
    }
  }

  #turn({ role, text, finish, question, answer_by: answerBy }, at) {
    // A question of the team has its deadline as a moment too, which is drawn in the reader's zone.
    const asks = role === "staff" && question !== undefined && answerBy !== undefined;
    const said = text === "" && finish === "stopped" ? STATUS_WORDS.stopped : text;
    return h(
      "div",
      { class: `turn turn-${role}` },
      role === "staff" ? h("span", { class: "turn-who" }, "From our team") : null,
      h("p", { class: "bubble", dir: "auto" }, asks ? question : said),
      asks ? answerLine(new Date(answerBy)) : null,
      h("time", { class: "turn-at", datetime: at.toISOString() }, clock(at)),
    );
  }

  #showSending(message) {
    const known = this.#mine.find((one) => one.message === message);
    if (known?.taken) {
      return;
    }
    const node = this.#sendingTurn(message);
    this.#tail.keep(() => {
      if (known) {
        known.node.replaceWith(node);
        known.node = node;
      } else {
        this.#mine.push({ message, node, taken: false });
        this.log.append(node);
      }
      this.typing.hidden = message.state === "failed";
    }, !known);
  }

  #sendingTurn(message) {
    const again = () => this.#session.retry(message);
    const state =
      message.state === "failed"
        ? h(
            "span",
            { class: "turn-problem", role: "alert" },
            `Not sent: ${message.problem} `,
            h("button", { type: "button", class: "link", on: { click: again } }, "Try again"),
          )
        : h("span", { class: "turn-at" }, message.state === "sending" ? "Sending …" : "Sent");
    return h(
      "div",
      { class: `turn turn-customer turn-${message.state}` },
      h("p", { class: "bubble", dir: "auto" }, message.text),
      state,
    );
  }

  /** Find this page's own bubble of a stored message. */
  #takeSending(seq, text) {
    const own =
      this.#mine.find((one) => !one.taken && one.message.seq === seq) ??
      this.#mine.find((one) => !one.taken && one.message.seq === null && one.message.text === text);
    if (own === undefined) {
      return null;
    }
    own.taken = true;
    return own.node;
  }

  #approval({ data }) {
    const chip = approvalChip(data, () => this.#session.withdraw(data.approval_id));
    const shown = this.#chips.get(data.approval_id);
    if (shown) {
      shown.replaceWith(chip);
    } else {
      this.#append(chip);
    }
    this.#chips.set(data.approval_id, chip);
  }

  #status(status) {
    this.typing.hidden = status !== "thinking";
    if (STATUS_WORDS[status]) {
      this.#line(STATUS_WORDS[status], "alert");
    }
  }

  #line(text, sign) {
    this.typing.hidden = true;
    this.#append(h("p", { class: "chat-line", dir: "auto" }, icon(sign), h("span", {}, text)));
  }

  /** Add what is stored; what is still on its way stays last. */
  #append(node) {
    const waiting = this.#mine.find((one) => !one.taken);
    this.log.insertBefore(node, waiting?.node ?? null);
  }
}

/** Return the line below a question of the team: until when an answer helps. */
function answerLine(by) {
  const isToday = by.toDateString() === new Date().toDateString();
  const words = isToday ? clock(by) : `${clock(by)}, ${day(by)}`;
  const when = h("time", { datetime: by.toISOString() }, words);
  return h("span", { class: "turn-deadline" }, "Please answer by ", when);
}
