/**
 * Reads pages of histories.
 *
 * @module
 */

import type { Runner } from "../../../shared/postgres/session.ts";
import type { HistoryRecord } from "../../domain/history.ts";
import { HistoryPageFill } from "../history_page.ts";
import type { HistoryPage, HistoryQuery } from "../queries.ts";

/** How many records are read together when some may not be wanted. */
const PIECE = 500;

/** Reads the histories of tasks. */
export class HistoryReads {
  readonly #runner: Runner;

  /** Takes what runs the queries. */
  constructor(runner: Runner) {
    this.#runner = runner;
  }

  /**
   * Reads a page of a task's history, in pieces. Records are only added or
   * folded meanwhile, never changed.
   */
  async page(query: HistoryQuery): Promise<HistoryPage> {
    const filling = new HistoryPageFill(query, PIECE);
    for (;;) {
      const page = filling.take(await this.#rows(query, filling.piece));
      if (page !== undefined) return page;
    }
  }

  async #rows(
    { tenantId, taskId, order }: HistoryQuery,
    options: { readonly afterSeq: number | undefined; readonly limit: number },
  ): Promise<readonly HistoryRecord[]> {
    const isRising = order === "asc";
    const { afterSeq = isRising ? 0 : 2_147_483_647, limit } = options;
    const rows = await this.#runner.query<
      {
        seq: number;
        text: string;
        hash: string;
        prev: string | null;
        state: string | null;
      }
    >(
      // In a folded history, the record before the first one was removed, so
      // the task's state gives its hash.
      "SELECT now.seq, now.text, now.hash, before.hash AS prev, " +
        "CASE WHEN before.hash IS NULL AND now.seq > 1 THEN of.state END " +
        "AS state FROM task_state AS of " +
        "JOIN tenants AS names ON names.tenant = of.tenant + 0, " +
        "LATERAL (SELECT seq, text, hash FROM history " +
        "WHERE history.id = of.id AND " +
        `seq ${isRising ? ">" : "<"} $3::integer ORDER BY seq ${order} ` +
        "LIMIT $4::bigint) AS now LEFT JOIN history AS before " +
        "ON before.id = $1::text AND before.seq = now.seq - 1 " +
        "WHERE of.id = $1::text AND names.id = $2::text " +
        `ORDER BY now.seq ${order}`,
      [taskId, tenantId, afterSeq, limit],
    );
    return rows.map(({ seq, text, hash, prev, state }) => ({
      seq,
      text,
      prev: prev ?? foldedHash(state),
      hash,
    }));
  }
}

function foldedHash(state: string | null): string {
  return state === null ? "" : JSON.parse(state).historyFolded?.hash ?? "";
}
