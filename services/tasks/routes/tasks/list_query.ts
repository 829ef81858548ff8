/**
 * The query of the list of tasks.
 *
 * @module
 */

import { TASK_FIELD_NAMES } from "./task_schema.ts";
import { described, type Schema } from "../../../shared/schema/schema.ts";
import { choice, text } from "../../../shared/schema/values.ts";
import { optional, withDefault } from "../../../shared/schema/object.ts";
import {
  prefixed,
  queryOf,
  type QuerySchema,
} from "../../../shared/schema/query.ts";
import {
  booleanText,
  commaList,
  integerText,
} from "../../../shared/schema/query_values.ts";
import {
  BY,
  type FilterInput,
  RANGE_FIELDS,
  STATUS_WORD,
} from "./task_filter.ts";

/** How many entries a page has. */
export const LIMIT: Schema<number> = described(
  integerText({ minimum: 1, maximum: 200 }),
  "Most entries of a page",
);

/** Where a page begins. */
export const CURSOR: Schema<string> = described(
  text({ minLength: 1, maxLength: 2_048 }),
  "`next` of the page before; all else has to be the same",
);

/** Which way a list goes. */
export const ORDER: Schema<"asc" | "desc"> = choice(["asc", "desc"]);

const LABEL = text({ minLength: 1, maxLength: 200 });

/** The query of the list of tasks, as it was read. */
export interface ListInput extends FilterInput {
  /** What orders them. */
  readonly sort: "date" | "created_at";
  /** Which way. */
  readonly order: "asc" | "desc";
  /** Most tasks of the page. */
  readonly limit: number;
  /** Where the page begins. */
  readonly cursor?: string;
  /** Whether to count them. */
  readonly count: boolean;
  /** The fields to show. */
  readonly fields?: readonly string[];
}

/** The query of the list of tasks. */
export const LIST_QUERY: QuerySchema<ListInput> = queryOf({
  worker: optional(described(
    commaList(text({ maxLength: 128 })),
    "Names or ids of workers; one that is not there has no tasks",
  )),
  status: optional(described(
    commaList(STATUS_WORD),
    "Statuses; `active` stands for all of live tasks that are not paused, " +
      "`final` for those of tasks that have ended",
  )),
  ...RANGE_FIELDS,
  by: withDefault(BY, "date"),
  job: optional(described(LABEL, "The job")),
  group: optional(described(
    text({ maxLength: 200 }),
    "The group; empty for tasks without one",
  )),
  key: optional(described(LABEL, "The key")),
  tag: optional(described(commaList(LABEL), "Tags, all of which they have")),
  metadata: prefixed("metadata.", text({ maxLength: 500 })),
  due: optional(described(
    booleanText(),
    "Whether they may be taken by a worker now",
  )),
  error: optional(described(LABEL, "The code of the last error")),
  sort: withDefault(choice(["date", "created_at"]), "date"),
  order: withDefault(ORDER, "asc"),
  limit: withDefault(LIMIT, 50),
  cursor: optional(CURSOR),
  count: withDefault(
    described(booleanText(), "Whether to count them, up to a bound"),
    false,
  ),
  fields: optional(described(
    commaList(choice(TASK_FIELD_NAMES)),
    "The fields to show; the id is shown in any case",
  )),
});
