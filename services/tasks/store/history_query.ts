/**
 * Which records of a task's history are wanted.
 *
 * @module
 */

import type { HistoryRecord, HistoryType } from "../domain/history.ts";

/** A filter, an order and a position in a history. */
export interface HistoryQuery {
  /** The tenant. */
  readonly tenantId: string;
  /** The task. */
  readonly taskId: string;
  /** Only records of these types. */
  readonly types?: readonly HistoryType[];
  /** Only records of this run. */
  readonly run?: number;
  /** Which way. */
  readonly order: "asc" | "desc";
  /** Most records of the page. */
  readonly limit: number;
  /** The number of the last record of the page before. */
  readonly afterSeq?: number;
}

/** A page of a history. */
export interface HistoryPage {
  /** The records in order. */
  readonly records: readonly HistoryRecord[];
  /** Whether there may be more behind the last record that was looked at. */
  readonly nextAfterSeq?: number;
}
