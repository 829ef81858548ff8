/**
 * Records of a task's history and its attempts as the API shows them.
 *
 * @module
 */

import {
  ACTOR,
  COUNT,
  COUNT_OR_NULL,
  TASK_ERROR,
  TEXT,
  TEXT_OR_NULL,
  TIME,
  TIME_OR_NULL,
} from "../../domain/task_values.ts";
import {
  HISTORY_TYPES,
  type HistoryDraft,
  type HistoryRecord,
} from "../../domain/history.ts";
import { TASK_STATUSES } from "../../domain/task.ts";
import {
  described,
  type JsonObject,
  type JsonSchema,
  named,
  type Shape,
  shape,
  shownObject,
} from "../../../shared/schema/schema.ts";
import { utcTime } from "../../domain/utc_time.ts";
import { viewError } from "./task_view.ts";

/** The answer to a push call. */
const HTTP: JsonSchema = {
  ...shownObject({ status: { type: "integer" }, duration_ms: COUNT }),
  description: "The answer to a push call",
};

/** What a folding dropped. */
const FOLDED: JsonSchema = {
  ...shownObject({ count: COUNT, hash: TEXT }),
  description: "Which records were dropped: how many up to now, and the hash " +
    "of the last, which is the `prev` of the first one that is left",
};

const RECORD_EXAMPLE: JsonObject = {
  seq: 1,
  at: "2027-01-15T08:00:00.000Z",
  type: "created",
  status: "waiting",
  run: 0,
  actor: { type: "key", id: "dk_0123456789abcdef" },
  prev: "",
  hash: "mvW5Ct5z4OWUS2WpzH0hD6AJu1xQ1sUTGUhDZX29bZc",
};

const RECORD: Shape = named(
  "HistoryRecord",
  shape(shownObject({
    seq: { type: "integer", minimum: 1 },
    at: TIME,
    type: { enum: HISTORY_TYPES },
    status: { enum: TASK_STATUSES, description: "The status after it" },
    run: COUNT,
    attempt: { ...TEXT, description: "The attempt it belongs to" },
    actor: ACTOR,
    instance: { ...TEXT, description: "The worker's name for its process" },
    http: HTTP,
    error: TASK_ERROR,
    result: { ...TEXT, description: "The beginning of the result's JSON" },
    progress: {
      description: "What the worker said of its progress; not all that " +
        "was said is in the history",
    },
    changes: {
      type: "array",
      items: shownObject({ field: TEXT, from: {}, to: {} }, ["from", "to"]),
    },
    message: TEXT,
    amount: {
      type: "number",
      description: "Slots that were missed, milliseconds of lag",
    },
    next_date: TIME,
    folded: FOLDED,
    prev: { ...TEXT, description: "The hash of the record before" },
    hash: TEXT,
    text: { ...TEXT, description: "What the hash covers, with `proof`" },
  }, [
    "attempt",
    "instance",
    "http",
    "error",
    "result",
    "progress",
    "changes",
    "message",
    "amount",
    "next_date",
    "folded",
    "text",
  ])),
);

/** A page of a history. */
export const HISTORY_LIST: Shape = pageOf("HistoryList", {
  item: RECORD,
  example: RECORD_EXAMPLE,
});

const ATTEMPT: Shape = named(
  "TaskAttempt",
  shape(shownObject({
    id: TEXT,
    run: COUNT,
    outcome: {
      enum: [
        "running",
        "succeeded",
        "failed",
        "timed_out",
        "lost",
        "released",
        "canceled",
      ],
    },
    started_at: TIME,
    ended_at: TIME_OR_NULL,
    duration: { ...COUNT_OR_NULL, description: "Milliseconds" },
    instance: TEXT_OR_NULL,
    http: { anyOf: [HTTP, { type: "null" }] },
    error: { anyOf: [TASK_ERROR, { type: "null" }] },
  })),
);

/** A page of attempts. */
export const ATTEMPT_LIST: Shape = pageOf("TaskAttemptList", {
  item: ATTEMPT,
  example: {
    id: "lse_37efnd0000749gadqcbm8b2hrm_1",
    run: 0,
    outcome: "succeeded",
    started_at: "2027-01-15T08:00:00.000Z",
    ended_at: "2027-01-15T08:00:02.500Z",
    duration: 2_500,
    instance: "host-1",
    http: null,
    error: null,
  },
});

function pageOf(
  name: string,
  { item, example }: { readonly item: Shape; readonly example: JsonObject },
): Shape {
  return named(
    name,
    described(
      shape(
        shownObject({
          data: { type: "array", items: item.json },
          next: TEXT_OR_NULL,
        }),
        [item],
      ),
      { examples: [{ data: [example], next: null }] },
    ),
  );
}

/** What a view shows beside the record itself. */
interface HistoryViewOptions {
  /** Whether results, progress and values of data are shown. */
  readonly payloads: boolean;
  /** Whether the text that the hash covers is shown. */
  readonly isProof: boolean;
}

/** What a record tells. */
export function draftOf({ text }: HistoryRecord): HistoryDraft {
  // Only the engine writes records, and it writes drafts.
  return JSON.parse(text) as HistoryDraft;
}

/** Returns a record as the API shows it; fields without a value are absent. */
export function viewRecord(
  record: HistoryRecord,
  { payloads, isProof }: HistoryViewOptions,
): Readonly<Record<string, unknown>> {
  const draft = draftOf(record);
  const { http, error, resultPreview, progressJson, changes, nextDateMs } =
    draft;
  const { folded } = draft;
  return {
    seq: record.seq,
    at: utcTime(draft.atMs),
    type: draft.type,
    status: draft.status,
    run: draft.run,
    attempt: draft.attempt,
    actor: draft.actor,
    instance: draft.instance,
    http: http && { status: http.status, duration_ms: http.durationMs },
    error: error && viewError(error),
    result: payloads ? resultPreview : undefined,
    progress: payloads && progressJson !== undefined
      ? JSON.parse(progressJson)
      : undefined,
    changes: changes?.map(({ field, from, to }) =>
      field === "data" && !payloads ? { field } : { field, from, to }
    ),
    message: draft.message,
    amount: draft.amount,
    next_date: nextDateMs === undefined ? undefined : utcTime(nextDateMs),
    folded: folded && { count: folded.count, hash: folded.hash },
    prev: record.prev,
    hash: record.hash,
    text: isProof ? record.text : undefined,
  };
}

/** How an attempt began. */
export type AttemptStart = Pick<
  HistoryDraft,
  "attempt" | "run" | "atMs" | "instance"
>;

/** Returns an attempt as the API shows it; it runs while it has no end. */
export function viewAttempt(
  start: AttemptStart,
  end: HistoryDraft | undefined,
): Readonly<Record<string, unknown>> {
  const http = end?.http;
  const error = end?.error;
  return {
    id: start.attempt ?? "",
    run: start.run,
    outcome: end?.type ?? "running",
    started_at: utcTime(start.atMs),
    ended_at: end === undefined ? null : utcTime(end.atMs),
    duration: end === undefined ? null : Math.max(0, end.atMs - start.atMs),
    instance: start.instance ?? end?.instance ?? null,
    http: http === undefined
      ? null
      : { status: http.status, duration_ms: http.durationMs },
    error: error === undefined ? null : viewError(error),
  };
}
