/**
 * The log of the embedded ledger while it is moved: each entry has to follow from
 * those before it, as in a relayer that makes its accounts from the log.
 *
 * @module
 */

import type { Clock } from "../../shared/clock.ts";
import { type Entry, entryColumns, readEntry } from "../ledger/ledger_log.ts";
import { LedgerBrokenError, LedgerReplica } from "../ledger/ledger_replica.ts";
import type { DatabaseRecord } from "../store/sqlite/row_columns.ts";
import { LEDGER_ENTRIES, type MovedRow } from "./moved_tables.ts";
import { encodeRow } from "./row_lines.ts";

/** An embedded ledger. */
export interface MovedLedger {
  /**
   * The package of the accounts' contract; undefined for that of an embedded
   * ledger.
   */
  readonly packageId: string | undefined;
  /** The time. */
  readonly clock: Clock;
}

/** What the log is checked for. */
interface Doing {
  /** What fails when the log is broken. */
  readonly action: string;
  /** What to do then. */
  readonly advice: string;
}

const NAMES = Object.keys(LEDGER_ENTRIES.columns);

/**
 * Reads rows of the log.
 *
 * @throws {LedgerBrokenError} when one is not as a ledger writes it
 */
export function readEntries(rows: readonly MovedRow[]): readonly Entry[] {
  return rows.map((row) => {
    const entry = tryRead(row);
    // Hashes do not cover a row that a ledger would read other than it stands.
    if (
      entry === undefined || encodeRow(entryColumns(entry)) !== encodeRow(row)
    ) {
      throw new LedgerBrokenError(
        Number(row[0]),
        "it is not as a ledger writes it",
      );
    }
    return entry;
  });
}

function tryRead(row: MovedRow): Entry | undefined {
  const columns = NAMES.map((name, at) => [name, row[at] ?? null]);
  try {
    return readEntry(Object.fromEntries(columns) as DatabaseRecord);
  } catch {
    // The outcome is not JSON.
    return undefined;
  }
}

/**
 * Calls `use` with what checks rows of the log, in their order and from the first
 * on. It throws an error that names the entry which does not follow.
 */
export async function followingEntries<Answer>(
  ledger: MovedLedger | undefined,
  { action, advice }: Doing,
  use: (check: (rows: readonly MovedRow[]) => void) => Promise<Answer>,
): Promise<Answer> {
  if (ledger === undefined) return await use(() => {});
  const replica = new LedgerReplica(ledger);
  try {
    return await use((rows) => {
      try {
        replica.add(readEntries(rows));
      } catch (error) {
        if (!(error instanceof LedgerBrokenError)) throw error;
        const { sequence, reason } = error;
        throw new Error(
          `Cannot ${action} the ledger: entry ${sequence}: ${reason}; ${advice}`,
          { cause: error },
        );
      }
    });
  } finally {
    replica.close();
  }
}
