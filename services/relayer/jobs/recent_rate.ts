/**
 * How often something happened lately.
 *
 * @module
 */

/** The length of a span; the last whole one and the current one count. */
const SPAN_MS = 250;

/** Counts in two spans: cheap, and never more than a span behind. */
export class RecentRate {
  #span = -Infinity;
  #current = 0;
  #last = 0;

  /** It happened. */
  count(nowMs: number): void {
    this.#turn(nowMs);
    this.#current++;
  }

  /** How often a second, by the last quarter or half of one. */
  perSecond(nowMs: number): number {
    this.#turn(nowMs);
    return Math.max(this.#current, this.#last) * (1_000 / SPAN_MS);
  }

  #turn(nowMs: number): void {
    const span = Math.floor(nowMs / SPAN_MS);
    if (span === this.#span) return;
    this.#last = span === this.#span + 1 ? this.#current : 0;
    this.#current = 0;
    this.#span = span;
  }
}
