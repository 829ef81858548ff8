/**
 * The fields of workers, as the API reads and shows them.
 *
 * @module
 */

import { SILENT_AFTER_MS } from "../../domain/explain.ts";
import { list, nullable, record } from "../../../shared/schema/composite.ts";
import {
  type ChangesOf,
  object,
  type ObjectOf,
  optional,
  readOnly,
  settable,
  toChanges,
  withDefault,
} from "../../../shared/schema/object.ts";
import {
  described,
  named,
  type Schema,
  shape,
} from "../../../shared/schema/schema.ts";
import {
  boolean,
  choice,
  integer,
  text,
} from "../../../shared/schema/values.ts";
import type { WorkerDefinition } from "../../domain/records.ts";
import { guided, WORKER_WORDS } from "../../domain/other_words.ts";
import { RETAIN, showRetain } from "../../domain/retention.ts";
import { MAX_HEADERS } from "../../delivery/call_rules.ts";
import { policyWithUnits, RETRY_POLICY } from "../../domain/retry_schema.ts";
import type { TaskStatus } from "../../domain/task.ts";
import { optionalTime, utcTime } from "../../domain/instant.ts";
import { ATTEMPT_TIME, dateTime } from "../../domain/value_schemas.ts";
import type { WorkerLife } from "../../engine/workers.ts";
import {
  createViewer,
  type FieldsOf,
  type RecordTable,
  type RecordView,
  toFields,
} from "../record_table.ts";
import {
  CALL_URL,
  exactTime,
  JOBS,
  LEASE_TIME,
  LIMITS,
  viewJobs,
  viewLimits,
  WORKER_NAME,
} from "./worker_values.ts";

const WHOLE = integer({ minimum: 0 });

/** What is needed besides a worker's definition to show it. */
export interface WorkerFacts {
  /** When the worker was last seen; undefined when it never was. */
  readonly life: Omit<WorkerLife, "jobSeenAtMs"> | undefined;
  /** The number of its tasks by status. */
  readonly counts: Readonly<Partial<Record<TaskStatus, number>>>;
  /** The present, in milliseconds since the epoch. */
  readonly nowMs: number;
}

/**
 * Tells the status of a worker. A pull worker is known to be alive by its
 * requests for tasks; a push worker, which is called, makes none.
 */
export function workerStatus(
  { kind, isPaused }: Pick<WorkerDefinition, "kind" | "isPaused">,
  { life, counts, nowMs }: WorkerFacts,
): "idle" | "active" | "stale" | "paused" {
  const { waiting = 0, running = 0 } = counts;
  if (isPaused) return "paused";
  if (running > 0) return "active";
  if (kind === "push") return waiting > 0 ? "active" : "idle";
  if (life !== undefined && nowMs - life.lastSeenAtMs < SILENT_AFTER_MS) {
    return "active";
  }
  return life !== undefined || waiting > 0 ? "stale" : "idle";
}

/**
 * Fields that the service observes, which change although the worker's
 * definition does not.
 */
const LIVE_TABLE = {
  status: {
    field: readOnly(
      choice(["idle", "active", "stale", "paused"]),
      "`active`: has tasks under way or asked for some within the " +
        "last minute. `stale`: did not ask for a minute though it had " +
        "before or tasks wait. `idle`: nothing to do. `paused`: is " +
        "given nothing",
    ),
    show: workerStatus,
  },
  last_seen_at: {
    field: readOnly(
      nullable(dateTime()),
      "When it last asked for tasks, since the service was started",
    ),
    show: (_: WorkerDefinition, { life }: WorkerFacts) =>
      optionalTime(life?.lastSeenAtMs),
  },
  instances: {
    field: readOnly(
      list(
        object({
          name: described(text(), "What the process calls itself (`instance`)"),
          last_seen_at: described(dateTime(), "When it last asked for tasks"),
        }),
        {
          maxItems: 100,
        },
      ),
      "Its processes, as they call themselves, since the service was started",
    ),
    show: (_: WorkerDefinition, { life }: WorkerFacts) =>
      [...life?.instances ?? []].map(([name, atMs]) => ({
        name,
        last_seen_at: utcTime(atMs),
      })),
  },
  counts: {
    field: readOnly(
      object({
        waiting: described(WHOLE, "Those that are due and not taken"),
        running: described(WHOLE, "Those under way"),
        retry: described(WHOLE, "Those that failed and are tried again"),
        failed: described(WHOLE, "Those that have failed for good"),
      }),
      "How many tasks it has",
    ),
    show: (_: WorkerDefinition, { counts }: WorkerFacts) => ({
      waiting: counts.waiting ?? 0,
      running: counts.running ?? 0,
      retry: counts.retry ?? 0,
      failed: counts.failed ?? 0,
    }),
  },
} as const satisfies RecordTable<WorkerDefinition, WorkerFacts>;

