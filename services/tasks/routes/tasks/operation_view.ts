/**
 * Bulk actions as the API shows them.
 *
 * @module
 */

import { optionalTime, time } from "./task_view.ts";

/** What of a bulk action is shown. */
export interface ShownOperation {
  /** Its id. */
  readonly id: string;
  /** Whether it goes on. */
  readonly status: "running" | "done" | "failed";
  /** What was ordered. */
  readonly order: {
    readonly action: string;
    readonly isDryRun: boolean;
    readonly orderedAtMs: number;
  };
  /** How far it has come. */
  readonly progress: ShownProgress;
  /** The last change. */
  readonly updatedAtMs: number;
  /** Its end. */
  readonly finishedAtMs?: number;
}

/** How far a bulk action has come. */
export interface ShownProgress {
  /** Tasks that were looked at. */
  readonly matched: number;
  /** Tasks that were changed. */
  readonly changed: number;
  /** Tasks that are so already. */
  readonly unchanged: number;
  /** Tasks that it could not be done to. */
  readonly failed: number;
  /** The first of these. */
  readonly errors: readonly {
    readonly id: string;
    readonly code: string;
    readonly detail: string;
  }[];
}

/** Returns a bulk action that goes on by itself. */
export function viewOperation(
  operation: ShownOperation,
): Readonly<Record<string, unknown>> {
  const { id, status, order, progress, updatedAtMs, finishedAtMs } = operation;
  return {
    id,
    status,
    ...viewBulk(order, progress),
    created_at: time(order.orderedAtMs),
    updated_at: time(updatedAtMs),
    finished_at: optionalTime(finishedAtMs),
    links: { self: `/api/v1/operations/${id}` },
  };
}

/** Returns what a bulk action came to. */
export function viewBulk(
  order: Pick<ShownOperation["order"], "action" | "isDryRun">,
  { matched, changed, unchanged, failed, errors }: ShownProgress,
): Readonly<Record<string, unknown>> {
  return {
    action: order.action,
    dry_run: order.isDryRun,
    matched,
    changed,
    unchanged,
    failed,
    errors,
  };
}
