/** Keep the end of a scrolling box in view for whoever is reading there. */

const NEAR_PX = 100;

export class Tail {
  #box;
  #isAtEnd = true;

  constructor(box) {
    this.#box = box;
    box.addEventListener("scroll", () => this.#measure(), { passive: true });
    // A box that was out of sight, or that a growing composer has made smaller.
    new ResizeObserver(() => this.#follow()).observe(box);
  }

  /** Change what the box shows; with `always` its end comes into view in any case. */
  keep(draw, always = false) {
    draw();
    this.#isAtEnd ||= always;
    this.#follow();
  }

  #measure() {
    const { scrollHeight, scrollTop, clientHeight } = this.#box;
    if (clientHeight > 0) {
      this.#isAtEnd = scrollHeight - scrollTop - clientHeight < NEAR_PX;
    }
  }

  #follow() {
    if (this.#isAtEnd) {
      this.#box.scrollTop = this.#box.scrollHeight;
    }
  }
}
