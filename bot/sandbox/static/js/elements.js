/** Block elements a person acts on: buttons, menus, choices and inputs. */

import { h, icon } from "./dom.js";
import { decode, textNodes } from "./text.js";

const LETTERS_MS = 400;

/**
 * Draw an element. `surface` says where it stands: `key` tells it from others on the page, `names`
 * knows whom mentions mean, `people` are who can be chosen, `act(element, blockId, value, source)`
 * acts on it. With `isInput` it is part of a form instead, and acts only if it `isDispatching`.
 */
export function element(one, blockId, surface) {
  const draw = {
    button,
    static_select: select,
    multi_static_select: select,
    users_select: userSelect,
    radio_buttons: choices,
    checkboxes: choices,
    overflow,
    datepicker: picker,
    timepicker: picker,
    datetimepicker: picker,
    plain_text_input: typed,
    rich_text_input: typed,
    number_input: typed,
    email_text_input: typed,
    url_text_input: typed,
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

/** Fill a form with entries of before, where block and action are the same, as Slack does. */
export function refill(form, values) {
  for (const node of form.querySelectorAll("[data-entry]")) {
    const { block, action } = node.dataset;
    if (values[block]?.[action] !== undefined) {
      write(node, values[block][action]);
    }
  }
}

function read(node) {
  switch (node.dataset.entry) {
    case "one":
      return node.querySelector("input:checked")?.value ?? null;
    case "many":
      return [...node.querySelectorAll("input:checked")].map((box) => box.value);
    case "several":
      return [...node.selectedOptions].map((option) => option.value);
    case "moment":
      return node.value === "" ? null : String(Math.floor(new Date(node.value) / 1000));
    default:
      return node.value === "" ? null : node.value;
  }
}

function write(node, value) {
  switch (node.dataset.entry) {
    case "one":
    case "many":
      for (const box of node.querySelectorAll("input")) {
        box.checked = [value].flat().includes(box.value);
      }
      break;
    case "several":
      for (const option of node.options) {
        option.selected = value.includes(option.value);
      }
      break;
    case "moment":
      node.value = value === null ? "" : localMoment(Number(value));
      break;
    default:
      node.value = value ?? "";
  }
}

/** Return a moment as `<input type=datetime-local>` takes it. */
function localMoment(seconds) {
  const date = new Date(seconds * 1000);
  return new Date(date - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
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

/** In a message or a Home tab a change is an action; in a form most wait for the submission. */
function onChange(one, blockId, surface) {
  if (surface.isInput && !surface.isDispatching) {
    return {};
  }
  return { change: ({ currentTarget: node }) => surface.act(one, blockId, read(node), node) };
}

/** A text tells of itself at Enter, or some moments after each letter, as its block wants it. */
function onTyping(one, blockId, surface) {
  if (!surface.isDispatching) {
    return {};
  }
  const wanted = one.dispatch_action_config?.trigger_actions_on ?? ["on_enter_pressed"];
  const tell = (node) => void surface.act(one, blockId, read(node), node);
  let timer = 0;
  return {
    ...(wanted.includes("on_character_entered")
      ? {
          input: ({ currentTarget: node }) => {
            clearTimeout(timer);
            timer = setTimeout(() => node.isConnected && tell(node), LETTERS_MS);
          },
        }
      : {}),
    ...(wanted.includes("on_enter_pressed")
      ? {
          keydown: (event) => {
            if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
              event.preventDefault();
              tell(event.currentTarget);
            }
          },
        }
      : {}),
  };
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
  const isMany = one.type === "multi_static_select";
  const chosen = isMany ? (one.initial_options ?? []) : [one.initial_option];
  const values = chosen.filter(Boolean).map((option) => option.value);
  const item = ({ text, value }) =>
    h("option", { value, selected: values.includes(value) }, plainOf(text));
  const groups = (one.option_groups ?? []).map((group) =>
    h("optgroup", { label: plainOf(group.label) }, group.options.map(item)),
  );
  const options = [(one.options ?? []).map(item), groups];
  if (isMany) {
    const rows = (one.options ?? one.option_groups).length;
    return selectNode(one, blockId, surface, options, { multiple: true, size: Math.min(rows, 6) });
  }
  const empty = h("option", { value: "" }, plainOf(one.placeholder) || "Select an option");
  return framed(selectNode(one, blockId, surface, [empty, options]));
}

function userSelect(one, blockId, surface) {
  const empty = h("option", { value: "" }, plainOf(one.placeholder) || "Select a user");
  const people = (surface.people ?? []).map(({ user_id: id, name }) =>
    h("option", { value: id, selected: one.initial_user === id }, name),
  );
  return framed(selectNode(one, blockId, surface, [empty, people]));
}

function selectNode(one, blockId, surface, options, more = {}) {
  return h(
    "select",
    {
      class: more.multiple ? "entry" : "block-select",
      "data-entry": more.multiple ? "several" : "value",
      ...marks(one, blockId),
      ...more,
      on: onChange(one, blockId, surface),
    },
    options,
  );
}

function framed(select) {
  return h("span", { class: "select" }, select, icon("down"));
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
    on: onChange(one, blockId, surface),
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

const PICKERS = {
  datepicker: ["date", "value", (one) => one.initial_date],
  timepicker: ["time", "value", (one) => one.initial_time],
  datetimepicker: [
    "datetime-local",
    "moment",
    (one) => one.initial_date_time && localMoment(one.initial_date_time),
  ],
};

function picker(one, blockId, surface) {
  const [type, entry, initial] = PICKERS[one.type];
  return h("input", {
    type,
    class: "entry",
    "data-entry": entry,
    value: initial(one) ?? "",
    ...marks(one, blockId),
    on: onChange(one, blockId, surface),
  });
}

const KINDS = { email_text_input: "email", url_text_input: "url" };

function typed(one, blockId, surface) {
  const isRich = one.type === "rich_text_input";
  const isLong = one.multiline || isRich;
  return h(isLong ? "textarea" : "input", {
    class: "entry",
    dir: "auto",
    "data-entry": "value",
    rows: isLong ? String(one.min_lines ?? 8) : null,
    type: isLong ? null : (KINDS[one.type] ?? "text"),
    inputmode: one.type === "number_input" ? (one.is_decimal_allowed ? "decimal" : "numeric") : null,
    maxlength: one.max_length,
    placeholder: plainOf(one.placeholder) || null,
    autofocus: one.focus_on_load,
    value: (isRich ? lettersOf(one.initial_value) : one.initial_value) ?? "",
    ...marks(one, blockId),
    on: onTyping(one, blockId, surface),
  });
}

/** Return the letters of a rich text: a field of this page has no styles. */
function lettersOf(rich) {
  const inner = (part) => part.text ?? (part.elements ?? []).map(inner).join("");
  return rich?.elements.map(inner).join("\n");
}
