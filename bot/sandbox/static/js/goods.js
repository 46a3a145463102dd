/** Which picture stands for a thing on an order: the first word of its name that says so. */

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

/** Return the icon's name. */
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
