/**
 * Keeps wrapped keys on disk, in the file `keys.db` of a data folder.
 *
 * A deleted key is overwritten, in the file and in the write-ahead log, before
 * the deletion resolves.
 *
 * @module
 */

import type { DatabaseSync } from "node:sqlite";
import { migrate, type Migration } from "../../shared/sqlite/migrations.ts";
import { FileErrors, openDatabase } from "../store/sqlite/database_file.ts";
import { Batcher } from "../store/sqlite/batcher.ts";
import { RowColumns } from "../store/row_columns.ts";
import {
  type DatabaseRecord,
  prepareAll,
  type Statements,
} from "../store/sqlite/row_columns.ts";
import type {
  KeyGone,
  KeyRows,
  OwnerKeyRow,
  WrappedDataKey,
  WrappedReceiptKey,
  WrappedRoot,
} from "./key_rows.ts";

/** Options of {@linkcode KeyDatabase}. */
interface KeyDatabaseOptions {
  /** Milliseconds since the epoch. */
  readonly nowMs: number;
  /** Milliseconds of a clock that only goes forward. */
  readonly monotonicMs: () => number;
  /** Most changes that wait to be written; one more is refused as busy. */
  readonly maxQueued: number;
  /** Is called as soon as a key can no longer be read. */
  readonly onGone: KeyGone;
}

/** All migrations in order. A released migration must never change. */
export const KEY_MIGRATIONS: readonly Migration[] = [{
  version: 1,
  name: "initial",
  // Numbered in the order of making, so that keys are only ever added at the
  // end. Pages with keys are never split, which would leave copies behind.
  sql: `
CREATE TABLE roots(
  n INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  master_id TEXT NOT NULL,
  wrapped BLOB NOT NULL
) STRICT;
CREATE TABLE data_keys(
  n INTEGER PRIMARY KEY,
  owner TEXT NOT NULL,
  key_id TEXT NOT NULL,
  wrapped BLOB NOT NULL,
  UNIQUE(owner, key_id)
) STRICT;
`,
}, {
  version: 2,
  name: "owners' keys",
  sql: `
CREATE TABLE owner_keys(
  n INTEGER PRIMARY KEY,
  owner TEXT NOT NULL,
  id TEXT NOT NULL,
  encrypted BLOB NOT NULL,
  sealed_public_key BLOB NOT NULL,
  newer_id TEXT,
  wrapped BLOB,
  UNIQUE(owner, id)
) STRICT;
`,
}, {
  version: 3,
  name: "keys of receipts",
  sql: `
CREATE TABLE receipt_keys(
  n INTEGER PRIMARY KEY,
  wrapped BLOB NOT NULL,
  made_ms INTEGER NOT NULL
) STRICT;
`,
}];

const ROOTS = new RowColumns<WrappedRoot>({
  id: "id",
  masterId: "master_id",
  wrapped: "wrapped",
}, []);

const STATEMENTS = {
  insert: "INSERT INTO data_keys(owner, key_id, wrapped) VALUES(?, ?, ?)",
  insertMissing: `INSERT INTO data_keys(owner, key_id, wrapped) VALUES(?, ?, ?)
    ON CONFLICT DO NOTHING`,
  get: "SELECT wrapped FROM data_keys WHERE owner = ? AND key_id = ?",
  overwrite: `UPDATE data_keys SET wrapped = zeroblob(length(wrapped))
    WHERE owner = ? AND key_id = ?`,
  replace: "UPDATE data_keys SET wrapped = ? WHERE owner = ? AND key_id = ?",
  remove: "DELETE FROM data_keys WHERE owner = ? AND key_id = ?",
  roots: `SELECT ${ROOTS.selected} FROM roots ORDER BY n`,
  putRoot: `INSERT INTO roots${ROOTS.inserted}
    ON CONFLICT(id) DO UPDATE SET wrapped = excluded.wrapped`,
  ownerKeys: "SELECT * FROM owner_keys WHERE owner = ? ORDER BY n DESC",
  putOwnerKey: `INSERT INTO owner_keys
    (owner, id, encrypted, sealed_public_key, newer_id, wrapped)
    VALUES(?, ?, ?, ?, ?, ?)
    ON CONFLICT(owner, id) DO UPDATE
      SET newer_id = excluded.newer_id, wrapped = excluded.wrapped`,
  receiptKeys: "SELECT * FROM receipt_keys ORDER BY n",
  addReceiptKey: "INSERT INTO receipt_keys(wrapped, made_ms) VALUES(?, ?)",
  addFirstReceiptKey: `INSERT INTO receipt_keys(wrapped, made_ms)
    SELECT ?, ? WHERE NOT EXISTS (SELECT 1 FROM receipt_keys)`,
  eraseLog: "PRAGMA wal_checkpoint(TRUNCATE)",
};

