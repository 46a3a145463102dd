// @ts-check
/**
 * The element `<support-desk>`: a shop's customers chat with the support desk.
 *
 *     <script type="module" src="https://desk.example/widget/v1/desk.js"></script>
 *     <support-desk token-url="/desk-token"></support-desk>
 *
 * A page loads the button and the conversation; the panel comes when it is opened.
 */

import { button, h, icon, say, unseen } from "./dom.js";
import { Backoff } from "./http.js";
import { launcherStyle } from "./launcher-style.js";
import { Session } from "./session.js";
import { Words } from "./words.js";

const HASH = "#support-desk";
const REMEMBERED = "support-desk open";
const MOST_SHOWN = 9;

class SupportDesk extends HTMLElement {
  static observedAttributes = ["token-url", "open"];

  #life = new AbortController();
  /** @type {Words | null} */
  #words = null;
  /** @type {Session | null} */
  #session = null;
  /** @type {import("./panel.js").Panel | null} */
  #panel = null;
  /** @type {Promise<void> | null} */
  #loading = null;
  #launcher = button({});
  #label = unseen("");
  #badge = h("span", { class: "badge", "aria-hidden": "true" });
  #isOpen = false;
  #isDue = false;
  #unread = -1;
  #isSignedOut = false;
  /** What was asked for before there was a panel. @type {string[]} */
  #texts = [];

  connectedCallback() {
    this.#life = new AbortController();
    void this.#start(this.#life.signal);
  }

  disconnectedCallback() {
    this.#life.abort();
    this.#session?.close();
    this.#session = this.#panel = this.#loading = null;
    this.shadowRoot?.replaceChildren();
  }

  /** @param {string} name @param {string | null} before @param {string | null} now */
  attributeChangedCallback(name, before, now) {
    if (name === "open") {
      this.#show(now !== null, false);
    } else if (before !== now) {
      this.#session?.identify(now);
    }
  }

  /** Show the panel. */
  open() {
    this.#show(true, true);
  }

  /** Put the panel away. */
  close() {
    this.#show(false, true);
  }

  /** Somebody has signed in or out: forget who was here. A visitor who signs in keeps the chat. */
  async reset() {
    await this.#session?.reset();
  }

  /** Show the panel with a text ready to be sent. @param {string} text */
  compose(text) {
    this.#texts.push(text);
    this.open();
    this.#handTexts();
  }

  /** How many messages were not read. */
  get unread() {
    return this.#session?.log.unread ?? 0;
  }

