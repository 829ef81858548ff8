/**
 * The type of a route's texts in the relayer's OpenAPI document, and values
 * that several examples share.
 *
 * @module
 */

import type { JsonSchema, JsonValue } from "../../../shared/schema/schema.ts";

/** The groups of operations, in the order in which the page shows them. */
export const TAGS = [
  { name: "remember", description: "Texts are taken in and become memories" },
  { name: "recall", description: "Memories are found and used" },
  {
    name: "sealed data",
    description: "Memories that clients seal and embed themselves",
  },
  { name: "namespaces" },
  { name: "owners", description: "What an owner has, page by page" },
  { name: "accounts" },
  { name: "service" },
] as const;

/** What the document says of a route beside what the route itself tells. */
export interface OperationWords {
  /** The operation's id. */
  readonly id: string;
  /** The group that the operation is shown in. */
  readonly tag: typeof TAGS[number]["name"];
  /** What the operation does, in one line. */
  readonly summary: string;
  /**
   * Further facts about the operation.
   * @default none
   */
  readonly description?: string;
  /**
   * Schemas of the query's parameters, by name.
   * @default none
   */
  readonly query?: Readonly<Record<string, JsonSchema>>;
  /**
   * The schema of the body, for a route that has none of its own.
   * @default the route's schema
   */
  readonly body?: JsonSchema;
  /** An example of the body, for a route that takes one. */
  readonly sent?: JsonValue;
  /**
   * The status of the successful answer.
   * @default {200}
   */
  readonly status?: 202;
  /**
   * The name of the schema of the successful answer; undefined where it may be
   * any JSON.
   */
  readonly answer: string | undefined;
  /** What the successful answer means. */
  readonly means: string;
  /** An example of the successful answer. */
  readonly example: JsonValue;
  /**
   * What further answers mean, by status.
   * @default none
   */
  readonly others?: Readonly<Record<number, string>>;
}

/** An owner's address, for examples. */
export const OWNER = `0x${"a2".repeat(32)}`;
/** A memory's id, for examples. */
export const ID = "mem_01jz8k3v9x";
/** A blob's id, for examples. */
export const BLOB = "u3Yx0l5Gq1cF7bWm";
/** An instant, for examples. */
export const AT = "2030-01-31T12:00:00.000Z";
