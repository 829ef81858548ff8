/**
 * Records of a task's history as the API shows them.
 *
 * @module
 */

import type { HistoryDraft, HistoryRecord } from "../../domain/history.ts";
import { time, viewError } from "./task_view.ts";

/** What a view shows beside the record itself. */
export interface HistoryViewOptions {
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
    at: time(draft.atMs),
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
    next_date: nextDateMs === undefined ? undefined : time(nextDateMs),
    folded: folded && { count: folded.count, hash: folded.hash },
    prev: record.prev,
    hash: record.hash,
    text: isProof ? record.text : undefined,
  };
}
