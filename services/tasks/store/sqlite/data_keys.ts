/**
 * Changes the wrapped data keys of all tenants, for a command that may run
 * beside the service.
 *
 * @module
 */

import type { DatabaseSync } from "node:sqlite";
import { inTransaction } from "../../../shared/sqlite/transaction.ts";
import type { WrappedKey } from "../../secrets/tenant_key.ts";
import {
  databasePath,
  findVersionFault,
  openStored,
  openWriting,
} from "./database_file.ts";
import { readNumber, readText, type Row } from "./reader.ts";

/**
 * How many keys one transaction changes, so that a running service gets its
 * turn.
 */
const PAGE = 100;
/**
 * The pause between transactions, in milliseconds. It is longer than SQLite's
 * longest wait before it tries a lock again, a tenth of a second.
 */
const PAUSE_MS = 150;
/** How many milliseconds a busy service may keep the command waiting. */
const BUSY_TIMEOUT_MS = 60_000;

/** The last key of a page. */
interface KeyPosition {
  readonly tenant: number;
  readonly id: string;
}

/**
 * Calls `decide` with each wrapped key in a data folder and stores the keys
 * that it returns: a key with an existing id replaces that one, another one is
 * added, and `decide` may be called with it later. A running service may use
 * the folder: each key is decided on and written in one transaction, and
 * durable when this returns.
 *
 * @throws {Error} when there is no database, it is of another version, or other
 * connections keep it busy for a minute; keys that were written stay written
 */
export function changeDataKeys(
  dataFolder: string,
  decide: (stored: WrappedKey) => readonly WrappedKey[],
): void {
  const db = openExisting(dataFolder);
  try {
    let after: KeyPosition | undefined = { tenant: -1, id: "" };
    while (after !== undefined) {
      after = changePage(db, { after, decide });
      if (after !== undefined) pause();
    }
  } finally {
    db.close();
  }
}

/**
 * Opens an existing database for writing; opening a missing one would create it.
 */
function openExisting(dataFolder: string): DatabaseSync {
  const stored = openStored(dataFolder);
  try {
    const fault = findVersionFault(stored);
    if (fault !== undefined) {
      throw new Error(`Cannot change keys in "${dataFolder}": ${fault}`);
    }
  } finally {
    stored.close();
  }
  const db = openWriting(databasePath(dataFolder), "full");
  db.exec(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`);
  return db;
}

/**
 * Pauses for long enough that a service waiting for the lock gets it, since
 * SQLite only tries a lock again from time to time.
 */
function pause(): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, PAUSE_MS);
}

/**
 * Changes the keys of a page; returns the page's last key, undefined at the
 * end.
 */
function changePage(
  db: DatabaseSync,
  { after, decide }: {
    readonly after: KeyPosition;
    readonly decide: (stored: WrappedKey) => readonly WrappedKey[];
  },
): KeyPosition | undefined {
  return inTransaction(db, () => {
    const rows: readonly Row[] = db.prepare(
      "SELECT tenant, id, text FROM records WHERE kind = 'data_key' " +
        "AND (tenant, id) > (?, ?) ORDER BY tenant, id LIMIT ?",
    ).all(after.tenant, after.id, PAGE);
    for (const row of rows) {
      // Only the repository of data keys writes records of this kind.
      const stored = JSON.parse(readText(row, "text")) as WrappedKey;
      for (const next of decide(stored)) {
        put(db, { tenant: readNumber(row, "tenant"), next });
      }
    }
    const last = rows.length < PAGE ? undefined : rows.at(-1);
    return last &&
      { tenant: readNumber(last, "tenant"), id: readText(last, "id") };
  });
}

function put(
  db: DatabaseSync,
  { tenant, next }: { readonly tenant: number; readonly next: WrappedKey },
): void {
  const { id, version } = next;
  const text = JSON.stringify(next);
  const { changes } = db.prepare(
    "UPDATE records SET version = ?, text = ? " +
      "WHERE tenant = ? AND kind = 'data_key' AND id = ?",
  ).run(version, text, tenant, id);
  if (changes !== 0) return;
  db.prepare(
    "INSERT INTO records(tenant, kind, id, version, text) " +
      "VALUES(?, 'data_key', ?, ?, ?)",
  ).run(tenant, id, version, text);
}
