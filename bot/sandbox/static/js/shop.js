/** ShopStream: who is signed in, their orders, and the chat beside them, as any shop has it. */

import { fragment, h, icon, unseen } from "./dom.js";
import { pictureOf, toneOf, wordOf } from "./goods.js";
import { getJson, mayFail, postJson, query } from "./http.js";
import { shortDay } from "./time.js";

const TOKEN_URL = "/sandbox/shop/desk-token";
const REFRESH_AFTER_MS = 150;
const CLOSED = ["cancelled", "unpaid", "refunded"];
const BADGES = {
  cancelled: ["Cancelled", "grey"],
  unpaid: ["Not paid", "grey"],
  partly_refunded: ["Part refunded", "blue"],
  refunded: ["Refunded", "green"],
};

export class Shop {
  #customers = [];
  #customer = null;
  #onMoney;
  #refreshing = null;
  // Signing in is the browser's: the other tabs follow.
  #tabs = new BroadcastChannel("shopstream");

  /** `onMoney` is called whenever money may have moved. */
  constructor(root, onMoney) {
    this.#onMoney = onMoney;
    this.desk = h("support-desk", {
      "token-url": TOKEN_URL,
      inline: true,
      on: { "desk-message": () => this.#later(), "desk-approval": () => this.#later() },
    });
    this.offers = h("div", { class: "offers", role: "group", "aria-label": "Suggestions" });
    this.chat = h("div", { class: "shop-chat" }, this.offers);
    this.picker = h("select", {
      class: "shop-customer",
      id: "customer",
      on: { change: () => void this.#signIn(this.picker.value) },
    });
    this.orders = h("ul", { class: "orders" });
    root.append(
      h(
        "header",
        { class: "shop-head" },
        h("h2", { class: "shop-name" }, h("span", { class: "shop-mark" }, icon("bag")), "ShopStream"),
        h(
          "div",
          { class: "shop-who" },
          h("label", { for: "customer" }, "Signed in as"),
          h("span", { class: "select" }, this.picker, icon("down")),
        ),
      ),
      h(
        "div",
        { class: "shop-body" },
        h("section", { class: "shop-orders", "aria-labelledby": "orders-title" },
          h("h3", { id: "orders-title" }, "Your orders"), this.orders),
        this.chat,
      ),
    );
  }

  /** Load the customers, and go on with whoever is signed in, else with the first of them. */
  async start() {
    const [customers, { customer }] = await Promise.all([
      getJson("/sandbox/shop/customers"),
      getJson("/sandbox/shop/session"),
    ]);
    this.#customers = customers;
    const known = customers.find(({ id }) => id === customer?.id) ?? null;
    const first = known ?? customers[0];
    if (first === undefined) {
      return;
    }
    if (known === null) {
      await postJson("/sandbox/shop/sign-in", { customer_id: first.id });
    }
    const option = ({ id, name }) => h("option", { value: id }, name);
    this.picker.replaceChildren(...customers.map(option));
    this.#show(first.id);
    // Only now: the chat asks at once who is signed in.
    this.chat.prepend(this.desk);
    this.#tabs.addEventListener("message", ({ data: id }) => this.#show(id));
  }

  /** Let somebody else sign in; meanwhile nobody writes as whoever was here. */
  async #signIn(id) {
    this.picker.disabled = this.chat.hidden = true;
    try {
      await postJson("/sandbox/shop/sign-in", { customer_id: id });
      this.#tabs.postMessage(id);
      // Before it has loaded there is nobody's chat in it that could stay.
      void this.desk.reset?.();
      this.#show(id);
    } finally {
      this.picker.value = this.#customer.id;
      this.picker.disabled = this.chat.hidden = false;
    }
  }

  #show(id) {
    this.picker.value = id;
    this.#customer = this.#customers.find((one) => one.id === id);
    this.#draw();
    this.#later();
  }

