/**
 * Collects the parts of a statement that applies changes, and their parameters.
 *
 * @module
 */

import { StatementBuilder } from "../../../shared/postgres/statement_builder.ts";

/** Builds the statement of a group that is applied at an instant. */
export class ChangeBuilder extends StatementBuilder {
  readonly #nowMs: number;
  #now: string | undefined;

  /** Without parts; `nowMs` is the instant, in milliseconds since the epoch. */
  constructor(nowMs: number) {
    super();
    this.#nowMs = nowMs;
  }

  /** The instant. */
  get now(): string {
    this.#now ??= this.add(this.#nowMs, "bigint");
    return this.#now;
  }

  /** A parameter with bytes. */
  bytes(values: readonly (Uint8Array | null)[]): string {
    return this.add(values, "bytea[]");
  }
}
