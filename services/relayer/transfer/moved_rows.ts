/**
 * The port of what an export reads and an import writes, beside a relayer: all
 * rows of a data folder or of a schema.
 *
 * @module
 */

import type { MovedRow, MovedTable, MovedValue } from "./moved_tables.ts";

/** Reads rows as they stand at one moment. */
export interface RowReader {
  /**
   * Yields the rows of a table that have not expired by `nowMs`, in the order of
   * its key, some at a time.
   */
  pages(
    table: MovedTable,
    nowMs: number,
  ): AsyncIterable<readonly MovedRow[]>;
  /** How many rows a table has that have not expired by `nowMs`. */
  count(table: MovedTable, nowMs: number): Promise<number>;
}

/** All rows of a relayer. No relayer uses them while they are open. */
export interface MovedRows {
  /** Where they are, for people; it has no password. */
  readonly place: string;
  /** Calls `use` with the rows of one moment. */
  reading<Answer>(use: (reader: RowReader) => Promise<Answer>): Promise<Answer>;
  /** Whether an import to them has begun and not ended. */
  isImporting(): Promise<boolean>;
  /**
   * Begins an import: no relayer starts on the rows until it has ended.
   *
   * @throws {Error} when a relayer uses the rows
   */
  begin(): Promise<void>;
  /** Removes the rows of tables, and what follows from them. */
  erase(tables: readonly MovedTable[]): Promise<void>;
  /**
   * Writes rows; passes over those whose key is there.
   *
   * @throws {Error} when the embedded ledger has other entries
   */
  put(table: MovedTable, rows: readonly MovedRow[]): Promise<void>;
  /** Makes what follows from the rows, once all are there. */
  complete(): Promise<void>;
  /** Ends an import; everything is on disk when this resolves. */
  end(): Promise<void>;
  /** Closes them; relayers may use them then. */
  close(): Promise<void>;
}

/** The most rows that are read or written together. */
export const PAGE_ROWS = 500;
/** The most bytes of their long column, but at least one row. */
export const PAGE_BYTES = 4_194_304;

/** Collects rows until they are to be written together. */
export class RowBatch {
  #rows: MovedRow[] = [];
  #bytes = 0;

  /** Takes a row; returns the rows so far when they are enough. */
  add(row: MovedRow): readonly MovedRow[] {
    this.#rows.push(row);
    this.#bytes += bytesOf(row);
    const isFull = this.#rows.length >= PAGE_ROWS || this.#bytes >= PAGE_BYTES;
    return isFull ? this.take() : [];
  }

  /** Returns the rows, and forgets them. */
  take(): readonly MovedRow[] {
    const rows = this.#rows;
    this.#rows = [];
    this.#bytes = 0;
    return rows;
  }
}

function bytesOf(row: MovedRow): number {
  return row.reduce<number>(
    (sum, value: MovedValue) =>
      sum +
      (typeof value === "string" || value instanceof Uint8Array
        ? value.length
        : 8),
    0,
  );
}
