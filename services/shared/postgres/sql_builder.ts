/**
 * Collects the parameters of a statement while its text is put together.
 *
 * @module
 */

import type { SqlParameter } from "./values.ts";

/** Collects parameters. */
export class SqlBuilder {
  readonly #parameters: SqlParameter[] = [];

  /** The parameters so far. */
  get parameters(): readonly SqlParameter[] {
    return this.#parameters;
  }

  /** Adds a parameter and returns its SQL. */
  add(value: SqlParameter, type: string): string {
    return `$${this.#parameters.push(value)}::${type}`;
  }
}
