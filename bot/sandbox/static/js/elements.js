/** Block elements a person acts on: buttons, menus, choices and inputs. */

import { h, icon } from "./dom.js";
import { decode, textNodes } from "./text.js";

/**
 * Draw an element. `surface` says where it stands: `key` tells it from others on the page, `names`
 * knows whom mentions mean, `act(element, blockId, value, source)` acts on it, and with `isInput`
 * it is part of a form instead.
 */
export function element(one, blockId, surface) {
  const draw = {
    button,
    static_select: select,
    radio_buttons: choices,
    checkboxes: choices,
    overflow,
    datepicker: dated,
    plain_text_input: typed,
    number_input: numbered,
    image,
  }[one.type];
  return draw
    ? draw(one, blockId, surface)
    : h("span", { class: "undrawn" }, `(${one.type} is not drawn here)`);
}

/** Return the entry of each element of a form by block and action: text, value, values or null. */
export function entries(form) {
  const values = {};
  for (const node of form.querySelectorAll("[data-entry]")) {
    const { block, action } = node.dataset;
    values[block] ??= {};
    values[block][action] = read(node);
  }
  return values;
}

/** Draw a picture of this origin; another one's is named, since the page loads nothing from there. */
export function image({ image_url: url, alt_text: alt }) {
  const here = url.startsWith("data:image/") || url.startsWith(`${location.origin}/`);
  return here
    ? h("img", { class: "picture-block", src: url, alt, loading: "lazy" })
    : h("span", { class: "undrawn" }, `Image: ${alt}`);
}

function read(node) {
  if (node.dataset.entry === "one") {
    return node.querySelector("input:checked")?.value ?? null;
  }
  if (node.dataset.entry === "many") {
    return [...node.querySelectorAll("input:checked")].map((box) => box.value);
  }
  return node.value === "" ? null : node.value;
}

function plainOf(object) {
  return decode(object?.text ?? "");
}

function marks(one, blockId) {
  return {
    "data-block": blockId,
    "data-action": one.action_id,
    // A redrawn card has new block ids.
    "data-focus": one.action_id,
  };
}

/** In a message or a Home tab a change is an action; in a form it waits for the submission. */
function onChange(one, blockId, surface, value) {
  return surface.isInput
    ? {}
    : { change: (event) => surface.act(one, blockId, value(event), event.currentTarget) };
}

function button(one, blockId, surface) {
  return h(
    "button",
    {
      type: "button",
      class: `block-button ${one.style ?? ""}`.trim(),
      "aria-label": one.accessibility_label,
      ...marks(one, blockId),
      on: { click: (event) => press(one, blockId, surface, event.currentTarget) },
    },
    textNodes(one.text, surface.names),
  );
}

function press(one, blockId, surface, source) {
  if (one.url && /^https?:/i.test(one.url)) {
    window.open(one.url, "_blank", "noopener,noreferrer");
  }
  void surface.act(one, blockId, null, source);
}

function select(one, blockId, surface) {
  const item = ({ text, value }) =>
    h("option", { value, selected: one.initial_option?.value === value }, plainOf(text));
  const groups = (one.option_groups ?? []).map((group) =>
    h("optgroup", { label: plainOf(group.label) }, group.options.map(item)),
  );
  const node = h(
    "select",
    {
      class: "block-select",
      "data-entry": "value",
      ...marks(one, blockId),
      on: onChange(one, blockId, surface, () => node.value || null),
    },
    h("option", { value: "" }, plainOf(one.placeholder) || "Select an option"),
    (one.options ?? []).map(item),
    groups,
  );
  return h("span", { class: "select" }, node, icon("down"));
}

function choices(one, blockId, surface) {
  const isMany = one.type === "checkboxes";
  const initial = isMany ? (one.initial_options ?? []) : [one.initial_option];
  const chosen = initial.filter(Boolean).map((option) => option.value);
  const group = h("div", {
    class: "block-choices",
    role: isMany ? "group" : "radiogroup",
    "data-entry": isMany ? "many" : "one",
    ...marks(one, blockId),
    on: onChange(one, blockId, surface, () => read(group)),
  });
  const name = `${surface.key}/${blockId}/${one.action_id}`;
  group.append(
    ...one.options.map(({ text, description, value }) =>
      h(
        "label",
        {},
        h("input", {
          type: isMany ? "checkbox" : "radio",
          name,
          value,
          checked: chosen.includes(value),
        }),
        h("span", {}, textNodes(text, surface.names)),
        description ? h("small", {}, textNodes(description, surface.names)) : null,
      ),
    ),
  );
  return group;
}

function overflow(one, blockId, surface) {
  const menu = h(
    "select",
    {
      class: "block-select block-overflow",
      "aria-label": "More actions",
      ...marks(one, blockId),
      on: {
        change: () => {
          const { value } = menu;
          menu.value = "";
          void surface.act(one, blockId, value, menu);
        },
      },
    },
    h("option", { value: "" }, "•••"),
    one.options.map(({ text, value }) => h("option", { value }, plainOf(text))),
  );
  return h("span", { class: "select" }, menu, icon("down"));
}

function dated(one, blockId, surface) {
  const node = h("input", {
    type: "date",
    class: "entry",
    "data-entry": "value",
    value: one.initial_date ?? "",
    ...marks(one, blockId),
    on: onChange(one, blockId, surface, () => node.value || null),
  });
  return node;
}

function typed(one, blockId) {
  return h(one.multiline ? "textarea" : "input", {
    class: "entry",
    dir: "auto",
    "data-entry": "value",
    rows: one.multiline ? "8" : null,
    type: one.multiline ? null : "text",
    maxlength: one.max_length,
    placeholder: plainOf(one.placeholder) || null,
    autofocus: one.focus_on_load,
    value: one.initial_value ?? "",
    ...marks(one, blockId),
  });
}

function numbered(one, blockId, surface) {
  const node = typed(one, blockId, surface);
  node.setAttribute("inputmode", one.is_decimal_allowed ? "decimal" : "numeric");
  return node;
}
