/** The shop's own script: who is signed in, their orders, and a button that copies. */

import { h } from "../js/dom.js";
import { getJson, postJson } from "../js/http.js";
import { shortDay } from "../js/time.js";

const find = (selector) => document.querySelector(selector);
const desk = find("support-desk");
const lines = find("#lines");
const picker = find("#customer");

// Another page loads the chat from the desk's full address.
lines.textContent = lines.textContent.replace('src="/', `src="${location.origin}/`);

find("#copy").addEventListener("click", async () => {
  try {
    await navigator.clipboard.writeText(lines.textContent);
    find("#copied").textContent = "Copied.";
  } catch {
    getSelection().selectAllChildren(lines);
    find("#copied").textContent = "This browser does not let a page copy: the lines are selected.";
  }
});

const customers = await getJson("/sandbox/shop/customers");
picker.append(...customers.map(({ id, name }) => h("option", { value: id }, name)));
let customer = null;
show((await getJson("/sandbox/shop/session")).customer);

find("#account").addEventListener("submit", async (event) => {
  event.preventDefault();
  if (customer === null) {
    show((await postJson("/sandbox/shop/sign-in", { customer_id: picker.value })).customer);
  } else {
    await postJson("/sandbox/shop/sign-out", {});
    show(null);
  }
  // Before it has loaded there is nobody's chat in it that could stay.
  desk.reset?.();
});

function show(found) {
  customer = found;
  picker.disabled = found !== null;
  picker.value = found?.id ?? picker.value;
  find("#enter").textContent = found ? "Sign out" : "Sign in";
  find("#who").textContent = found
    ? `Welcome back, ${found.name}. You are signed in as ${found.email}.`
    : "You are a visitor here. You can ask in the chat; refunds need you to sign in.";
  const orders = customers.find(({ id }) => id === found?.id)?.orders ?? [];
  find("#orders").hidden = orders.length === 0;
  find("#orders ul").replaceChildren(...orders.map(order));
}

function order({ id, placed_at: placedAt, total, items }) {
  return h(
    "li",
    {},
    h("strong", {}, id),
    h("span", {}, shortDay(new Date(placedAt))),
    h("span", {}, items.map(({ name }) => name).join(", ")),
    h("span", {}, total.display),
  );
}