  /** @param {AbortSignal} signal */
  async #start(signal) {
    const own = new URL("../../", import.meta.url);
    const base = new URL(this.getAttribute("base") ?? own, document.baseURI);
    const asked = this.getAttribute("lang") || document.documentElement.lang;
    const words = new Words(asked || navigator.language);
    const hasWords = await words.load();
    if (signal.aborted) {
      return;
    }
    const place = { base, tokenUrl: this.getAttribute("token-url"), language: words.tag };
    const session = new Session(place, {
      wipe: () => this.#panel?.wipe(),
      event: (event, isNew) => this.#heard(event, isNew),
      changed: () => this.#soon(),
    });
    this.#words = words;
    this.#session = session;
    this.#mount(signal);
    if (!hasWords) {
      session.block();
      await this.#findWords(words, signal);
    }
    await session.start();
  }

  /**
   * Until there are words, the little that is known without them has to do.
   * @param {Words} words @param {AbortSignal} signal
   */
  async #findWords(words, signal) {
    const backoff = new Backoff();
    do {
      await backoff.wait(signal);
    } while (!signal.aborted && !(await words.load()));
    if (!signal.aborted) {
      this.#panel = this.#loading = null;
      this.#mount(signal);
    }
  }

  /** @param {AbortSignal} signal */
  #mount(signal) {
    const words = /** @type {Words} */ (this.#words);
    const root = this.shadowRoot ?? this.attachShadow({ mode: "open" });
    root.adoptedStyleSheets = [launcherStyle];
    this.#launcher = button(
      {
        class: "launcher",
        "aria-expanded": "false",
        "aria-controls": "panel",
        click: () => this.#show(!this.#isOpen, true),
        pointerenter: () => void this.#load(),
        focus: () => void this.#load(),
      },
      icon("chat"),
      this.#label,
      this.#badge,
    );
    const look = { class: "desk", lang: words.language, dir: words.direction };
    root.replaceChildren(h("div", look, this.#launcher));
    const byHash = () => location.hash === HASH && this.#show(true, false);
    window.addEventListener("hashchange", byHash, { signal });
    document.addEventListener("visibilitychange", () => this.#update(), { signal });
    this.#isOpen = false;
    this.#show(recall() || this.hasAttribute("open"), false);
    byHash();
    this.#update();
  }

  /** Load the panel, once. */
  #load() {
    this.#loading ??= this.#fetchPanel().catch((error) => {
      // The next click tries again.
      this.#loading = null;
      this.close();
      reportError(error);
    });
    return this.#loading;
  }

  async #fetchPanel() {
    const [words, session, { signal }] = [this.#words, this.#session, this.#life];
    const { Panel } = await import("./panel.js");
    if (signal.aborted || !words || !session) {
      return;
    }
    const panel = new Panel(words, session, () => this.close(), this.#isInline);
    this.#panel = panel;
    panel.watch(signal);
    const root = /** @type {ShadowRoot} */ (this.shadowRoot);
    root.adoptedStyleSheets = [launcherStyle, Panel.style];
    root.querySelector(".desk")?.prepend(panel.root);
    this.#handTexts();
  }

  #handTexts() {
    for (const text of this.#panel ? this.#texts.splice(0) : []) {
      this.#panel?.composer.restore(text);
    }
  }

  /** Whether the panel is a part of the page, always there. */
  get #isInline() {
    return this.hasAttribute("inline");
  }

  /** @param {boolean} isWanted @param {boolean} isByHand whether the focus may move */
  #show(isWanted, isByHand) {
    const isOpen = isWanted || this.#isInline;
    if (!this.#session || isOpen === this.#isOpen) {
      this.toggleAttribute("open", isOpen);
      return;
    }
    this.#isOpen = isOpen;
    this.toggleAttribute("open", isOpen);
    this.#launcher.setAttribute("aria-expanded", String(isOpen));
    if (!this.#isInline) {
      remember(isOpen);
    }
    void this.#load()?.then(() => {
      this.#panel?.show(this.#isOpen, isByHand);
      this.#update();
    });
    if (!isOpen && isByHand) {
      this.#launcher.focus();
    }
    this.#tell(isOpen ? "desk-open" : "desk-close", {});
  }

  /** @param {any} event @param {boolean} isNew */
  #heard(event, isNew) {
    this.#panel?.add(event, isNew);
    // What somebody wrote is nobody's business on the page.
    const { role, approval_id, status } = event.data;
    if (isNew && event.type === "message") {
      this.#tell("desk-message", { role });
    } else if (isNew && event.type === "approval") {
      this.#tell("desk-approval", { approval_id, status });
    }
  }

  /** Draw once for everything that comes at a time; a page out of sight gets no frames. */
  #soon() {
    if (!this.#isDue) {
      this.#isDue = true;
      const draw = () => {
        this.#isDue = false;
        this.#update();
      };
      if (document.hidden) {
        setTimeout(draw);
      } else {
        requestAnimationFrame(draw);
      }
    }
  }

  #update() {
    const [words, session, panel] = [this.#words, this.#session, this.#panel];
    if (!words || !session) {
      return;
    }
    if (panel && this.#isOpen && !document.hidden) {
      session.read();
    }
    panel?.update();
    const { unread } = session.log;
    this.#badge.hidden = unread === 0;
    say(this.#badge, unread > MOST_SHOWN ? `${words.number(MOST_SHOWN)}+` : words.number(unread));
    const news = unread ? `. ${words.say("unread", { n: unread })}` : "";
    say(this.#label, words.say("title") + news);
    if (unread !== this.#unread) {
      this.#unread = unread;
      this.#tell("desk-unread", { count: unread });
    }
    const isSignedOut = session.connection === "signin";
    if (isSignedOut && !this.#isSignedOut) {
      this.#tell("desk-signin", {});
    }
    this.#isSignedOut = isSignedOut;
  }

  /** @param {string} name @param {any} detail */
  #tell(name, detail) {
    this.dispatchEvent(new CustomEvent(name, { bubbles: true, composed: true, detail }));
  }
}

/** @param {boolean} isOpen */
function remember(isOpen) {
  try {
    sessionStorage.setItem(REMEMBERED, String(isOpen));
  } catch {
    // Then the next page starts with what its attribute says.
  }
}

function recall() {
  try {
    return sessionStorage.getItem(REMEMBERED) === "true";
  } catch {
    return false;
  }
}

if (!customElements.get("support-desk")) {
  customElements.define("support-desk", SupportDesk);
}
