/**
 * Which of what a worker says of its progress goes into the history. An attempt
 * may report each second for days; its task always has what was said last, and
 * the history must not be filled by it, nor lose what matters to it.
 *
 * @module
 */

import type { Attempt } from "../task.ts";
import type { EventContext } from "../task_event.ts";
import { attemptNote } from "./lease.ts";
import type { EventOf, Note } from "./step.ts";

/** The least time between two records of an attempt's progress. */
export const MIN_PROGRESS_SPACING_MS = 1_000;

/** Two records are further apart by this share of the time before the first. */
export const PROGRESS_SPACING_SHARE = 0.1;

/** What is new of an attempt's progress. */
export interface ProgressNews {
  /** What of the attempt changes. */
  readonly fields: Pick<Attempt, "progressJson" | "progressNoted">;
  /** What there is to tell, if anything. */
  readonly notes: readonly Note[];
}

/**
 * Takes note of what a heartbeat says of progress. The history gets a record
 * when it is something else than was told last, and a tenth of the attempt's
 * time has passed since then, a second at least. So their number grows with the
 * logarithm of the time: about a hundred in a day, and a dozen more by the third.
 * What came too early is told with the first heartbeat that comes late enough,
 * unless something else was said by then.
 *
 * @returns undefined when there is nothing new
 */
export function progressNews(
  attempt: Attempt,
  { progressJson = attempt.progressJson }: EventOf<"heartbeat">,
  { nowMs }: Pick<EventContext, "nowMs">,
): ProgressNews | undefined {
  const { progressNoted: last } = attempt;
  const isSaid = progressJson !== attempt.progressJson;
  const isOwed = last?.isNewest === false;
  if (progressJson === undefined || !isSaid && !isOwed) return undefined;
  const afterMs = nowMs - attempt.startedAtMs;
  if (last !== undefined && !isLater(afterMs, last.afterMs)) {
    return isSaid
      ? {
        fields: { progressJson, progressNoted: { ...last, isNewest: false } },
        notes: [],
      }
      : undefined;
  }
  return {
    fields: { progressJson, progressNoted: { afterMs, isNewest: true } },
    notes: [attemptNote(attempt, { type: "progress", progressJson })],
  };
}

/** Less time than before means that the clock was set, and tells nothing. */
function isLater(afterMs: number, lastMs: number): boolean {
  const spacingMs = Math.max(
    MIN_PROGRESS_SPACING_MS,
    lastMs * PROGRESS_SPACING_SHARE,
  );
  return afterMs < lastMs || afterMs >= lastMs + spacingMs;
}