/** Tells whether a field is one that the service observes. */
export function isLive(name: string): boolean {
  return Object.hasOwn(LIVE_TABLE, name);
}

/**
 * The fields of a worker: those that clients decide, and those of the service.
 */
export const WORKER_TABLE = {
  id: { field: readOnly(text(), "Begins with `wrk_`"), key: "id" },
  name: {
    field: described(WORKER_NAME, "Unique whatever the case"),
    key: "name",
  },
  kind: {
    field: readOnly(
      choice(["push", "pull"]),
      "`push` with a `url`: the service calls it; `pull`: it asks for tasks",
    ),
    key: "kind",
  },
  url: {
    field: settable(
      CALL_URL,
      "Where to call it; path and query may hold `{{secrets.NAME}}`",
    ),
    key: "url",
    show: ({ url }: WorkerDefinition) => url ?? null,
  },
  method: {
    field: withDefault(
      choice(["POST", "PUT", "PATCH"]),
      "POST",
      "How it is called",
    ),
    key: "method",
  },
  headers: {
    field: withDefault(
      record(text({ maxLength: 8_192 }), { maxEntries: MAX_HEADERS }),
      {},
      "Headers of its calls; values may hold `{{secrets.NAME}}`",
    ),
    key: "headers",
  },
  jobs: {
    field: optional(
      nullable(JOBS),
      "The jobs it has: names, or an object of what each has of its own; " +
        "null takes any job",
    ),
    key: "jobs",
    show: ({ jobs }: WorkerDefinition) =>
      jobs === undefined ? null : viewJobs(jobs),
  },
  concurrency: {
    field: withDefault(
      integer({ minimum: 0, maximum: 100_000 }),
      10,
      "Most tasks under way at once; 0 for as many as the plan allows",
    ),
    key: "concurrency",
  },
  limits: {
    field: settable(
      LIMITS,
      "Limits on its tasks besides `concurrency`: starts in a " +
        "time, and tasks of a group at once; nothing when absent",
    ),
    key: "limits",
    show: ({ limits }: WorkerDefinition) =>
      limits === undefined ? null : viewLimits(limits),
  },
  timeout: {
    field: withDefault(
      ATTEMPT_TIME,
      "PT30S",
      "How long an attempt may take, one that is answered with 202 and a " +
        "`task-lease` included: no lease is longer",
    ),
    key: "timeoutMs",
  },
  lease: {
    field: withDefault(
      LEASE_TIME,
      "PT30S",
      "How long a lease lasts unless asked otherwise",
    ),
    key: "leaseMs",
    show: ({ leaseMs }: WorkerDefinition) => exactTime(leaseMs),
  },
  retry: {
    field: optional(
      RETRY_POLICY,
      "The policy of tasks without one; null means no retries, `{}` the " +
        "service's policy",
    ),
    key: "retry",
    show: ({ retry }: WorkerDefinition) => policyWithUnits(retry),
  },
  retain: {
    field: settable(
      RETAIN,
      "How long its tasks are kept after their end, unless they or their job " +
        "say otherwise; as the plan says when absent. It holds for tasks that " +
        "end from now on",
    ),
    key: "retain",
    show: ({ retain }: WorkerDefinition) => showRetain(retain),
  },
  max_lost: {
    field: withDefault(
      integer({ minimum: 0, maximum: 100 }),
      3,
      "Lost attempts in a row after which the next one is a failure",
    ),
    key: "maxLost",
  },
  paused: {
    field: withDefault(boolean(), false, "Whether it is given nothing"),
    key: "isPaused",
  },
  asymmetric: {
    field: withDefault(
      boolean(),
      false,
      "Whether calls are signed with a key pair as well",
    ),
    show: ({ asymmetric }: WorkerDefinition) => asymmetric !== undefined,
  },
  public_key: {
    field: readOnly(
      nullable(text()),
      "The public half of the key pair (`whpk_…`)",
    ),
    show: ({ asymmetric }: WorkerDefinition) => asymmetric?.publicKey ?? null,
  },
  signing_secret: {
    field: readOnly(
      nullable(text()),
      "The new secret that signs its calls and those at the end of " +
        "its tasks (`whsec_…`). It is shown once: in the answer that " +
        "made it, and not when that is given again",
    ),
  },
  paused_at: {
    field: readOnly(
      nullable(dateTime()),
      "Since when it is given nothing; null while it is",
    ),
    show: ({ pausedAtMs }: WorkerDefinition) => optionalTime(pausedAtMs),
  },
  paused_by: {
    field: readOnly(nullable(text()), "Who paused it: `type:id`"),
    show: ({ pausedBy }: WorkerDefinition) => pausedBy ?? null,
  },
  ...LIVE_TABLE,
  created_at: {
    field: readOnly(dateTime(), "When it was created"),
    show: ({ createdAtMs }: WorkerDefinition) => utcTime(createdAtMs),
  },
  updated_at: {
    field: readOnly(dateTime(), "When its definition changed last"),
    show: ({ updatedAtMs }: WorkerDefinition) => utcTime(updatedAtMs),
  },
  version: {
    field: readOnly(WHOLE, "Grows by one with each change of its definition"),
    key: "version",
  },
  links: {
    field: readOnly(
      shape({ type: "object", additionalProperties: { type: "string" } }),
      "Related paths of the API: itself, its secrets, its tasks",
    ),
    show: ({ id }: WorkerDefinition) => ({
      self: `/api/v1/workers/${id}`,
      secrets: `/api/v1/workers/${id}/secrets`,
      tasks: `/api/v1/tasks?worker=${id}`,
    }),
  },
} as const satisfies RecordTable<WorkerDefinition, WorkerFacts>;

