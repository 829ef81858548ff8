/**
 * The texts on a route in the OpenAPI document.
 *
 * @module
 */

import type { JsonSchema, JsonValue } from "../../../shared/schema/schema.ts";
import type { AnswerPart } from "./answer_parts.ts";

/** The groups of operations, in the order in which the page shows them. */
export const TAGS = [
  { name: "remember", description: "Texts are taken in and become memories" },
  { name: "recall", description: "Memories are found and used" },
  {
    name: "sealed data",
    description: "Memories that clients seal and embed themselves",
  },
  { name: "namespaces" },
  { name: "owners", description: "An owner's data, page by page" },
  { name: "accounts" },
  { name: "service" },
] as const;

/** What the document says of a route beside what the route itself tells. */
export interface RouteWords {
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
  /** An example of the body, for a route that takes one. */
  readonly sent?: JsonValue;
  /**
   * The status of the successful answer.
   * @default {200}
   */
  readonly status?: 202;
  /** The successful answer. */
  readonly answer: Pick<AnswerPart, "json" | "definitions" | "sample">;
  /** What the successful answer means. */
  readonly means: string;
  /**
   * What further answers mean, by status.
   * @default none
   */
  readonly others?: Readonly<Record<number, string>>;
}
