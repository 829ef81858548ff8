/**
 * Schemas of workers: their fields, and workers as they are made and changed.
 *
 * @module
 */

import {
  list,
  nullable,
  oneOf,
  record,
  refined,
} from "../../../shared/schema/composite.ts";
import {
  type ChangesOf,
  changesOf,
  object,
  type ObjectOf,
  optional,
  readOnly,
  withDefault,
} from "../../../shared/schema/object.ts";
import { queryOf, type QuerySchema } from "../../../shared/schema/query.ts";
import { booleanText } from "../../../shared/schema/query_values.ts";
import {
  described,
  isJsonObject,
  named,
  type Schema,
  shape,
} from "../../../shared/schema/schema.ts";
import {
  boolean,
  choice,
  integer,
  ONE_LINE,
  text,
} from "../../../shared/schema/values.ts";
import { RETRY_POLICY } from "../../domain/retry_schema.ts";
import { dateTime, durationMs } from "../../domain/value_schemas.ts";

/** Most jobs of a worker. */
const MAX_JOBS = 500;
/** Most starts in a period: each is remembered for as long as it counts. */
const MAX_RATE = 10_000;

const SECOND_MS = 1_000;
const HOUR_MS = 3_600_000;
const DAY_MS = 86_400_000;

/** A name can be part of a path and of a comma list, and is never like an id. */
const NAME = text({
  minLength: 1,
  maxLength: 64,
  pattern: /^(?![Ww][Rr][Kk]_)[A-Za-z0-9][A-Za-z0-9._-]*$/,
  mustBe: 'letters, digits, ".", "_" and "-" with a letter or digit first, ' +
    'and unlike an id ("wrk_…")',
});

/** The name of a job. */
export const JOB_NAME: Schema<string> = text({
  minLength: 1,
  maxLength: 128,
  pattern: ONE_LINE,
  mustBe: "a single line",
});

/** How long a lease may last. */
export const LEASE_TIME: Schema<number> = durationMs({
  minimumMs: 5 * SECOND_MS,
  maximumMs: HOUR_MS,
});

const URL_TEXT = text({ minLength: 1, maxLength: 4_096 });

const TIMEOUT = durationMs({
  numberUnit: "milliseconds",
  minimumMs: SECOND_MS,
  maximumMs: DAY_MS,
});

const JOB = object({
  url: optional(nullable(URL_TEXT)),
  timeout: optional(nullable(TIMEOUT)),
  retry: optional(RETRY_POLICY),
});

const JOBS = oneOf([
  {
    when: Array.isArray,
    schema: list(JOB_NAME, {
      minItems: 1,
      maxItems: MAX_JOBS,
      isUnique: true,
    }),
  },
  {
    when: isJsonObject,
    schema: refined(
      record(JOB, { maxEntries: MAX_JOBS, names: JOB_NAME }),
      (jobs) =>
        Object.keys(jobs).length > 0 ? [] : [{
          code: "too_few",
          reason: "Cannot take value: it has no job; null means any job",
        }],
    ),
  },
], { mustBe: "a list of names nor an object of jobs" });

const LIMITS = refined(
  object({
    rate: optional(nullable(integer({ minimum: 1, maximum: MAX_RATE }))),
    period: optional(nullable(durationMs({
      minimumMs: SECOND_MS,
      maximumMs: DAY_MS,
    }))),
    per: optional(nullable(choice(["worker", "group"]))),
    group_concurrency: optional(
      nullable(integer({ minimum: 1, maximum: 100_000 })),
    ),
  }),
  ({ rate, period, per }) =>
    typeof rate === "number" || (period ?? per ?? undefined) === undefined
      ? []
      : [{
        pointer: "/rate",
        code: "required",
        reason: 'Cannot do without field "rate": "period" and "per" are ' +
          "about it",
      }],
);

const WHOLE = integer({ minimum: 0 });

