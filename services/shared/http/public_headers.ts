/**
 * Header fields in the order they came.
 *
 * @module
 */

import type { HttpHeaders } from "./exchange.ts";

/** The header fields of one request. */
export class PublicHeaders implements HttpHeaders {
  readonly #names: string[] = [];
  readonly #values: string[] = [];

  /** How many lines there are. */
  get size(): number {
    return this.#names.length;
  }

  /** Adds a line; the name is in lower case already. */
  add(name: string, value: string): void {
    this.#names.push(name);
    this.#values.push(value);
  }

  /** The value of a field, or its values joined (RFC 9110, 5.3). */
  get(name: string): string | undefined {
    const wanted = name.toLowerCase();
    const first = this.#names.indexOf(wanted);
    if (first === -1) return undefined;
    return this.#names.indexOf(wanted, first + 1) === -1
      ? this.#values[first]
      : this.all(wanted).join(", ");
  }

  /** Every value of a field, in the order they came. */
  all(name: string): readonly string[] {
    const wanted = name.toLowerCase();
    return this.#values.filter((_, index) => this.#names[index] === wanted);
  }
}
