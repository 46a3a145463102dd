/** Moments as people read them, in their own language and time zone. */

const CLOCK = new Intl.DateTimeFormat(undefined, { hour: "numeric", minute: "2-digit" });
const SECONDS = new Intl.DateTimeFormat(undefined, { timeStyle: "medium" });
const DAY = new Intl.DateTimeFormat(undefined, { weekday: "long", month: "long", day: "numeric" });
const SHORT_DAY = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short" });
const FULL = new Intl.DateTimeFormat(undefined, { dateStyle: "full", timeStyle: "medium" });
const AGO = new Intl.RelativeTimeFormat(undefined, { numeric: "auto" });

const DATES = {
  date_num: new Intl.DateTimeFormat("sv-SE"),
  date: new Intl.DateTimeFormat(undefined, { dateStyle: "long" }),
  date_short: new Intl.DateTimeFormat(undefined, { dateStyle: "medium" }),
  date_long: new Intl.DateTimeFormat(undefined, { dateStyle: "full" }),
};
const PRETTY = /^(date(?:_short|_long)?)_pretty$/;

/** Return the moment of a message's `ts`. */
export function ofTs(ts) {
  return new Date(Number(ts) * 1000);
}

export function clock(date) {
  return CLOCK.format(date);
}

export function full(date) {
  return FULL.format(date);
}

export function shortDay(date) {
  return SHORT_DAY.format(date);
}

/** Return `Today`, `Yesterday`, or the weekday and date. */
export function day(date) {
  return nearDay(date, true) ?? DAY.format(date);
}

/** Fill the tokens of a Slack date format, such as `{date_short_pretty} at {time}`. */
export function slackDate(date, format) {
  return format.replace(/\{(\w+)\}/g, (token, name) => part(date, name) ?? token);
}

function part(date, name) {
  if (name === "time") {
    return clock(date);
  }
  if (name === "time_secs") {
    return SECONDS.format(date);
  }
  if (name === "ago") {
    return ago(date);
  }
  const pretty = PRETTY.exec(name);
  if (pretty) {
    return nearDay(date, false) ?? DATES[pretty[1]].format(date);
  }
  return DATES[name]?.format(date);
}

function nearDay(date, capital) {
  const today = new Date();
  const midnight = (one) => new Date(one.getFullYear(), one.getMonth(), one.getDate());
  const days = Math.round((midnight(date) - midnight(today)) / 86_400_000);
  if (Math.abs(days) > 1) {
    return null;
  }
  const word = AGO.format(days, "day");
  return capital ? word[0].toUpperCase() + word.slice(1) : word;
}

function ago(date) {
  const seconds = Math.round((date - new Date()) / 1000);
  for (const [unit, size] of [["day", 86_400], ["hour", 3_600], ["minute", 60]]) {
    if (Math.abs(seconds) >= size) {
      return AGO.format(Math.round(seconds / size), unit);
    }
  }
  return AGO.format(seconds, "second");
}
