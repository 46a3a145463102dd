/** Slack as one person of the team sees it: channels, messages, Home tab, modals, composer. */

import { drawBlocks } from "./blocks.js";
import { confirmed } from "./confirm.js";
import { h, icon, reconcile, unseen } from "./dom.js";
import { mayFail } from "./http.js";
import { MessageList, avatar } from "./message-list.js";
import { Modal } from "./modal.js";
import { HOME, SlackStore } from "./slack-store.js";

const REMEMBERED = "person";
const ARCHIVE = /\/sandbox\/slack\/archives\/(\w+)\/p(\d+)(\d{6})$/;
const DEEP = /^#slack\/(\w+)\/([\d.]+)$/;
const COMMAND = /^(\/\S+)\s*(.*)$/s;
const ROLE_WORDS = { refund_approver: "approver", refund_manager: "manager", oncall: "on call" };

export class SlackPanel {
  #store;
  #onNews;
  #problems = new Map();
  #placesMarks = new Map();
  #homeMarks = new Map();

  /** `onNews(isNews)` says whether something is unread anywhere; `onChange` that Slack changed. */
  constructor(root, workspace, { onNews, onChange }) {
    this.#onNews = onNews;
    const isInView = () => root.checkVisibility();
    this.#store = new SlackStore(workspace, isInView, () => {
      this.#draw();
      onChange();
    });
    const last = sessionStorage.getItem(REMEMBERED);
    this.#store.me = this.#store.people.find((one) => one.id === last) ?? this.#store.me;
    const act = (send, what, key) => this.#act(send, what, key);
    this.list = new MessageList(this.#store, act, this.#problems);
    this.modal = new Modal(this.#store, (send, what) => this.#act(send, what, "modal"));
    this.#build(root);
    root.addEventListener("click", (event) => this.#followHere(event));
    window.addEventListener("hashchange", () => this.#goToHash());
  }

  async start() {
    void this.#store.watch();
    await mayFail(this.#store.pull());
    this.#goToHash();
  }

  /** Slack has come into view. */
  look() {
    this.#store.look();
  }

  #build(root) {
    this.places = h("ul", { class: "places" });
    this.title = h("h3", { class: "place-title" });
    this.topic = h("p", { class: "place-topic" });
    this.offline = h("p", { class: "offline", role: "status", hidden: true }, "Reconnecting …");
    this.homeView = h("div", { class: "home", tabindex: "0", "aria-label": "Home" });
    const side = h(
      "aside",
      { class: "side" },
      h("h2", { class: "side-name" }, this.#store.name, h("small", {}, "Slack, played on this machine")),
      h("nav", { "aria-label": "Channels and apps" }, this.places),
      this.#people(),
    );
    const place = h(
      "div",
      { class: "place" },
      h("header", { class: "place-head" }, h("div", {}, this.title, this.topic), this.offline),
      this.list.root,
      this.homeView,
      this.#composer(),
    );
    root.append(h("div", { class: "workspace" }, side, place));
  }

  #people() {
    const row = (person) =>
      h(
        "label",
        { class: "person" },
        h("input", {
          type: "radio",
          name: "person",
          value: person.id,
          checked: person === this.#store.me,
          on: { change: () => this.#become(person) },
        }),
        avatar(person),
        h(
          "span",
          { class: "person-words" },
          h("span", { class: "person-name" }, person.name),
          h("small", {}, roleOf(person)),
        ),
      );
    return h(
      "fieldset",
      { class: "people" },
      h("legend", {}, "You are"),
      h("div", { class: "people-list" }, this.#store.people.map(row)),
    );
  }

  #composer() {
    this.input = h("textarea", {
      class: "said-input",
      rows: "1",
      dir: "auto",
      enterkeyhint: "send",
      "aria-label": "Message or slash command",
      on: { keydown: (event) => this.#key(event), input: () => this.#say("") },
    });
    this.trouble = h("p", { class: "trouble", role: "alert", hidden: true });
    this.form = h(
      "form",
      { class: "said-form", on: { submit: (event) => this.#send(event) } },
      this.trouble,
      h(
        "div",
        { class: "said-box" },
        this.input,
        h("button", { type: "submit", class: "said-send" }, icon("send"), unseen("Send")),
      ),
    );
    return this.form;
  }

  #key(event) {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing && event.keyCode !== 229) {
      event.preventDefault();
      this.form.requestSubmit();
    }
  }

  async #send(event) {
    event.preventDefault();
    const text = this.input.value.trim();
    if (text === "") {
      return;
    }
    this.input.value = "";
    const command = COMMAND.exec(text);
    try {
      const answer = command
        ? await this.#store.command(command[1], command[2])
        : await this.#store.post(text);
      this.#say(answer.problem ? failure(answer) : "");
    } catch (problem) {
      this.input.value = text;
      this.#say(problem.message);
    }
  }

  #say(text) {
    this.trouble.hidden = text === "";
    this.trouble.replaceChildren(...(text === "" ? [] : [icon("alert"), text]));
  }

  async #act(send, { element, blockId, value, source }, key) {
    const { confirm } = element;
    if (confirm && !(await confirmed(confirm, this.#store.names))) {
      return;
    }
    source.setAttribute("aria-busy", "true");
    this.#problems.delete(key);
    try {
      const answer = await send({ action_id: element.action_id, block_id: blockId, value });
      if (answer.problem) {
        this.#problems.set(key, failure(answer));
      }
    } catch (problem) {
      this.#problems.set(key, problem.message);
    }
    source.removeAttribute("aria-busy");
    this.#draw();
  }

  #become(person) {
    sessionStorage.setItem(REMEMBERED, person.id);
    void mayFail(this.#store.become(person));
  }

  #go(place) {
    this.#say("");
    void mayFail(this.#store.go(place));
  }

  /** A link to a message of this workspace leads there instead of loading the page anew. */
  #followHere(event) {
    const anchor = event.target.closest?.("a[href]");
    const found = anchor?.origin === location.origin && ARCHIVE.exec(anchor.pathname);
    if (found) {
      event.preventDefault();
      void mayFail(this.#reveal(found[1], `${found[2]}.${found[3]}`));
    }
  }

  #goToHash() {
    const found = DEEP.exec(location.hash);
    if (found) {
      void mayFail(this.#reveal(found[1], found[2]));
    }
  }

  async #reveal(channelId, ts) {
    if (this.#store.channel(channelId)) {
      await this.#store.go(channelId);
      this.list.reveal(ts);
    }
  }

  #draw() {
    const { place, channels, views } = this.#store;
    const isHome = place === HOME;
    this.offline.hidden = this.#store.isLive;
    this.#drawPlaces();
    this.modal.show(views.at(-1) ?? null);
    this.list.root.hidden = isHome;
    this.homeView.hidden = !isHome;
    this.form.hidden = isHome;
    if (isHome) {
      this.#drawHome();
    } else if (place) {
      const channel = this.#store.channel(place);
      const name = channel?.is_im ? this.#store.app.name : (channel?.name ?? "");
      this.title.replaceChildren(channel?.is_im ? "" : icon("hash"), name);
      this.topic.textContent = channel?.topic ?? "";
      this.input.placeholder = "Message, or /refunds help";
      this.list.show(place);
    }
    this.#onNews(channels.some(({ id }) => this.#store.isUnread(id)));
  }

  #drawPlaces() {
    const { channels, place, app } = this.#store;
    const places = [
      ...channels.map(({ id, name, is_im: isIm }) => ({
        id,
        name: isIm ? app.name : name,
        sign: isIm ? "chat" : "hash",
        isUnread: this.#store.isUnread(id),
      })),
      { id: HOME, name: `${app.name} Home`, sign: "home", isUnread: false },
    ];
    const items = places.map((one) => ({
      key: one.id,
      signature: JSON.stringify([one, one.id === place]),
      render: () => this.#placeRow(one, one.id === place),
    }));
    reconcile(this.places, items, this.#placesMarks);
  }

  #placeRow({ id, name, sign, isUnread }, isCurrent) {
    return h(
      "li",
      {},
      h(
        "button",
        {
          type: "button",
          class: isUnread ? "place-row unread" : "place-row",
          "aria-current": isCurrent ? "page" : null,
          "data-focus": id,
          on: { click: () => this.#go(id) },
        },
        icon(sign),
        h("span", {}, name),
        isUnread ? h("i", { class: "dot" }, unseen("unread")) : null,
      ),
    );
  }

  #drawHome() {
    const { home, app } = this.#store;
    this.title.replaceChildren(icon("home"), `${app.name} Home`);
    this.topic.textContent = "What waits for a person, for you alone";
    const problem = this.#problems.get("home") ?? null;
    const items = home
      ? [
          {
            key: "home",
            signature: JSON.stringify([home.id, home.hash, problem]),
            render: () => h("div", {}, this.#homeBlocks(home), trouble(problem)),
          },
        ]
      : [];
    reconcile(this.homeView, items, this.#homeMarks);
  }

  #homeBlocks(home) {
    return drawBlocks(home.blocks, {
      key: "home",
      names: this.#store.names,
      act: (element, blockId, value, source) =>
        this.#act(
          (act) => this.#store.clickView(home.id, act),
          { element, blockId, value, source },
          "home",
        ),
    });
  }
}

function trouble(text) {
  return text ? h("p", { class: "trouble", role: "alert" }, icon("alert"), text) : null;
}

/** Return a person's role at the desk in words. */
function roleOf({ roles, guest, title }) {
  if (roles.length > 0) {
    return roles.map((role) => ROLE_WORDS[role] ?? role.replaceAll("_", " ")).join(", ");
  }
  return guest ? "guest" : title.toLowerCase();
}

/** Return what Slack shows for an answer that is no acknowledgement, and the reason beside it. */
function failure({ problem, status, body, ms }) {
  const reason = status === 0 ? `${body} after ${Math.round(ms)} ms` : `status ${status}`;
  return status === 200 ? problem : `${problem} (${reason})`;
}
