/**
 * Puts together the statement that applies a group of writes: parts that change
 * rows, and demands that each part did something for each of its writes.
 *
 * The writes are the rows of arrays, so a group of any size is one statement of
 * a few parameters, and of the same text as other groups with the same kinds of
 * writes. Long texts are one text with characters 30 between them, which takes
 * less of the processor on both sides than an array with its quotes.
 *
 * @module
 */

import type { Statement } from "./transaction.ts";
import { SqlBuilder } from "./sql_builder.ts";

/** Numbers in an array. */
export type Numbers = (number | null)[];
/** Texts in an array. */
export type Texts = (string | null)[];

const SEPARATOR = "\x1e";
/** Stands for no text, as an empty one would mean an empty array. */
export const NOTHING = "\x1d";

/** Collects the parts of the statement and its parameters. */
export class StatementBuilder extends SqlBuilder {
  readonly #parts: string[] = [];
  readonly #demands: string[] = [];
  /** Selects of what the parts add to counts or sums. */
  readonly counted: string[] = [];

  /** A parameter with numbers. */
  numbers(values: Numbers, type: "integer" | "bigint" | "smallint"): string {
    return this.add(values, `${type}[]`);
  }

  /** A parameter with short texts, which may be empty. */
  texts(values: Texts): string {
    return this.add(values, "text[]");
  }

  /** A parameter with JSON texts. */
  longTexts(values: readonly string[]): string {
    const text = this.add(values.join(SEPARATOR), "text");
    return `string_to_array(${text}, E'\\x1e', E'\\x1d')`;
  }

  /** Adds a part that changes rows. */
  part(name: string, sql: string): void {
    this.#parts.push(`${name} AS (${sql})`);
  }

  /** Demands that a part did something for each of its writes. */
  demand(name: string, count: number): void {
    const expected = this.add(count, "bigint");
    this.#demands.push(`(SELECT count(*) FROM ${name}) = ${expected}`);
  }

  /** Demands that a condition holds. */
  demandThat(condition: string): void {
    this.#demands.push(condition);
  }

  /** The statement; it fails where a demand does not hold. */
  build(): Statement {
    const demands = this.#demands.length === 0
      ? "SELECT 1"
      : `SELECT demand(${this.#demands.join(" AND ")})`;
    return {
      sql: this.#parts.length === 0
        ? demands
        : `WITH ${this.#parts.join(",\n")}\n${demands}`,
      parameters: this.parameters,
    };
  }
}
