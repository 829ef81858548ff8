/**
 * Which tasks a client means: the filter of lists and of bulk actions.
 *
 * @module
 */

import { quote } from "../../../shared/quote.ts";
import { described, type Schema } from "../../../shared/schema/schema.ts";
import { choice, text } from "../../../shared/schema/values.ts";
import {
  type ObjectOf,
  optional,
  withDefault,
} from "../../../shared/schema/object.ts";
import {
  type InstantRange,
  type InstantRangeInput,
  parseInstantRange,
} from "../../domain/instant.ts";
import {
  FINAL_STATUSES,
  TASK_STATUSES,
  type TaskStatus,
} from "../../domain/task.ts";
import type { EngineParts } from "../../engine/parts.ts";
import type { TaskFilter } from "../../engine/bulk/order.ts";
import type { TaskQuery } from "../../store/queries.ts";

/** Words for statuses, with what each stands for. */
const STATUS_WORDS: Readonly<Record<string, readonly TaskStatus[]>> = {
  ...Object.fromEntries(TASK_STATUSES.map((status) => [status, [status]])),
  cancel: ["canceled"],
  cancelled: ["canceled"],
  completed: ["complete"],
  active: ["waiting", "running", "retry", "done", "scheduled", "blocked"],
  final: FINAL_STATUSES,
};

/** A word for one or several statuses. */
export const STATUS_WORD: Schema<string> = choice(Object.keys(STATUS_WORDS));

/** A label of a task. */
export const LABEL: Schema<string> = text({ minLength: 1, maxLength: 200 });

const BY: Schema<TaskQuery["by"]> = described(
  choice(["date", "created_at", "finished_at"]),
  "The time that start and end bound",
);

const TIME = text({ minLength: 1, maxLength: 64 });

/** The conditions that lists and bulk actions write alike. */
export const FILTER_FIELDS = {
  start: optional(described(
    TIME,
    "From then on: YYYY, YYYY-MM, YYYY-MM-DD or RFC 3339; the whole of it",
  )),
  end: optional(described(
    TIME,
    "Up to then, as `start`; the whole of it is included",
  )),
  tz: optional(described(
    TIME,
    "The zone of years, months and days; UTC when absent",
  )),
  by: withDefault(BY, "date" as const),
  job: optional(described(LABEL, "The job")),
  group: optional(described(
    text({ maxLength: 200 }),
    "The group; empty for tasks without one",
  )),
  key: optional(described(LABEL, "The key")),
  error: optional(described(LABEL, "The code of the last error")),
};

/** A filter as a client wrote it. */
export interface FilterInput extends ObjectOf<typeof FILTER_FIELDS> {
  /** Names or ids of workers. */
  readonly worker?: readonly string[];
  /** Words for statuses. */
  readonly status?: readonly string[];
  /** All of these tags. */
  readonly tag?: readonly string[];
  /** All of these labels. */
  readonly metadata?: Readonly<Record<string, string>>;
  /** Whether they may be taken now. */
  readonly due?: boolean;
}

/** One thing that is wrong with a filter. */
export interface FilterProblem {
  /** The name of the field. */
  readonly field: string;
  /** The kind of fault. */
  readonly code: string;
  /** What is wrong, as a message for the client. */
  readonly reason: string;
}

/** What reading a filter comes to. */
export type FilterOutcome =
  | { readonly kind: "ok"; readonly filter: TaskFilter }
  | { readonly kind: "invalid"; readonly problems: readonly FilterProblem[] };

/** What a filter is read in. */
export interface ReadFilterOptions {
  /** The tenant. */
  readonly tenantId: string;
  /** The workers, which are looked up. */
  readonly workers: EngineParts["workers"];
  /**
   * Whether a worker that is not there is a fault; it has no tasks otherwise.
   * @default {false}
   */
  readonly demandsWorkers?: boolean;
}

/** Reads a filter. */
export async function readFilter(
  input: FilterInput,
  { tenantId, workers, demandsWorkers = false }: ReadFilterOptions,
): Promise<FilterOutcome> {
  const problems: FilterProblem[] = [];
  const range = rangeOf(input, problems);
  const workerIds: string[] = [];
  for (const name of input.worker ?? []) {
    const worker = await workers.find(tenantId, name);
    // Tasks outlive their worker, so its id is good for ever.
    const id = worker?.id ??
      (/^wrk_[0-9a-z]{26}$/.test(name) ? name : undefined);
    if (id !== undefined) workerIds.push(id);
    else if (demandsWorkers) problems.push(unknownWorker(name));
  }
  if (problems.length > 0) return { kind: "invalid", problems };
  const { by, job, group, key, tag, metadata, due, error } = input;
  const statuses = input.status?.flatMap((word) => STATUS_WORDS[word] ?? []);
  return {
    kind: "ok",
    filter: {
      by,
      ...range,
      workerIds: input.worker && [...new Set(workerIds)],
      statuses: statuses && [...new Set(statuses)],
      job,
      group,
      key,
      tags: tag,
      metadata,
      isDue: due,
      errorCode: error,
    },
  };
}

function rangeOf(
  input: InstantRangeInput,
  problems: FilterProblem[],
): InstantRange {
  const outcome = parseInstantRange(input);
  if (outcome.kind === "ok") return outcome.value;
  for (const { parameter, code, reason } of outcome.problems) {
    problems.push({ field: parameter, code, reason });
  }
  return {};
}

function unknownWorker(name: string): FilterProblem {
  return {
    field: "worker",
    code: "unknown_worker",
    reason: `Cannot look for worker ${quote(name, { maxChars: 64 })}: there ` +
      "is none of that name",
  };
}
