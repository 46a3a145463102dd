/** Make DOM nodes. Text only ever becomes text: nothing here or elsewhere parses HTML. */

const SVG = "http://www.w3.org/2000/svg";

/**
 * Make an element. `props` are attributes, except `on` (listeners by event name), `vars` (custom
 * CSS properties) and `value`/`checked` (properties). Children are nodes, texts, lists, or nothing.
 */
export function h(tag, props = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    setProp(node, name, value);
  }
  node.append(...present(children));
  return node;
}

/** Make a fragment of children. */
export function fragment(...children) {
  const node = document.createDocumentFragment();
  node.append(...present(children));
  return node;
}

/** Draw an icon of icons.svg; it is decoration, so its meaning stands beside it in words. */
export function icon(name, extra = "") {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("class", `icon ${extra}`.trim());
  svg.setAttribute("aria-hidden", "true");
  const use = document.createElementNS(SVG, "use");
  use.setAttribute("href", `icons.svg#${name}`);
  svg.append(use);
  return svg;
}

/** Text for screen readers alone. */
export function unseen(text) {
  return h("span", { class: "unseen" }, text);
}

/**
 * Make `parent` show one node per item, in order, keeping the nodes whose signature is the same.
 *
 * `items` are `{key, signature, render}`. `marks`, made by the caller once and kept between calls,
 * remembers what is shown. Focus moves to the element with the same `data-focus` in a redrawn node.
 */
export function reconcile(parent, items, marks) {
  const wanted = new Set(items.map((item) => item.key));
  for (const [key, mark] of marks) {
    if (!wanted.has(key)) {
      mark.node.remove();
      marks.delete(key);
    }
  }
  let last = null;
  for (const item of items) {
    const node = current(item, marks);
    const next = last ? last.nextSibling : parent.firstChild;
    if (node !== next) {
      parent.insertBefore(node, next);
    }
    last = node;
  }
}

function current(item, marks) {
  const mark = marks.get(item.key);
  if (mark?.signature === item.signature) {
    return mark.node;
  }
  const node = item.render(mark !== undefined);
  if (mark) {
    const focus = mark.node.contains(document.activeElement)
      ? document.activeElement.dataset.focus
      : undefined;
    mark.node.replaceWith(node);
    if (focus !== undefined) {
      [...node.querySelectorAll("[data-focus]")].find((one) => one.dataset.focus === focus)?.focus();
    }
  }
  marks.set(item.key, { signature: item.signature, node });
  return node;
}

function setProp(node, name, value) {
  if (value === null || value === undefined || value === false) {
    return;
  }
  if (name === "on") {
    for (const [event, listener] of Object.entries(value)) {
      node.addEventListener(event, listener);
    }
  } else if (name === "vars") {
    for (const [property, given] of Object.entries(value)) {
      node.style.setProperty(property, given);
    }
  } else if (name === "value" || name === "checked") {
    node[name] = value;
  } else {
    node.setAttribute(name, value === true ? "" : String(value));
  }
}

function present(children) {
  return children.flat(Infinity).filter((child) => child !== null && child !== undefined);
}
