/** Slack as one person of the team sees it: channels, messages, Home tab, modals, composer. */

import { drawBlocks } from "./blocks.js";
import { Composer } from "./composer.js";
import { confirmed } from "./confirm.js";
import { h, icon, reconcile, unseen } from "./dom.js";
import { failure } from "./failure.js";
import { FaultsPanel } from "./faults-panel.js";
import { mayFail } from "./http.js";
import { MessageDrawer, avatar } from "./message.js";
import { MessageList } from "./message-list.js";
import { Modal } from "./modal.js";
import { FAULTS, HOME, SlackStore } from "./slack-store.js";
import { ThreadPanel } from "./thread-panel.js";

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
    const drawer = new MessageDrawer(this.#store, act, this.#problems, (ts) => this.#store.dismiss(ts));
    this.list = new MessageList(this.#store, drawer, (ts) => this.#openThread(ts));
    this.thread = new ThreadPanel(this.#store, drawer, () => this.#closeThread());
    this.faults = new FaultsPanel(this.#store, () => this.#store.pull());
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
    this.composer = new Composer(
      "Message or slash command",
      (text) => this.#send(text),
      this.#store.commands,
    );
    this.closed = h("p", { class: "closed", hidden: true }, "This channel is archived.");
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
      this.faults.root,
      this.closed,
      this.composer.root,
    );
    root.append(h("div", { class: "workspace" }, side, h("div", { class: "slack-view" }, place, this.thread.root)));
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

  #send(text) {
    const command = COMMAND.exec(text);
    return command ? this.#store.command(command[1], command[2]) : this.#store.post(text);
  }

  #openThread(ts) {
    this.#store.openThread(ts);
    this.thread.composer.input.focus();
  }

  /** The focus goes back to where the thread was opened from. */
  #closeThread() {
    const ts = this.#store.thread;
    this.#store.openThread(null);
    this.list.root.querySelector(`[data-focus="thread/${ts}"]`)?.focus();
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
    if (key === "modal") {
      this.modal.say(this.#problems.get(key) ?? "");
    }
    this.#draw();
  }

  #become(person) {
    sessionStorage.setItem(REMEMBERED, person.id);
    void mayFail(this.#store.become(person));
  }

  #go(place) {
    this.composer.say("");
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
    const channel = this.#store.channel(place);
    this.offline.hidden = this.#store.isLive;
    this.#drawPlaces();
    this.modal.show(views.at(-1) ?? null);
    this.list.root.hidden = !channel;
    this.homeView.hidden = place !== HOME;
    this.faults.root.hidden = place !== FAULTS;
    this.composer.root.hidden = !channel || channel.is_archived;
    this.closed.hidden = !channel?.is_archived;
    this.thread.show(channel, this.#store.thread);
    if (place === HOME) {
      this.#drawHome();
    } else if (place === FAULTS) {
      this.title.replaceChildren(icon("alert"), "What can go wrong");
      this.topic.textContent = "Around the bot, in this sandbox only";
      this.faults.show();
    } else if (channel) {
      this.#drawChannel(channel);
    }
    this.#onNews(channels.some(({ id }) => this.#store.isUnread(id)));
  }

  #drawChannel(channel) {
    const name = channel.is_im ? this.#store.app.name : channel.name;
    this.title.replaceChildren(channel.is_im ? "" : icon(signOf(channel)), name);
    this.topic.textContent = [channel.topic, ...oddities(channel)].filter(Boolean).join(" · ");
    this.composer.input.placeholder = "Message, or / for a command";
    this.list.show(channel.id);
  }

  #drawPlaces() {
    const { channels, place, app } = this.#store;
    const places = [
      ...channels.map((channel) => ({
        id: channel.id,
        name: channel.is_im ? app.name : channel.name,
        sign: signOf(channel),
        odd: oddities(channel).join(", "),
        isUnread: this.#store.isUnread(channel.id),
      })),
      { id: HOME, name: `${app.name} Home`, sign: "home", odd: "", isUnread: false },
      { id: FAULTS, name: "What can go wrong", sign: "alert", odd: "", isUnread: false },
    ];
    const items = places.map((one) => ({
      key: one.id,
      signature: JSON.stringify([one, one.id === place]),
      render: () => this.#placeRow(one, one.id === place),
    }));
    reconcile(this.places, items, this.#placesMarks);
  }

  #placeRow({ id, name, sign, odd, isUnread }, isCurrent) {
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
        h("span", {}, name, odd ? unseen(` (${odd})`) : null),
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
      people: this.#store.people,
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

function signOf({ is_im: isIm, is_archived: isArchived, is_private: isPrivate }) {
  if (isIm) {
    return "chat";
  }
  return isArchived ? "archive" : isPrivate ? "lock" : "hash";
}

/** Return what is not as it should be with a channel. */
function oddities({ is_im: isIm, is_archived: isArchived, is_member: isMember, is_ext_shared: isShared }) {
  if (isIm) {
    return [];
  }
  return [
    isArchived ? "archived" : null,
    isMember ? null : "without the bot",
    isShared ? "shared with another company" : null,
  ].filter(Boolean);
}
