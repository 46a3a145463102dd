/** Emoji by the names Slack gives them: those the desk uses, and a few people type. */

const SIGNS = {
  arrows_counterclockwise: "🔄",
  bell: "🔔",
  eyes: "👀",
  hourglass: "⌛",
  hourglass_flowing_sand: "⏳",
  information_source: "ℹ️",
  leftwards_arrow_with_hook: "↩️",
  lock: "🔒",
  mag: "🔎",
  moneybag: "💰",
  no_entry: "⛔",
  no_entry_sign: "🚫",
  octagonal_sign: "🛑",
  package: "📦",
  pencil2: "✏️",
  question: "❓",
  raised_hand: "✋",
  raising_hand: "🙋",
  rotating_light: "🚨",
  slightly_smiling_face: "🙂",
  speech_balloon: "💬",
  tada: "🎉",
  thumbsup: "👍",
  "+1": "👍",
  thumbsdown: "👎",
  "-1": "👎",
  warning: "⚠️",
  wave: "👋",
  white_check_mark: "✅",
  x: "❌",
};

/** Return the sign, or the name as it was typed where there is none. */
export function emojiOf(name) {
  return SIGNS[name] ?? `:${name}:`;
}