/** What the service observes, which changes while the worker does not. */
export const LIVE_FIELDS = {
  status: readOnly(described(
    choice(["idle", "active", "stale", "paused"]),
    "`active`: has tasks under way or asked for some within the last minute; " +
      "`stale`: did not ask for a minute though it had before or tasks wait; " +
      "`idle`: nothing to do; `paused`: is given nothing",
  )),
  last_seen_at: readOnly(described(
    nullable(dateTime()),
    "When it last asked for tasks, since the service was started",
  )),
  instances: readOnly(described(
    list(object({ name: text(), last_seen_at: dateTime() }), {
      maxItems: 100,
    }),
    "Its processes, as they call themselves, since the service was started",
  )),
  counts: readOnly(described(
    object({ waiting: WHOLE, running: WHOLE, retry: WHOLE, failed: WHOLE }),
    "How many tasks it has",
  )),
};

/** What clients decide of a worker, and what the service does. */
export const WORKER_FIELDS = {
  id: readOnly(text()),
  name: described(NAME, "Unique whatever the case"),
  kind: readOnly(described(
    choice(["push", "pull"]),
    "`push` with a `url`: the service calls it; `pull`: it asks for tasks",
  )),
  url: optional(described(
    nullable(URL_TEXT),
    "Where to call it; path and query may hold `{{secrets.NAME}}`",
  )),
  method: withDefault(choice(["POST", "PUT", "PATCH"]), "POST"),
  headers: withDefault(
    described(
      record(text({ maxLength: 8_192 }), { maxEntries: 64 }),
      "Headers of its calls; values may hold `{{secrets.NAME}}`",
    ),
    {},
  ),
  jobs: optional(described(
    nullable(JOBS),
    "The jobs it has: names, or an object of what each has of its own; " +
      "null takes any job",
  )),
  concurrency: withDefault(
    described(
      integer({ minimum: 0, maximum: 100_000 }),
      "Most tasks under way at once; 0 for as many as the plan allows",
    ),
    10,
  ),
  limits: optional(described(
    nullable(LIMITS),
    "At most `rate` starts in a `period` (PT1S), `per` worker or group; " +
      "`group_concurrency` tasks of a group at once",
  )),
  timeout: withDefault(
    described(
      TIMEOUT,
      "How long an attempt may take, one that is answered with 202 and a " +
        "`task-lease` included: no lease is longer",
    ),
    "PT30S",
  ),
  lease: withDefault(
    described(LEASE_TIME, "How long a lease lasts unless asked otherwise"),
    "PT30S",
  ),
  retry: optional(described(
    RETRY_POLICY,
    "The policy of tasks without one; null means no retries, `{}` the " +
      "service's policy",
  )),
  max_lost: withDefault(
    described(
      integer({ minimum: 0, maximum: 100 }),
      "Lost attempts in a row after which the next one is a failure",
    ),
    3,
  ),
  paused: withDefault(
    described(boolean(), "Whether it is given nothing"),
    false,
  ),
  asymmetric: withDefault(
    described(boolean(), "Whether calls are signed with a key pair as well"),
    false,
  ),
  public_key: readOnly(described(
    nullable(text()),
    "The public half of the key pair (`whpk_…`)",
  )),
  signing_secret: readOnly(described(
    nullable(text()),
    "The new secret that signs its calls and those at the end of its tasks " +
      "(`whsec_…`), shown once: in the answer that made it, and not when that " +
      "is given again",
  )),
  paused_at: readOnly(nullable(dateTime())),
  paused_by: readOnly(described(nullable(text()), "Who paused it: `type:id`")),
  ...LIVE_FIELDS,
  created_at: readOnly(dateTime()),
  updated_at: readOnly(dateTime()),
  version: readOnly(WHOLE),
  links: readOnly(shape({
    type: "object",
    additionalProperties: { type: "string" },
  })),
};

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

/** The changes of a worker: null resets. */
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

/** The query of a removal. */
export const REMOVAL_QUERY: QuerySchema<{ readonly cancel: boolean }> = queryOf(
  {
    cancel: withDefault(
      described(booleanText(), "Whether its live tasks are canceled"),
      false,
    ),
  },
);
