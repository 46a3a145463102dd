/** Block Kit as DOM: the blocks that messages, modals and Home tabs hold. */

import { h, icon } from "./dom.js";
import { element, image } from "./elements.js";
import { richText } from "./rich-text.js";
import { decode, textNodes } from "./text.js";

/** Draw blocks on a surface (see `element`). */
export function drawBlocks(blocks, surface) {
  return blocks.map((block) => {
    const draw = DRAWN[block.type] ?? undrawn;
    const node = draw(block, surface);
    node.classList.add("block", `block-${block.type}`);
    node.dataset.blockId = block.block_id;
    return node;
  });
}

/** Return why Slack would not send this form, by block id: what is missing, too short, no number. */
export function problemsOf(blocks, values) {
  const problems = {};
  for (const block of blocks.filter((one) => one.type === "input")) {
    const { element: field, block_id: id, optional } = block;
    const value = values[id]?.[field.action_id];
    const isEmpty = value === null || value === undefined || value.length === 0;
    const problem = isEmpty
      ? (optional ? null : "Please complete this required field.")
      : problemOf(field, value);
    if (problem) {
      problems[id] = problem;
    }
  }
  return problems;
}

/** Show why a form was not taken, each reason under its block; remove the reasons of before. */
export function showErrors(form, errors) {
  for (const node of form.querySelectorAll(".block-error")) {
    node.remove();
  }
  for (const field of form.querySelectorAll("[aria-invalid]")) {
    field.removeAttribute("aria-invalid");
  }
  for (const [blockId, reason] of Object.entries(errors)) {
    const block = [...form.querySelectorAll(".block")].find((one) => one.dataset.blockId === blockId);
    const field = block?.querySelector("[data-entry]");
    field?.setAttribute("aria-invalid", "true");
    block?.append(h("p", { class: "block-error", role: "alert" }, reason));
  }
  form.querySelector("[aria-invalid]")?.focus();
}

function problemOf({ type, min_length: least = 0, is_decimal_allowed: isDecimal }, value) {
  if (type === "plain_text_input" && [...value].length < least) {
    return `Please enter at least ${least} characters.`;
  }
  if (type === "number_input" && !(isDecimal ? /^-?\d+(\.\d+)?$/ : /^-?\d+$/).test(value)) {
    return isDecimal ? "Please enter a number." : "Please enter a whole number.";
  }
  return null;
}

const DRAWN = {
  header: ({ text }, { names }) => h("h4", { dir: "auto" }, textNodes(text, names)),
  divider: () => h("hr"),
  section,
  context: ({ elements }, { names }) =>
    h(
      "div",
      {},
      elements.map((one) =>
        one.type === "image" ? image(one) : h("span", { dir: "auto" }, textNodes(one, names)),
      ),
    ),
  actions: (block, surface) =>
    h("div", {}, block.elements.map((one) => element(one, block.block_id, surface))),
  image: (block, { names }) =>
    h(
      "figure",
      {},
      block.title ? h("figcaption", {}, textNodes(block.title, names)) : null,
      image(block),
    ),
  input,
  rich_text: (block, { names }) => h("div", {}, richText(block, names)),
  table,
  data_table: dataTable,
  alert: ({ text, level = "default" }, { names }) =>
    h(
      "div",
      { role: "note", "data-level": level },
      icon(ALERT_SIGNS[level] ?? "bell"),
      h("span", { dir: "auto" }, textNodes(text, names)),
    ),
  markdown: ({ text }) => h("div", { class: "said", dir: "auto" }, decode(text)),
  card,
  carousel: ({ elements }, surface) =>
    h("div", { tabindex: "0" }, elements.map((one) => card(one, surface))),
  container,
};

const ALERT_SIGNS = { info: "eye", warning: "alert", error: "declined", success: "done" };

function section(block, surface) {
  const { names } = surface;
  return h(
    "div",
    {},
    h(
      "div",
      { class: "section-body" },
      block.text ? h("div", { class: "section-text", dir: "auto" }, textNodes(block.text, names)) : null,
      block.fields
        ? h(
            "div",
            { class: "section-fields" },
            block.fields.map((one) => h("div", { dir: "auto" }, textNodes(one, names))),
          )
        : null,
    ),
    block.accessory ? element(block.accessory, block.block_id, surface) : null,
  );
}

function input(block, surface) {
  const id = `${surface.key}/${block.block_id}`;
  const isDispatching = block.dispatch_action === true;
  const field = element(block.element, block.block_id, { ...surface, isInput: true, isDispatching });
  const entry = field.matches("[data-entry]") ? field : field.querySelector("[data-entry]");
  entry?.setAttribute("id", id);
  entry?.setAttribute("aria-labelledby", `${id}/label`);
  return h(
    "div",
    {},
    h(
      "label",
      { class: "input-label", id: `${id}/label`, for: id },
      decode(block.label.text),
      block.optional ? h("small", {}, " (optional)") : null,
    ),
    field,
    block.hint ? h("p", { class: "input-hint" }, decode(block.hint.text)) : null,
  );
}

function table({ rows, column_settings: settings = [] }, { names }) {
  const cell = (one, column) =>
    h(
      "td",
      { class: `align-${settings[column]?.align ?? "left"}`, dir: "auto" },
      one.type === "rich_text" ? richText(one, names) : one.text,
    );
  return h(
    "div",
    { tabindex: "0" },
    h("table", {}, h("tbody", {}, rows.map((row) => h("tr", {}, row.map(cell))))),
  );
}

/** Slack pages and sorts these; here they scroll. */
function dataTable({ rows: [head, ...rows], caption, row_header_column_index: first = 0 }, surface) {
  const content = (one) => (one.type === "rich_text" ? richText(one, surface.names) : one.text);
  const cell = (one, column) =>
    h(column === first ? "th" : "td", { scope: column === first ? "row" : null, dir: "auto" }, content(one));
  return h(
    "div",
    { tabindex: "0" },
    h(
      "table",
      {},
      h("caption", {}, caption),
      h("thead", {}, h("tr", {}, head.map((one) => h("th", { scope: "col" }, content(one))))),
      h("tbody", {}, rows.map((row) => h("tr", {}, row.map(cell)))),
    ),
  );
}

function card({ hero_image: hero, icon: sign, title, subtitle, body, subtext, actions, block_id: id }, surface) {
  const line = (name, text) =>
    text ? h("p", { class: `card-${name}`, dir: "auto" }, textNodes(text, surface.names)) : null;
  return h(
    "div",
    { class: "card" },
    hero ? image(hero) : null,
    sign ? image(sign) : null,
    line("title", title),
    line("subtitle", subtitle),
    line("body", body),
    line("subtext", subtext),
    actions ? h("div", { class: "block-actions" }, actions.map((one) => element(one, id, surface))) : null,
  );
}

function container(block, surface) {
  const { title, rich_text_title: rich, subtitle, child_blocks: children } = block;
  const heading = h(
    block.is_collapsible ? "summary" : "div",
    { class: "container-title" },
    rich ? richText(rich, surface.names) : h("strong", {}, textNodes(title, surface.names)),
    subtitle ? h("small", {}, textNodes(subtitle, surface.names)) : null,
  );
  const props = block.is_collapsible ? { open: !block.default_collapsed } : {};
  return h(block.is_collapsible ? "details" : "div", props, heading, drawBlocks(children, surface));
}

function undrawn({ type }) {
  return h("p", { class: "undrawn" }, `(The block ${type} is not drawn here.)`);
}
