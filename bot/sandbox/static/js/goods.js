/** What a thing on an order is, told by the words of its name. */

const PICTURES = [
  [/armchair|sofa|couch/i, "sofa"],
  [/chair|stool/i, "chair"],
  [/lamp|light/i, "lamp"],
  [/tea ?pot|kettle/i, "kettle"],
  [/\b(mug|cup)\b/i, "mug"],
  [/laptop|notebook/i, "notebook"],
  [/desk|table/i, "desk"],
  [/shelf|bookcase/i, "shelf"],
  [/headphone|earphone|headset/i, "headphones"],
  [/beans/i, "beans"],
  [/coffee|espresso/i, "coffee"],
  [/\bpan\b|skillet/i, "pan"],
  [/towel/i, "towel"],
  [/rug|carpet/i, "rug"],
  [/record|turntable|vinyl/i, "record"],
  [/cooker|\bpot\b/i, "pot"],
  [/candle/i, "candle"],
];
const TONES = 5;

/** Return the one word that says what the thing is, null if none is known. */
export function wordOf(name) {
  for (const [words] of PICTURES) {
    const found = words.exec(name);
    if (found) {
      return found[0].toLowerCase();
    }
  }
  return null;
}

/** Return the name of the icon that stands for the thing. */
export function pictureOf(name) {
  return PICTURES.find(([words]) => words.test(name))?.[1] ?? "parcel";
}

/** Return one of a few background tones, always the same for the same name. */
export function toneOf(name) {
  let sum = 0;
  for (const char of name) {
    sum = (sum * 31 + char.codePointAt(0)) % 9973;
  }
  return sum % TONES;
}
