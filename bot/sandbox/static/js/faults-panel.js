/** What can go wrong around the bot: calls that fail, channels, user groups, its installation. */

import { h, icon, reconcile } from "./dom.js";
import { getJson, isProblem, mayFail, postJson } from "./http.js";

const SLACK = "/sandbox/slack";
const PAYMENTS = "/sandbox/payments/faults";
/** Ways for a call to fail: what people call it, and the order for the stand-in. */
const KINDS = [
  ["Rate limited, try again in 3 s", { status: 429, retry_after: 3 }],
  ["Slack fails (500)", { status: 500 }],
  ["It lands, but nobody hears of it (500)", { status: 500, landed: true }],
  ["It lands, the answer comes after 20 s", { delay_s: 20 }],
  ["invalid_blocks", { error: "invalid_blocks" }],
  ["message_not_found", { error: "message_not_found" }],
  ["not_in_channel", { error: "not_in_channel" }],
  ["channel_not_found", { error: "channel_not_found" }],
  ["hash_conflict", { error: "hash_conflict" }],
  ["expired_trigger_id", { error: "expired_trigger_id" }],
  ["missing_scope", { error: "missing_scope" }],
];
const PAYMENT_KINDS = [
  ["timeout_after", "It is paid, but the answer is lost"],
  ["timeout_before", "Nothing is paid, and no answer comes"],
  ["error_500", "The provider fails (500)"],
  ["declined", "The provider declines"],
  ["slow", "The provider is slow"],
];
const TOKENS = [
  ["", "valid"],
  ["token_revoked", "revoked"],
  ["account_inactive", "app uninstalled"],
  ["invalid_auth", "unknown to Slack"],
];
const STATES = [
  ["is_archived", "archived", true],
  ["is_member", "bot removed", false],
  ["is_ext_shared", "shared with another company", true],
];

export class FaultsPanel {
  #store;
  #changed;
  #marks = new Map();
  #methods = [];
  #seen = { faults: [], groups: [], app: null };
  #reading = false;

  /** `changed()` is called after something around the bot has become different. */
  constructor(store, changed) {
    this.#store = store;
    this.#changed = changed;
    this.said = h("p", { class: "faults-said", role: "status" });
    this.body = h("div", { class: "faults-body" });
    this.root = h(
      "div",
      { class: "faults", tabindex: "0", role: "region", "aria-label": "What can go wrong", hidden: true },
      h("p", { class: "faults-lead" }, "Nothing here is Slack: this is where the stand-in is told to misbehave."),
      this.said,
      this.body,
    );
  }

  /** Show how things stand; what this page does not hear of by itself is read each time. */
  show() {
    this.#draw();
    void mayFail(this.#read());
  }

  async #read() {
    if (this.#reading) {
      return;
    }
    this.#reading = true;
    try {
      const [faults, groups, app] = await Promise.all([
        getJson(`${SLACK}/faults`),
        getJson(`${SLACK}/groups`),
        getJson(`${SLACK}/app`),
      ]);
      if (this.#methods.length === 0) {
        this.#methods = (await getJson(`${SLACK}/methods`)).methods;
      }
      this.#seen = { faults, groups, app };
      this.#draw();
    } finally {
      this.#reading = false;
    }
  }

  #draw() {
    const { faults, groups, app } = this.#seen;
    const channels = this.#store.channels.filter((one) => !one.is_im);
    const part = (key, value, render) => ({ key, signature: JSON.stringify(value), render });
    reconcile(
      this.body,
      [
        part("calls", [this.#methods, faults], () => this.#calls(faults)),
        part("channels", channels, () => this.#channels(channels)),
        part("groups", groups, () => this.#groups(groups)),
        part("app", app, () => this.#app(app)),
        part("payments", null, () => this.#payments()),
      ],
      this.#marks,
    );
  }

  #calls(faults) {
    const method = select("Method", this.#methods.map((one) => [one, one]), "chat.postMessage");
    const kind = select("What happens", KINDS.map(([words], at) => [String(at), words]));
    const times = h("input", { type: "number", class: "entry", min: "1", max: "99", value: "1", id: "fault-times" });
    const order = (event) => {
      event.preventDefault();
      const [words, fault] = KINDS[Number(kind.field.value)];
      const body = { method: method.field.value, times: Number(times.value) || 1, ...fault };
      void this.#do(`${SLACK}/faults`, body, `The next ${body.method}: ${words}.`);
    };
    const clear = () => this.#do(`${SLACK}/faults/clear`, {}, "Every call works again.");
    return section(
      "Calls of the Web API",
      h(
        "form",
        { class: "faults-form", on: { submit: order } },
        method.node,
        kind.node,
        labelled("Times", times, "fault-times"),
        h("button", { class: "block-button", type: "submit", "data-focus": "order" }, "Let it fail"),
      ),
      faults.length > 0
        ? h(
            "div",
            { class: "faults-waiting" },
            h("ul", {}, faults.map((one) => h("li", {}, orderWords(one)))),
            button("Let all calls work again", clear),
          )
        : h("p", { class: "faults-none" }, "No call is going to fail."),
    );
  }

  #channels(channels) {
    const row = (channel) =>
      boxes(
        `#${channel.name}`,
        STATES.map(([name, words, isWrong]) =>
          box(words, channel[name] === isWrong, `${channel.id}/${name}`, (isOn) =>
            this.#do(
              `${SLACK}/channels`,
              { channel: channel.id, [name]: isOn === isWrong },
              `#${channel.name}: ${isOn ? words : `not ${words} any more`}.`,
            ),
          ),
        ),
      );
    return section("Channels", channels.map(row));
  }

  #groups(groups) {
    const row = (group) =>
      boxes(
        `@${group.handle}`,
        this.#store.people.map((person) => {
          const words = person.name.split(" ")[0];
          const isIn = group.members.includes(person.id);
          return box(words, isIn, `${group.id}/${person.id}`, (isOn) => {
            const others = group.members.filter((one) => one !== person.id);
            const members = isOn ? [...others, person.id] : others;
            const told = `${words} is ${isOn ? "now" : "no longer"} in @${group.handle}`;
            const body = { group: group.id, members };
            return this.#do(`${SLACK}/groups`, body, `${told}; the desk looks every 20 s.`);
          });
        }),
      );
    return section("User groups", groups.map(row));
  }

