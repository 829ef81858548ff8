/**
 * Fills a page of a task's history with records that are read in pieces.
 *
 * @module
 */

import type { HistoryRecord } from "../domain/history.ts";
import type { HistoryPage, HistoryQuery } from "./queries.ts";

/** The most records that a page reads. */
const MAX_LOOKED_AT = 5_000;

/** A page that is not full yet. */
export class HistoryPageFill {
  readonly #query: HistoryQuery;
  readonly #isFiltered: boolean;
  readonly #pieceRows: number;
  readonly #records: HistoryRecord[] = [];
  #left: number;
  #lastSeq: number | undefined;

  /** Begins the page of a query; at most `pieceRows` are read together. */
  constructor(query: HistoryQuery, pieceRows: number) {
    this.#query = query;
    this.#pieceRows = pieceRows;
    this.#isFiltered = query.types !== undefined || query.run !== undefined;
    this.#left = this.#isFiltered ? MAX_LOOKED_AT : query.limit + 1;
    this.#lastSeq = query.afterSeq;
  }

  /** The piece to read next: so many records after that number. */
  get piece(): {
    readonly afterSeq: number | undefined;
    readonly limit: number;
  } {
    const limit = Math.min(this.#pieceRows, this.#left);
    return { afterSeq: this.#lastSeq, limit };
  }

  /** Takes that piece; returns the page once it is complete. */
  take(piece: readonly HistoryRecord[]): HistoryPage | undefined {
    const records = this.#records;
    const isLast = piece.length < this.piece.limit;
    for (const record of piece) {
      const isWantedHere = !this.#isFiltered || isWanted(record, this.#query);
      if (isWantedHere && records.length === this.#query.limit) {
        return { records, nextAfterSeq: this.#lastSeq };
      }
      this.#lastSeq = record.seq;
      if (isWantedHere) records.push(record);
    }
    if (isLast) return { records };
    this.#left -= piece.length;
    return this.#left > 0
      ? undefined
      : { records, nextAfterSeq: this.#lastSeq };
  }
}

function isWanted({ text }: HistoryRecord, query: HistoryQuery): boolean {
  const { type, run } = JSON.parse(text);
  return (query.types?.includes(type) ?? true) && run === (query.run ?? run);
}
