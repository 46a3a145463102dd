// @ts-check
/** Make DOM nodes. Text only ever becomes text: nothing here or elsewhere parses HTML. */

const SVG = "http://www.w3.org/2000/svg";

/** @type {Record<string, string>} */
const ICONS = {
  chat: "M4 5h16v11H9l-5 4z",
  close: "M6 6l12 12M18 6L6 18",
  send: "M5 12h13M12 5l7 7-7 7",
  stop: "M7 7h10v10H7z",
  down: "M12 5v13M6 12l6 6 6-6",
  clock: "M12 7v5l3 2M21 12a9 9 0 11-18 0 9 9 0 0118 0z",
  check: "M5 13l4 4L19 7",
  alert: "M12 8v5M12 16.5v.5M12 3l10 18H2z",
  back: "M9 7l-5 5 5 5M4 12h11a5 5 0 010 10",
};

/**
 * Make an element. A prop is an attribute, or a listener where it is a function; null and false
 * set nothing. Children are nodes, texts, or nothing.
 * @param {string} tag
 * @param {Record<string, any>} [props]
 * @param {...(Node | string | null | undefined)} children
 * @returns {any}
 */
export function h(tag, props = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (typeof value === "function") {
      node.addEventListener(name, value);
    } else if (value !== null && value !== false) {
      node.setAttribute(name, value === true ? "" : value);
    }
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

/**
 * Draw an icon. It is decoration: its meaning stands beside it in words.
 * @param {string} name
 */
export function icon(name) {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("viewBox", "0 0 24 24");
  svg.setAttribute("aria-hidden", "true");
  svg.setAttribute("class", `icon icon-${name}`);
  const path = document.createElementNS(SVG, "path");
  path.setAttribute("d", ICONS[name]);
  svg.append(path);
  return svg;
}

/**
 * Make a button of a form's own kind: it submits nothing.
 * @param {Record<string, any>} props
 * @param {...(Node | string | null)} children
 */
export function button(props, ...children) {
  return h("button", { type: "button", ...props }, ...children);
}

/**
 * Text for screen readers alone.
 * @param {string} text
 */
export function unseen(text) {
  return h("span", { class: "unseen" }, text);
}

/**
 * Change a text only where it differs: some of them are read aloud when they change.
 * @param {Element} node
 * @param {string} text
 */
export function say(node, text) {
  if (node.textContent !== text) {
    node.textContent = text;
  }
}