  #app(app) {
    if (app === null) {
      return section("The app");
    }
    const token = select("Bot token", TOKENS, app.error ?? "");
    token.field.dataset.focus = "token";
    token.field.addEventListener("change", () =>
      this.#do(`${SLACK}/app`, { error: token.field.value }, `The token is ${labelOf(TOKENS, token.field.value)}.`),
    );
    return section(
      "The app",
      token.node,
      box("One post a second in a channel, bursts of five", app.burst !== null, "burst", (isOn) =>
        this.#do(`${SLACK}/app`, { burst: isOn ? 5 : null }, isOn ? "Posts are paced." : "Posts are not paced."),
      ),
      boxes(
        "Scopes it has",
        app.scopes.map((scope) =>
          box(scope, true, `scope/${scope}`, () =>
            this.#do(
              `${SLACK}/app`,
              { scopes: app.scopes.filter((one) => one !== scope) },
              `${scope} is gone until the desk starts again.`,
            ),
          ),
        ),
      ),
    );
  }

  #payments() {
    const kind = select("The next refund", PAYMENT_KINDS);
    const order = (event) => {
      event.preventDefault();
      const body = { kind: kind.field.value, times: 1 };
      void this.#do(PAYMENTS, body, `The next refund: ${labelOf(PAYMENT_KINDS, body.kind)}.`);
    };
    return section(
      "The payment provider",
      h(
        "form",
        { class: "faults-form", on: { submit: order } },
        kind.node,
        h("button", { class: "block-button", type: "submit" }, "Let it happen"),
      ),
    );
  }

  async #do(path, body, words) {
    try {
      await postJson(path, body);
      this.said.replaceChildren(icon("check"), words);
    } catch (problem) {
      if (!isProblem(problem)) {
        throw problem;
      }
      this.said.replaceChildren(icon("alert"), problem.message);
    }
    await mayFail(this.#read());
    await mayFail(this.#changed());
  }
}

function section(title, ...children) {
  return h("section", { class: "faults-section" }, h("h4", {}, title), children);
}

function select(label, options, chosen = options[0]?.[0]) {
  const id = `fault-${label.toLowerCase().replaceAll(" ", "-")}`;
  const field = h(
    "select",
    { id },
    options.map(([value, words]) => h("option", { value, selected: value === chosen }, words)),
  );
  return { field, node: labelled(label, h("span", { class: "select" }, field, icon("down")), id) };
}

function labelled(label, node, id) {
  return h("div", { class: "faults-field" }, h("label", { for: id }, label), node);
}

function boxes(legend, rows) {
  return h("fieldset", { class: "faults-boxes" }, h("legend", {}, legend), rows);
}

function box(words, isOn, focus, change) {
  const input = h("input", {
    type: "checkbox",
    checked: isOn,
    "data-focus": focus,
    on: { change: () => void change(input.checked) },
  });
  return h("label", { class: "faults-box" }, input, h("span", {}, words));
}

function button(words, click) {
  return h("button", { type: "button", class: "link", on: { click } }, words);
}

function labelOf(options, value) {
  return options.find(([one]) => one === value)[1];
}

function orderWords({ method, error, status, times, retry_after: after, delay_s: delay, landed }) {
  const what = error ?? (status ? `HTTP ${status}` : `answers after ${delay} s`);
  const more = [landed ? "lands all the same" : null, after ? `try again in ${after} s` : null];
  return `${method}: ${[what, ...more].filter(Boolean).join(", ")} (${times} ${times === 1 ? "time" : "times"})`;
}
