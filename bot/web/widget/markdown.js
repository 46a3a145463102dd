// @ts-check
/** A safe part of Markdown as DOM nodes: bold, code, lists, links. Everything else stays text. */

import { h } from "./dom.js";

const SCHEMES = ["http:", "https:", "mailto:"];
const PIECES =
  /`([^`\n]+)`|\*\*(?=\S)([^\n]+?)(?<=\S)\*\*|\[([^[\]\n]+)\]\(([^()\s]+)\)|(https?:\/\/[^\s<>"]*[^\s<>".,;:!?)\]'])/g;
const ITEM = /^\s{0,3}(?:[-*•]|(\d{1,3})[.)])\s+(.*)$/;

/** @param {string} text @returns {Node[]} */
export function markdown(text) {
  return text.split(/```[^\n`]*\n?([\s\S]*?)(?:```|$)/).flatMap((part, at) => {
    if (at % 2 === 1) {
      return [h("pre", {}, h("code", {}, part.replace(/\n$/, "")))];
    }
    return part.trim() ? blocks(part.replace(/^\n+/, "").trimEnd()) : [];
  });
}

/** @param {string} text @returns {Node[]} */
function blocks(text) {
  /** @type {Node[]} */
  const nodes = [];
  /** @type {string[]} */
  let lines = [];
  /** @type {any} */
  let list = null;
  const flush = () => {
    const said = lines.join("\n").replace(/^\n+/, "").trimEnd();
    if (said) {
      nodes.push(h("p", { dir: "auto" }, ...inline(said)));
    }
    lines = [];
  };
  for (const line of text.split("\n")) {
    const item = ITEM.exec(line);
    if (item) {
      flush();
      const tag = item[1] ? "OL" : "UL";
      if (list?.tagName !== tag) {
        list = h(tag, item[1] ? { start: item[1] } : {});
        nodes.push(list);
      }
      list.append(h("li", { dir: "auto" }, ...inline(item[2])));
    } else {
      list = line.trim() ? null : list;
      lines.push(line);
    }
  }
  flush();
  return nodes;
}

/** @param {string} text @returns {(Node | string)[]} */
function inline(text) {
  /** @type {(Node | string)[]} */
  const nodes = [];
  let at = 0;
  for (const found of text.matchAll(PIECES)) {
    const [whole, code, bold, label, url, bare] = found;
    nodes.push(text.slice(at, found.index));
    at = found.index + whole.length;
    if (code) {
      nodes.push(h("code", {}, code));
    } else if (bold) {
      nodes.push(h("strong", {}, ...inline(bold)));
    } else {
      nodes.push(link(url ?? bare, label) ?? whole);
    }
  }
  return [...nodes, text.slice(at)];
}

/**
 * A link says where it leads: no label can hide the host.
 * @param {string} address @param {string} [label]
 */
function link(address, label) {
  let url;
  try {
    url = new URL(address);
  } catch {
    return null;
  }
  if (!SCHEMES.includes(url.protocol)) {
    return null;
  }
  const props = { href: url.href, target: "_blank", rel: "noopener noreferrer nofollow ugc" };
  const place = url.host || url.pathname;
  return h("bdi", {}, h("a", props, label ?? address), label ? h("small", {}, ` (${place})`) : null);
}