  /** Look at the orders again, once for several events at a time. */
  #later() {
    clearTimeout(this.#refreshing);
    this.#refreshing = setTimeout(() => this.#refresh(), REFRESH_AFTER_MS);
  }

  async #refresh() {
    const { id, email } = this.#customer;
    this.#onMoney();
    const found = await mayFail(getJson(`/sandbox/shop/customers${query({ q: email })}`));
    const fresh = found?.find((one) => one.id === id);
    if (fresh && this.#customer.id === id) {
      this.#customers = this.#customers.map((one) => (one.id === id ? fresh : one));
      this.#customer = fresh;
      this.#draw();
    }
  }

  #draw() {
    const { orders } = this.#customer;
    this.orders.replaceChildren(...orders.map((order) => this.#order(order)));
    this.offers.replaceChildren(...suggestions(orders).map((text) => this.#offer(text)));
  }

  #offer(text) {
    const click = () => this.desk.compose(text);
    return h("button", { type: "button", class: "offer", on: { click } }, text);
  }

  #order(order) {
    const [words, colour] = badge(order);
    return h(
      "li",
      { class: "order", "data-order": order.id },
      h(
        "div",
        { class: "order-head" },
        h("strong", {}, order.id),
        h("span", { class: "order-date" }, shortDay(new Date(order.placed_at))),
        h("span", { class: `badge badge-${colour}` }, words),
      ),
      h("ul", { class: "order-items" }, order.items.map(item), more(order.items.length - 1)),
      money(order),
      h(
        "button",
        { type: "button", class: "link", on: { click: () => this.desk.compose(`${order.id}: `) } },
        "Get help",
        unseen(` with ${order.id}`),
      ),
    );
  }
}

function item({ name, price, quantity, final_sale: isFinal }) {
  return h(
    "li",
    {},
    h("span", { class: `picture tone-${toneOf(name)}` }, icon(pictureOf(name))),
    h(
      "span",
      { class: "item-name" },
      name,
      isFinal ? h("span", { class: "badge badge-grey" }, "Final sale") : null,
      quantity > 1 ? h("small", {}, `${quantity} × ${price.display}`) : null,
    ),
  );
}

/** Where there is room for one thing only, the others are counted. */
function more(count) {
  return count > 0 ? h("li", { class: "more" }, `and ${count} more`) : null;
}

function money({ total, refunded, remaining }) {
  const share = total.minor > 0 ? Math.min(refunded.minor / total.minor, 1) : 0;
  return fragment(
    h(
      "dl",
      { class: "order-money" },
      h("div", {}, h("dt", {}, "Total"), h("dd", {}, total.display)),
      refunded.minor > 0
        ? fragment(
            h("div", {}, h("dt", {}, "Refunded"), h("dd", {}, refunded.display)),
            h("div", {}, h("dt", {}, "Left"), h("dd", {}, remaining.display)),
          )
        : null,
    ),
    share > 0 ? h("span", { class: "share", vars: { "--share": String(share) } }) : null,
  );
}

function badge({ status, fulfillment, disputed }) {
  if (disputed) {
    return ["Disputed", "red"];
  }
  return BADGES[status] ?? (fulfillment === "fulfilled" ? ["Shipped", "green"] : ["Open", "amber"]);
}

/** Return sentences worth trying with these orders: a small refund, a large one, a question. */
function suggestions(orders) {
  const open = orders.filter(
    (one) => !CLOSED.includes(one.status) && !one.disputed && !one.final_sale && one.remaining.minor > 0,
  );
  const bySize = open.toSorted((a, b) => a.remaining.minor - b.remaining.minor);
  const small = bySize.find((one) => one.total.currency === "USD" && one.remaining.minor >= 500);
  const large = bySize.at(-1);
  const broken = large && (wordOf(large.items[0].name) ?? large.id);
  return [
    small ? `Refund $5 on ${small.id}` : null,
    orders.length > 0 ? "Where is my order?" : null,
    large ? `My ${broken} arrived broken, I want my money back` : null,
  ].filter((text) => text !== null);
}
