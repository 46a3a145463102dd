// @ts-check
/** The widget's words in the reader's language; dates and numbers in the reader's manner. */

const LANGUAGES = ["en", "de", "es", "ar", "ja"];
// All that can be said where the words themselves cannot be had.
const FALLBACK = {
  title: "Support chat",
  close: "Close",
  again: "Try again",
  blocked: "Chat can't reach the support desk.",
};

export class Words {
  /** @type {any} */
  #texts = FALLBACK;

  /** @param {string} tag such as `de-AT`; English where there are no words in it */
  constructor(tag) {
    const primary = tag.toLowerCase().split(/[-_]/)[0];
    const isKnown = LANGUAGES.includes(primary);
    this.language = isKnown ? primary : "en";
    this.direction = this.language === "ar" ? "rtl" : "ltr";
    // Dates in a language that nothing else is in would be a riddle.
    const locale = isKnown ? canonical(tag.replaceAll("_", "-")) ?? primary : "en";
    this.tag = locale;
    this.#clock = new Intl.DateTimeFormat(locale, { hour: "numeric", minute: "2-digit" });
    this.#day = new Intl.DateTimeFormat(locale, { weekday: "long", day: "numeric", month: "long" });
    this.#number = new Intl.NumberFormat(locale);
  }

  #clock;
  #day;
  #number;

  /** Load the words; false where they cannot be had. */
  async load() {
    try {
      const response = await fetch(new URL(`locales/${this.language}.json`, import.meta.url));
      this.#texts = await response.json();
      return true;
    } catch {
      return false;
    }
  }

  /**
   * @param {string} key
   * @param {Record<string, string | number>} [values] each stands for its name in braces
   * @returns {string}
   */
  say(key, values = {}) {
    const text = this.#texts[key] ?? "";
    return text.replace(/\{(\w+)\}/g, (/** @type {string} */ _, /** @type {string} */ name) => {
      const value = values[name];
      // A name keeps its own direction inside the sentence.
      return typeof value === "number" ? this.number(value) : `\u2068${value}\u2069`;
    });
  }

  /** @param {number} n */
  number(n) {
    return this.#number.format(n);
  }

  /** @param {Date} at */
  clock(at) {
    return this.#clock.format(at);
  }

  /** @param {Date} at */
  day(at) {
    return this.#day.format(at);
  }

  /** @param {Date} at */
  moment(at) {
    const isToday = at.toDateString() === new Date().toDateString();
    return isToday ? this.clock(at) : `${this.clock(at)}, ${this.day(at)}`;
  }
}

/** @param {string} tag */
function canonical(tag) {
  try {
    return Intl.getCanonicalLocales(tag)[0];
  } catch {
    return null;
  }
}
