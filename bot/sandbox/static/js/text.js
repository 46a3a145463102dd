/** Slack's texts as nodes: `mrkdwn` with its tokens, `plain_text` letter by letter. */

import { h } from "./dom.js";
import { emojiOf } from "./emoji.js";
import { slackDate } from "./time.js";

const ENTITIES = { lt: "<", gt: ">", amp: "&" };
const WEB = /^(https?:|mailto:)/i;

// What may stand between two markers: whole tokens and code, but never the marker or a line end.
const within = (mark) => `(?:<[^<>\\n]*>|\`[^\`\\n]+\`|[^${mark}\\n])+?`;
const styled = (name, mark) =>
  `(?<![\\w${mark}])\\${mark}(?=\\S)(?<${name}>${within(mark)})(?<=\\S)\\${mark}(?![\\w${mark}])`;
const PIECES = [
  "```\\n?(?<block>[\\s\\S]+?)\\n?```",
  "`(?<code>[^`\\n]+)`",
  "<(?<token>[^<>]+)>",
  styled("bold", "*"),
  styled("italic", "_"),
  styled("strike", "~"),
  "(?<![\\w:]):(?<emoji>[a-z0-9_+-]+):(?!\\w)",
  "(?<bare>\\bhttps?://[^\\s<>|]*[^\\s<>|.,;:!?)'\"])",
].join("|");

/** Decode the three entities Slack knows, once: what they spell is text. */
export function decode(text) {
  return text.replace(/&(lt|gt|amp);/g, (_, name) => ENTITIES[name]);
}

/** Return the nodes of a text object. */
export function textNodes(object, names) {
  if (object.type === "mrkdwn") {
    return mrkdwn(object.text, names, object.verbatim === true);
  }
  const text = decode(object.text);
  return [object.emoji === true ? withEmoji(text) : text];
}

/** Return the nodes of mrkdwn text; with `verbatim`, bare addresses are not made links. */
export function mrkdwn(text, names, verbatim = false) {
  const nodes = [];
  let quoted = [];
  const flush = () => {
    if (quoted.length > 0) {
      nodes.push(h("blockquote", {}, inline(quoted.join("\n"), names, verbatim)));
      quoted = [];
    }
  };
  // A fence keeps its lines together, so that a `>` inside stays what it is.
  for (const part of text.split(/(```[\s\S]+?```)/)) {
    for (const line of part.startsWith("```") ? [part] : part.split(/(?<=\n)/)) {
      const quote = /^(?:&gt;|>) ?(.*)/s.exec(line);
      if (quote) {
        quoted.push(quote[1].replace(/\n$/, ""));
      } else {
        flush();
        nodes.push(...inline(line, names, verbatim));
      }
    }
  }
  flush();
  return nodes;
}

function inline(text, names, verbatim) {
  const nodes = [];
  let at = 0;
  for (const found of text.matchAll(new RegExp(PIECES, "g"))) {
    nodes.push(decode(text.slice(at, found.index)), piece(found, names, verbatim));
    at = found.index + found[0].length;
  }
  return [...nodes, decode(text.slice(at))];
}

function piece({ 0: whole, groups }, names, verbatim) {
  const inner = (text) => inline(text, names, verbatim);
  if (groups.block !== undefined) {
    return h("pre", {}, decode(groups.block));
  }
  if (groups.code !== undefined) {
    return h("code", {}, decode(groups.code));
  }
  if (groups.token !== undefined) {
    return token(groups.token, names) ?? decode(whole);
  }
  if (groups.bold !== undefined) {
    return h("strong", {}, inner(groups.bold));
  }
  if (groups.italic !== undefined) {
    return h("em", {}, inner(groups.italic));
  }
  if (groups.strike !== undefined) {
    return h("s", {}, inner(groups.strike));
  }
  if (groups.emoji !== undefined) {
    return emojiOf(groups.emoji);
  }
  return verbatim ? decode(groups.bare) : link(decode(groups.bare), decode(groups.bare));
}

/** Return what stands for `<…>`: a mention, a date, a link; null for anything else. */
function token(text, names) {
  const bar = text.indexOf("|");
  const [head, label] = bar < 0 ? [text, ""] : [text.slice(0, bar), text.slice(bar + 1)];
  if (head.startsWith("@")) {
    return mention(`@${names.user(head.slice(1)) ?? (decode(label) || head.slice(1))}`);
  }
  if (head.startsWith("#")) {
    return mention(`#${names.channel(head.slice(1)) ?? (decode(label) || head.slice(1))}`);
  }
  if (head.startsWith("!")) {
    return command(head.slice(1), decode(label), names);
  }
  return WEB.test(head) ? link(decode(head), decode(label) || decode(head)) : null;
}

function command(head, label, names) {
  const [name, ...rest] = head.split("^");
  if (name === "date") {
    const [seconds, format, url] = rest;
    return moment({ timestamp: Number(seconds), format, url, fallback: label });
  }
  if (name === "subteam") {
    return mention(`@${names.group(rest[0]) ?? (label.replace(/^@/, "") || rest[0])}`);
  }
  return mention(`@${name}`);
}

/** A mention of a person, a group or a channel. */
export function mention(text) {
  return h("span", { class: "mention" }, text);
}

/** A link that opens a new tab; other schemes than the web's are shown as text. */
export function link(url, label) {
  if (!WEB.test(url)) {
    return label;
  }
  return h("a", { href: url, target: "_blank", rel: "noopener noreferrer" }, label);
}

/** A moment in the reader's zone; where it is none, what the sender wrote instead. */
export function moment({ timestamp, format, url, fallback }) {
  const date = new Date(timestamp * 1000);
  if (Number.isNaN(date.valueOf()) || !format) {
    return fallback ?? "";
  }
  const shown = h(
    "time",
    { datetime: date.toISOString(), title: fallback },
    slackDate(date, format),
  );
  return url ? link(url, shown) : shown;
}

function withEmoji(text) {
  return text.replace(/(?<![\w:]):([a-z0-9_+-]+):(?!\w)/g, (_, name) => emojiOf(name));
}