/** The schemas of the fields. */
export const WORKER_FIELDS: FieldsOf<typeof WORKER_TABLE> = toFields(
  WORKER_TABLE,
);

/** A worker as the API shows it; its secrets are not part of it. */
export const viewWorker: (
  worker: WorkerDefinition,
  facts: WorkerFacts,
) => RecordView = createViewer(WORKER_TABLE);

/** The largest body, in bytes: headers alone may have 64 KiB. */
export const MAX_WORKER_BYTES = 262_144;

/** An example of a body that creates a worker. */
export const WORKER_EXAMPLE = {
  name: "mailer",
  url: "https://mailer.example.com/tasks?key={{secrets.MAILER_KEY}}",
  jobs: ["welcome", "invoice"],
  concurrency: 20,
  limits: { rate: 100, period: "PT1M" },
} as const;

/** The body that creates a worker. */
export type NewWorker = ObjectOf<typeof WORKER_FIELDS>;

/** The body that changes a worker; null resets a field. */
export type WorkerChanges = ObjectOf<ChangesOf<typeof WORKER_FIELDS>>;

/** The schema of a worker, to be created or as it is shown. */
export const WORKER: Schema<NewWorker> = named(
  "Worker",
  guided(object(WORKER_FIELDS), WORKER_WORDS),
  {
    description: "A worker that does tasks, and the way tasks reach it",
    examples: [WORKER_EXAMPLE],
  },
);

/** An example of a body that changes a worker. */
export const CHANGES_EXAMPLE = { concurrency: 50, timeout: "PT1M" } as const;

/**
 * The schema of a body that changes a worker: given members are changed, null
 * resets one to its default.
 */
export const WORKER_CHANGES: Schema<WorkerChanges> = named(
  "WorkerChanges",
  guided(object(toChanges(WORKER_FIELDS)), WORKER_WORDS),
  {
    description: "Given fields are changed, others stay, and null " +
      "resets a field to its default",
    examples: [CHANGES_EXAMPLE],
  },
);
