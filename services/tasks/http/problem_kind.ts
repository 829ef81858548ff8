/**
 * What is told of a kind of problem.
 *
 * @module
 */

import type { JsonValue } from "../../shared/schema/json_schema.ts";

/** One kind of problem. */
export interface ProblemKind {
  /** The HTTP status code. */
  readonly status: number;
  /** A short summary, the same each time. */
  readonly title: string;
  /** When it is answered and what to do about it. */
  readonly description: string;
  /** What an answer may say. */
  readonly example: {
    /** The message of this time. */
    readonly detail: string;
    /** Further members. */
    readonly extensions?: Readonly<Record<string, JsonValue>>;
  };
}
