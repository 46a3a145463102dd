/** Slack's rich_text blocks: everything in them is literal, nothing is decoded. */

import { h } from "./dom.js";
import { emojiOf } from "./emoji.js";
import { link, mention, moment } from "./text.js";

const STYLES = [
  ["bold", "strong"],
  ["italic", "em"],
  ["strike", "s"],
  ["underline", "u"],
  ["highlight", "mark"],
  ["code", "code"],
];

/** Return the nodes of a rich text: paragraphs, lists, quotations, code blocks. */
export function richText(block, names) {
  return block.elements.map((part) => paragraph(part, names));
}

function paragraph(part, names) {
  const inner = () => part.elements.map((element) => piece(element, names));
  switch (part.type) {
    case "rich_text_section":
      return h("p", { dir: "auto" }, inner());
    case "rich_text_quote":
      return h("blockquote", { dir: "auto" }, inner());
    case "rich_text_preformatted":
      return h("pre", { tabindex: "0" }, inner());
    case "rich_text_list":
      return list(part, names);
    default:
      return h("p", { class: "undrawn" }, `(${part.type} is not drawn here)`);
  }
}

function list({ style, indent = 0, offset = 0, elements }, names) {
  const rows = elements.map((row) =>
    h("li", { dir: "auto" }, row.elements.map((element) => piece(element, names))),
  );
  const props = { class: "rich-list", vars: { "--indent": String(indent) } };
  return style === "ordered" ? h("ol", { ...props, start: offset + 1 }, rows) : h("ul", props, rows);
}

function piece(element, names) {
  let node = plain(element, names);
  for (const [style, tag] of STYLES) {
    if (element.style?.[style] === true) {
      node = h(tag, {}, node);
    }
  }
  return node;
}

function plain(element, names) {
  switch (element.type) {
    case "text":
      return element.text;
    case "link":
      return link(element.url, element.text ?? element.url);
    case "user":
      return mention(`@${names.user(element.user_id) ?? element.user_id}`);
    case "usergroup":
      return mention(`@${names.group(element.usergroup_id) ?? element.usergroup_id}`);
    case "channel":
      return mention(`#${names.channel(element.channel_id) ?? element.channel_id}`);
    case "broadcast":
      return mention(`@${element.range}`);
    case "emoji":
      return emojiOf(element.name);
    case "date":
      return moment(element);
    case "color":
      return element.value;
    default:
      return `(${element.type})`;
  }
}
