/**
 * The statements of the embedded ledger's log in a schema of PostgreSQL.
 *
 * @module
 */

import type { Runner } from "../../shared/postgres/session.ts";
import type { Statement } from "../../shared/postgres/transaction.ts";
import { type Entry, outcomeText } from "./ledger_log.ts";

/** A row of the log. */
interface EntryRow {
  readonly sequence: number;
  readonly kind: string;
  readonly digest: Uint8Array;
  readonly sender: string | null;
  /** Undefined for the entry that is known. */
  readonly payload: Uint8Array | null;
  readonly outcome: string | null;
  readonly time_ms: number;
  readonly hash: Uint8Array;
}

/** What is read of a log at once. */
export interface LogPage {
  /** The hash of the entry that was told; undefined when it is not there. */
  readonly known: Uint8Array | undefined;
  /** Entries after it, in order. */
  readonly entries: readonly Entry[];
  /** Whether there are more. */
  readonly hasMore: boolean;
}

/** Most entries that are read at once: about 2 MB. */
const PAGE = 500;

/**
 * Has other relayers wait before they add entries, until the transaction ends.
 * Its commit waits for the disk, and a standby, even when it adds nothing: so do
 * all commits before it.
 */
const TAKE_TURN = "SELECT FROM ledger_turn FOR UPDATE";

// The entry that is known comes without what is large.
const READ = `SELECT sequence, kind, digest, sender, time_ms, hash,
    CASE WHEN sequence > $1::bigint THEN payload END AS payload,
    CASE WHEN sequence > $1::bigint THEN outcome END AS outcome
  FROM ledger_entries WHERE sequence >= $1::bigint
  ORDER BY sequence LIMIT ${PAGE + 1}`;

const ADD = `INSERT INTO ledger_entries(sequence, kind, digest, sender, payload,
    outcome, time_ms, hash)
  SELECT * FROM unnest($1::bigint[], $2::text[], $3::bytea[], $4::text[],
    $5::bytea[], $6::text[], $7::bigint[], $8::bytea[])`;

/** Reads the entries after one. */
export async function readPage(
  runner: Runner,
  after: number,
): Promise<LogPage> {
  const rows = await runner.query<EntryRow>(READ, [after]);
  const known = rows.find(({ sequence }) => sequence === after)?.hash;
  const entries = rows.filter(({ sequence }) => sequence > after);
  return { known, entries: entries.map(readRow), hasMore: rows.length > PAGE };
}

/**
 * Takes the turn to add entries, then reads those after one: what is read is
 * all there is until the transaction ends, but for further pages.
 */
export async function takeTurn(
  runner: Runner,
  after: number,
): Promise<LogPage> {
  // The second statement is sent before the first is answered, and sees what
  // was committed while that waited.
  const [, page] = await Promise.all([
    runner.query(TAKE_TURN),
    readPage(runner, after),
  ]);
  return page;
}

/** The statement that adds entries. */
export function adding(entries: readonly Entry[]): Statement {
  return {
    sql: ADD,
    parameters: [
      entries.map(({ sequence }) => sequence),
      entries.map(({ kind }) => kind),
      entries.map(({ digest }) => digest),
      entries.map(({ sender = null }) => sender),
      entries.map(({ payload }) => payload),
      entries.map(({ outcome }) => outcomeText(outcome)),
      entries.map(({ timeMs }) => timeMs),
      entries.map(({ hash }) => hash),
    ],
  };
}

function readRow(row: EntryRow): Entry {
  return {
    sequence: row.sequence,
    kind: row.kind === "command" ? "command" : "transaction",
    digest: row.digest,
    sender: row.sender ?? undefined,
    payload: row.payload ?? new Uint8Array(),
    outcome: JSON.parse(row.outcome ?? "null"),
    timeMs: row.time_ms,
    hash: row.hash,
  };
}
