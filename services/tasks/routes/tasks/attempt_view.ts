/**
 * Attempts as the API shows them.
 *
 * @module
 */

import type { HistoryDraft } from "../../domain/history.ts";
import { time, viewError } from "./task_view.ts";

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
    started_at: time(start.atMs),
    ended_at: end === undefined ? null : time(end.atMs),
    duration: end === undefined ? null : Math.max(0, end.atMs - start.atMs),
    instance: start.instance ?? end?.instance ?? null,
    http: http === undefined
      ? null
      : { status: http.status, duration_ms: http.durationMs },
    error: error === undefined ? null : viewError(error),
  };
}
