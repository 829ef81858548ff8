/**
 * Attempts of a task, put together of the records of their beginning and their
 * end.
 *
 * @module
 */

import type {
  HistoryDraft,
  HistoryRecord,
  HistoryType,
} from "../../domain/history.ts";
import type { Store } from "../../store/store.ts";
import { draftOf } from "./history_view.ts";

/** Types of records that end an attempt. */
const ENDS: readonly HistoryType[] = [
  "succeeded",
  "failed",
  "timed_out",
  "lost",
  "released",
  "canceled",
];

/** Records that are read in one go. */
const PAGE = 200;

/** An attempt. */
export interface AttemptPair {
  /** How it began. */
  readonly start: HistoryDraft;
  /** How it ended; absent while it runs. */
  readonly end: HistoryDraft | undefined;
}

/** Finds the ends of the attempts that these records begin. */
export async function attemptPairs(
  store: Pick<Store, "history">,
  { tenantId, taskId, starts }: {
    readonly tenantId: string;
    readonly taskId: string;
    readonly starts: readonly HistoryRecord[];
  },
): Promise<readonly AttemptPair[]> {
  const drafts = starts.map(draftOf);
  const open = new Set(drafts.map(({ attempt }) => attempt));
  const ends = new Map<string | undefined, HistoryDraft>();
  let afterSeq = starts.reduce(
    (least, { seq }) => Math.min(least, seq),
    Infinity,
  );
  // An end stands behind its beginning and before the next one's.
  while (open.size > 0 && afterSeq < Infinity) {
    const page = await store.history({
      tenantId,
      taskId,
      types: ENDS,
      order: "asc",
      limit: PAGE,
      afterSeq,
    });
    for (const record of page.records) {
      const draft = draftOf(record);
      if (open.delete(draft.attempt)) ends.set(draft.attempt, draft);
    }
    afterSeq = page.nextAfterSeq ?? Infinity;
  }
  return drafts.map((start) => ({ start, end: ends.get(start.attempt) }));
}
