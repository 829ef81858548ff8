/**
 * Workers as bodies of requests and answers.
 *
 * @module
 */

import { PAGE_FIELDS, type PageQuery, pageShape } from "../../http/page.ts";
import {
  described,
  named,
  type Schema,
  type Shape,
} from "../../../shared/schema/schema.ts";
import {
  type ChangesOf,
  changesOf,
  object,
  type ObjectOf,
  withDefault,
} from "../../../shared/schema/object.ts";
import { queryOf, type QuerySchema } from "../../../shared/schema/query.ts";
import { booleanText } from "../../../shared/schema/query_values.ts";
import { WORKER_FIELDS } from "./worker_fields.ts";

/** Largest body: headers alone may have 64 KiB. */
export const MAX_WORKER_BYTES = 262_144;

/** A good worker to make. */
export const WORKER_EXAMPLE = {
  name: "mailer",
  url: "https://mailer.example.com/tasks?key={{secrets.MAILER_KEY}}",
  jobs: ["welcome", "invoice"],
  concurrency: 20,
  limits: { rate: 100, period: "PT1M" },
} as const;

/** A worker as it is made. */
export type NewWorker = ObjectOf<typeof WORKER_FIELDS>;

/** What is to be changed of a worker: null resets. */
export type WorkerChanges = ObjectOf<ChangesOf<typeof WORKER_FIELDS>>;

/** A worker, to be made or as it is told. */
export const WORKER: Schema<NewWorker> = named(
  "Worker",
  described(object(WORKER_FIELDS), {
    description: "Who does tasks, and how they get there",
    examples: [WORKER_EXAMPLE],
  }),
);

/** A good change. */
export const CHANGES_EXAMPLE = { concurrency: 50, timeout: "PT1M" } as const;

/** A change: members that are given are changed, null resets to the default. */
export const WORKER_CHANGES: Schema<WorkerChanges> = named(
  "WorkerChanges",
  described(object(changesOf(WORKER_FIELDS)), { examples: [CHANGES_EXAMPLE] }),
);

/** A page of workers. */
export const WORKER_PAGE: Shape = described(
  pageShape("WorkerPage", WORKER),
  { examples: [{ data: [WORKER_EXAMPLE], next: null }] },
);

/** The query of a list. */
export const PAGE_QUERY: QuerySchema<PageQuery> = queryOf(PAGE_FIELDS);

/** The query of a removal. */
export const REMOVAL_QUERY: QuerySchema<{ readonly cancel: boolean }> = queryOf(
  {
    cancel: withDefault(
      described(booleanText(), "Whether its live tasks are canceled"),
      false,
    ),
  },
);
