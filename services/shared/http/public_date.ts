/**
 * The date field of answers (RFC 9110, 6.6.1), made once a second.
 *
 * @module
 */

/** Writes times down, and remembers the last second. */
export class PublicDate {
  #second = NaN;
  #text = "";

  /** The time as a date field has it. */
  at(nowMs: number): string {
    const second = Math.floor(nowMs / 1000);
    if (second !== this.#second) {
      this.#second = second;
      this.#text = new Date(second * 1000).toUTCString();
    }
    return this.#text;
  }
}
