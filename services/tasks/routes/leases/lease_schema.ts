/**
 * Leases as bodies of requests and answers.
 *
 * @module
 */

import { TASK_EXAMPLE, TASK_PART } from "../tasks/task_schema.ts";
import { TASK_STATUSES } from "../../domain/task.ts";
import { PROBLEM_SHAPE } from "../../http/problem_answer.ts";
import { list, nullable, record } from "../../../shared/schema/composite.ts";
import {
  described,
  named,
  type Schema,
  type Shape,
  shape,
  shownObject,
} from "../../../shared/schema/schema.ts";
import {
  boolean,
  choice,
  integer,
  ONE_LINE,
  text,
} from "../../../shared/schema/values.ts";
import { dateTime, durationMs } from "../../domain/value_schemas.ts";
import {
  object,
  type ObjectOf,
  optional,
  withDefault,
} from "../../../shared/schema/object.ts";
import { JOB_NAME, LEASE_TIME } from "../workers/worker_values.ts";

/** Most leases of one answer. */
const MAX_LEASES = 100;

/** The members of a request for tasks. */
const LEASE_FIELDS = {
  max: withDefault(
    integer({ minimum: 1, maximum: MAX_LEASES }),
    1,
    "Most tasks; there may be fewer, however many wait",
  ),
  wait: withDefault(
    durationMs({ maximumMs: 30_000 }),
    "PT0S",
    "How long to wait for the first task",
  ),
  jobs: optional(
    list(JOB_NAME, { minItems: 1, maxItems: 100, isUnique: true }),
    "Only tasks of these jobs",
  ),
  lease: optional(
    LEASE_TIME,
    "How long the leases last; the worker's time if absent",
  ),
  instance: optional(
    text({
      minLength: 1,
      maxLength: 200,
      pattern: ONE_LINE,
      mustBe: "a single line",
    }),
    "The worker's name for its process",
  ),
  secrets: withDefault(
    boolean(),
    false,
    "Whether the leases include the worker's secrets",
  ),
};

/** A request for tasks. */
export type LeaseBody = ObjectOf<typeof LEASE_FIELDS>;

/** A request as an example. */
export const LEASE_BODY_EXAMPLE = {
  max: 10,
  wait: "PT20S",
  instance: "web-1",
} as const;

/** A request for tasks. */
export const LEASE_BODY: Schema<LeaseBody> = named(
  "LeaseWish",
  described(object(LEASE_FIELDS), { examples: [LEASE_BODY_EXAMPLE] }),
);

const LEASE_FACTS = object({
  id: described(text(), "Its id (`lse_…`)"),
  token: described(text(), "What proves that it is yours; send it as bearer"),
  fence: described(
    integer({ minimum: 1 }),
    "Grows with every attempt of the task; give it to your own store to " +
      "refuse what comes from an earlier one",
  ),
  run: integer({ minimum: 0 }),
  attempt: described(integer({ minimum: 1 }), "Which try of the run it is"),
  expires_at: dateTime(),
});

const SECRET_VALUES = record(text({ maxLength: 16_384 }), { maxEntries: 100 });

const LEASE = shownObject({
  ...LEASE_FACTS.json.properties,
  task: TASK_PART.json,
  secrets: SECRET_VALUES.json,
}, ["secrets"]);

/** The leases a worker was given. */
export const LEASES: Shape = named(
  "Leases",
  shape({
    ...shownObject({
      leases: { type: "array", maxItems: MAX_LEASES, items: LEASE },
    }),
    examples: [{
      leases: [{
        id: "lse_01h455vb4pex5vsknk084sn02q_1",
        token: "lt_Qm9ndXMgdG9rZW4gZm9yIHRoZSBkb2N1bWVudGF0aW9u",
        fence: 1,
        run: 0,
        attempt: 1,
        expires_at: "2030-01-31T08:30:30.000Z",
        task: TASK_EXAMPLE,
      }],
    }],
  }, [LEASE_FACTS, TASK_PART, SECRET_VALUES]),
);

const STATE_EXAMPLE = {
  id: "lse_01h455vb4pex5vsknk084sn02q_1",
  task: "tsk_01h455vb4pex5vsknk084sn02q",
  status: "complete",
  date: null,
  expires_at: null,
  canceled: false,
  repeated: false,
} as const;

/** The state of a lease and its task. */
export const LEASE_STATE: Shape = named(
  "LeaseState",
  described(
    object({
      id: described(text(), "The lease"),
      task: described(text(), "The id of its task"),
      status: described(choice(TASK_STATUSES), "The status of the task"),
      date: described(
        nullable(dateTime()),
        "When the task is due next; null when it runs or has ended",
      ),
      expires_at: described(
        nullable(dateTime()),
        "When the lease ends; null when it has",
      ),
      canceled: described(
        boolean(),
        "Whether the task was canceled; stop the work then",
      ),
      repeated: described(
        boolean(),
        "Whether the same was reported before, so nothing was changed",
      ),
    }),
    { examples: [STATE_EXAMPLE] },
  ),
);

const PROBLEM = named("Problem", PROBLEM_SHAPE);

const RESULT = shownObject({
  status: { type: "integer", description: "The status it would have alone" },
  lease: LEASE_STATE.json,
  problem: PROBLEM.json,
}, ["lease", "problem"]);

/** The outcome of each report of a batch. */
export const LEASE_RESULTS: Shape = named(
  "LeaseResults",
  shape({
    ...shownObject({ results: { type: "array", items: RESULT } }),
    examples: [{ results: [{ status: 200, lease: STATE_EXAMPLE }] }],
  }, [LEASE_STATE, PROBLEM]),
);