const MAX_QUEUED_BYTES = 64 * 1_048_576;
const KEY_ROW_BYTES = 512;

/** Keeps wrapped keys, for the one relayer that has the folder. */
export class KeyDatabase implements KeyRows {
  /** The file's name. */
  readonly place = '"keys.db"';
  /** Without end: this process alone changes the file. */
  readonly maxAgeMs: number = Infinity;
  readonly #db: DatabaseSync;
  readonly #errors: FileErrors;
  readonly #writer: Batcher;
  readonly #statements: Statements<typeof STATEMENTS>;
  readonly #onGone: KeyGone;
  #hasErased = false;

  /**
   * Opens the file of a data folder; creates it when it is missing.
   *
   * @throws {Error} when the file cannot be opened or is of a later program
   */
  constructor(dataFolder: string, options: KeyDatabaseOptions) {
    const path = `${dataFolder}/keys.db`;
    this.#errors = new FileErrors(
      path,
      "put its backup in its place; do not move it away without one, as no " +
        "memory opens without its key",
    );
    const db = this.#errors.run(() => openDatabase(path, { isErasing: true }));
    try {
      const fileName = "keys.db";
      const { nowMs, monotonicMs, maxQueued, onGone } = options;
      this.#onGone = onGone;
      migrate(db, { nowMs, migrations: KEY_MIGRATIONS, fileName });
      this.#db = db;
      this.#statements = prepareAll(db, STATEMENTS);
      this.#writer = new Batcher(db, {
        monotonicMs,
        maxQueued,
        maxQueuedBytes: MAX_QUEUED_BYTES,
        errors: this.#errors,
        afterCommit: () => this.#erase(),
      });
    } catch (error) {
      db.close();
      throw this.#errors.named(error);
    }
  }

  /** All root keys, the oldest first. */
  // deno-lint-ignore require-await -- a throw becomes a rejection
  async roots(): Promise<readonly WrappedRoot[]> {
    return this.#errors.run(() => this.#readRoots());
  }

  /** Adds root keys, and replaces the envelopes of those that exist. */
  async changeRoots(
    decide: (there: readonly WrappedRoot[]) => readonly WrappedRoot[],
  ): Promise<void> {
    await this.#writer.add(() => {
      for (const root of decide(this.#readRoots())) {
        this.#statements.putRoot.run(...ROOTS.toValues(root));
      }
      this.#hasErased = true;
    }, { bytes: KEY_ROW_BYTES });
  }

  /** Adds a data key; it is on disk when this resolves. */
  async add({ owner, keyId, wrapped }: WrappedDataKey): Promise<void> {
    await this.#writer.add(
      () => void this.#statements.insert.run(owner, keyId, wrapped),
      { bytes: KEY_ROW_BYTES },
    );
  }

  /** Adds a data key unless the owner has one of that id. */
  async addMissing({ owner, keyId, wrapped }: WrappedDataKey): Promise<void> {
    await this.#writer.add(
      () => void this.#statements.insertMissing.run(owner, keyId, wrapped),
      { bytes: KEY_ROW_BYTES },
    );
  }

  /** The envelope of an owner's data key. */
  // deno-lint-ignore require-await -- a throw becomes a rejection
  async get(owner: string, keyId: string): Promise<Uint8Array | undefined> {
    const row = this.#errors.run(() => this.#statements.get.get(owner, keyId));
    const wrapped = row?.["wrapped"];
    return wrapped instanceof Uint8Array ? wrapped : undefined;
  }

  /** Overwrites a data key that is there with another one. */
  async replace({ owner, keyId, wrapped }: WrappedDataKey): Promise<void> {
    await this.#writer.add(() => {
      this.#statements.replace.run(wrapped, owner, keyId);
      this.#onGone(owner, keyId);
      this.#hasErased = true;
    }, { bytes: KEY_ROW_BYTES });
  }

  /** Overwrites and deletes a data key; true when it was there. */
  async destroy(owner: string, keyId: string): Promise<boolean> {
    return await this.#writer.add(() => {
      this.#statements.overwrite.run(owner, keyId);
      const { changes } = this.#statements.remove.run(owner, keyId);
      this.#onGone(owner, keyId);
      if (Number(changes) === 0) return false;
      this.#hasErased = true;
      return true;
    }, { bytes: KEY_ROW_BYTES });
  }

  /** An owner's keys behind key servers, the newest first. */
  // deno-lint-ignore require-await -- a throw becomes a rejection
  async ownerKeys(owner: string): Promise<readonly OwnerKeyRow[]> {
    return this.#errors.run(() => this.#statements.ownerKeys.all(owner))
      .flatMap(readOwnerKey);
  }

  /**
   * Adds an owner's key, or sets the link of an existing one; then it is on
   * disk.
   */
  async putOwnerKey(
    { owner, id, encrypted, sealedPublicKey, link }: OwnerKeyRow,
  ): Promise<void> {
    await this.#writer.add(
      () =>
        void this.#statements.putOwnerKey.run(
          ...[owner, id, encrypted, sealedPublicKey],
          ...[link?.newerId ?? null, link?.wrapped ?? null],
        ),
      { bytes: KEY_ROW_BYTES + encrypted.length },
    );
  }

  /** Wrapped keys of receipts, the oldest first. */
  // deno-lint-ignore require-await -- a throw becomes a rejection
  async receiptKeys(): Promise<readonly WrappedReceiptKey[]> {
    return this.#errors.run(() => this.#statements.receiptKeys.all())
      .flatMap(({ wrapped, made_ms: madeAtMs }) =>
        wrapped instanceof Uint8Array
          ? [{ wrapped, madeAtMs: Number(madeAtMs) }]
          : []
      );
  }

  /** Adds a wrapped key of receipts. */
  async addReceiptKey(
    { wrapped, madeAtMs }: WrappedReceiptKey,
    { isFirst }: { readonly isFirst: boolean },
  ): Promise<void> {
    const { addFirstReceiptKey, addReceiptKey } = this.#statements;
    const add = isFirst ? addFirstReceiptKey : addReceiptKey;
    await this.#writer.add(() => void add.run(wrapped, madeAtMs), {
      bytes: KEY_ROW_BYTES,
    });
  }

  /** Writes waiting changes and closes the file. */
  async close(): Promise<void> {
    await this.#writer.idle();
    this.#db.close();
  }

  #readRoots(): readonly WrappedRoot[] {
    return this.#statements.roots.all().map((record) => ROOTS.readRow(record));
  }

  /** Empties the write-ahead log, which still has pages with erased keys. */
  #erase(): void {
    if (!this.#hasErased) return;
    const row = this.#statements.eraseLog.get();
    if (row?.["busy"] !== 0) {
      throw new Error(
        "Cannot erase keys: another program reads the file of keys; try again",
      );
    }
    this.#hasErased = false;
  }
}

function readOwnerKey(row: DatabaseRecord): readonly OwnerKeyRow[] {
  const { owner, id, encrypted, newer_id: newerId, wrapped } = row;
  const sealedPublicKey = row["sealed_public_key"];
  if (
    !(encrypted instanceof Uint8Array && sealedPublicKey instanceof Uint8Array)
  ) return [];
  const link = typeof newerId === "string" && wrapped instanceof Uint8Array
    ? { newerId, wrapped }
    : undefined;
  return [{
    owner: String(owner),
    id: String(id),
    ...{ encrypted, sealedPublicKey, link },
  }];
}
