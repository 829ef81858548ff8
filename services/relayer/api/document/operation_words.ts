/**
 * What the relayer's document says of a route in words, and values that several of its
 * examples have.
 *
 * @module
 */

import type { JsonSchema, JsonValue } from "../../../shared/schema/schema.ts";

/** The groups of operations, in the order of the page. */
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
  /** The group. */
  readonly tag: typeof TAGS[number]["name"];
  /** What it does, in a line. */
  readonly summary: string;
  /**
   * What else is worth knowing.
   * @default nothing
   */
  readonly description?: string;
  /**
   * What the query may hold, by name.
   * @default nothing
   */
  readonly query?: Readonly<Record<string, JsonSchema>>;
  /**
   * The body of a route that has no schema of its own.
   * @default that of the route
   */
  readonly body?: JsonSchema;
  /** A good body, of a route that takes one. */
  readonly sent?: JsonValue;
  /**
   * The status of the good answer.
   * @default {200}
   */
  readonly status?: 202;
  /** The schema of the good answer; undefined where any JSON may come. */
  readonly answer: string | undefined;
  /** What the good answer means. */
  readonly means: string;
  /** A good answer. */
  readonly example: JsonValue;
  /**
   * Further answers, by status, with what they mean.
   * @default none
   */
  readonly others?: Readonly<Record<number, string>>;
}

/** An owner's address, for examples. */
export const OWNER = `0x${"a2".repeat(32)}`;
/** A memory's id. */
export const ID = "mem_01jz8k3v9x";
/** A blob's id. */
export const BLOB = "u3Yx0l5Gq1cF7bWm";
/** An instant. */
export const AT = "2030-01-31T12:00:00.000Z";
