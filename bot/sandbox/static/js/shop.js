/** ShopStream: who is signed in, their orders, and the chat beside them. */

import { ChatPanel } from "./chat-panel.js";
import { fragment, h, icon, unseen } from "./dom.js";
import { pictureOf, toneOf, wordOf } from "./goods.js";
import { getJson, mayFail, query } from "./http.js";
import { shortDay } from "./time.js";

const REMEMBERED = "customer";
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

  /** `onMoney` is called whenever money may have moved. */
  constructor(root, onMoney) {
    this.#onMoney = onMoney;
    this.chat = new ChatPanel(() => this.#later());
    this.picker = h("select", {
      class: "shop-customer",
      id: "customer",
      on: { change: () => this.#pick(this.picker.value) },
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
        this.chat.root,
      ),
    );
  }

  /** Load the customers and sign the last one in again, else the first. */
  async start() {
    this.#customers = await getJson("/sandbox/shop/customers");
    const option = ({ id, name }) => h("option", { value: id }, name);
    this.picker.replaceChildren(...this.#customers.map(option));
    const last = sessionStorage.getItem(REMEMBERED);
    const known = this.#customers.find((one) => one.id === last) ?? this.#customers[0];
    if (known) {
      this.picker.value = known.id;
      this.#pick(known.id);
    }
  }

  #pick(id) {
    sessionStorage.setItem(REMEMBERED, id);
    this.#customer = this.#customers.find((one) => one.id === id);
    this.#draw();
    void this.chat.open(this.#customer, suggestions(this.#customer.orders));
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
      this.chat.suggest(suggestions(fresh.orders));
    }
  }

  #draw() {
    this.orders.replaceChildren(...this.#customer.orders.map((order) => this.#order(order)));
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
        { type: "button", class: "link", on: { click: () => this.chat.prefill(`${order.id}: `) } },
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
