/**
 * Wrapped keys on disk: the file `keys.db` of a data folder.
 *
 * What is deleted is overwritten, in the file and in the log of commits, before
 * the deletion is answered.
 *
 * @module
 */

import type { DatabaseSync, StatementSync } from "node:sqlite";
import { migrate, type Migration } from "../../shared/sqlite/migrations.ts";
import { FileErrors, openDatabase } from "../store/sqlite/database_file.ts";
import { Batcher } from "../store/sqlite/batcher.ts";

/** A root key as it is kept. */
export interface WrappedRoot {
  /** Its id. */
  readonly id: string;
  /** The id of the master key that it was made for. */
  readonly masterId: string;
  /** Its envelope. */
  readonly wrapped: Uint8Array;
}

/** A data key as it is kept. */
interface WrappedDataKey {
  /** Whose it is. */
  readonly owner: string;
  /** Its id. */
  readonly keyId: string;
  /** Its envelope. */
  readonly wrapped: Uint8Array;
}

/** Options of {@linkcode KeyDatabase}. */
interface KeyDatabaseOptions {
  /** Milliseconds since the epoch. */
  readonly nowMs: number;
  /** Milliseconds of a clock that only goes forward. */
  readonly monotonicMs: () => number;
  /** Most keys that wait to be written. */
  readonly maxQueued: number;
}

const MIGRATIONS: readonly Migration[] = [{
  version: 1,
  name: "initial",
  // Numbered in the order of making, so that keys are only ever added at the end
  // and pages with keys are never split, which would leave copies behind.
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
}];

const MAX_QUEUED_BYTES = 64 * 1_048_576;
const KEY_ROW_BYTES = 512;

/** Keeps wrapped keys. */
export class KeyDatabase {
  readonly #db: DatabaseSync;
  readonly #errors: FileErrors;
  readonly #writer: Batcher;
  readonly #insert: StatementSync;
  readonly #get: StatementSync;
  readonly #overwrite: StatementSync;
  readonly #delete: StatementSync;
  readonly #roots: StatementSync;
  readonly #putRoot: StatementSync;
  readonly #eraseLog: StatementSync;
  #hasErased = false;

  /**
   * Opens the file of a data folder; makes it when there is none.
   *
   * @throws {Error} when it is of a later program
   */
  constructor(dataFolder: string, options: KeyDatabaseOptions) {
    const path = `${dataFolder}/keys.db`;
    this.#errors = new FileErrors({
      path,
      whenDamaged: "put its backup in its place; do not move it away without " +
        "one, as no memory opens without its key",
    });
    const db = this.#errors.run(() => openDatabase(path, { isErasing: true }));
    try {
      const fileName = "keys.db";
      const { nowMs, monotonicMs, maxQueued } = options;
      migrate(db, { nowMs, migrations: MIGRATIONS, fileName });
      this.#db = db;
      this.#insert = db.prepare(
        "INSERT INTO data_keys(owner, key_id, wrapped) VALUES(?, ?, ?)",
      );
      this.#get = db.prepare(
        "SELECT wrapped FROM data_keys WHERE owner = ? AND key_id = ?",
      );
      this.#overwrite = db.prepare(
        "UPDATE data_keys SET wrapped = zeroblob(length(wrapped)) " +
          "WHERE owner = ? AND key_id = ?",
      );
      this.#delete = db.prepare(
        "DELETE FROM data_keys WHERE owner = ? AND key_id = ?",
      );
      this.#roots = db.prepare(
        "SELECT id, master_id, wrapped FROM roots ORDER BY n",
      );
      this.#putRoot = db.prepare(
        "INSERT INTO roots(id, master_id, wrapped) VALUES(?, ?, ?) " +
          "ON CONFLICT(id) DO UPDATE SET wrapped = excluded.wrapped",
      );
      this.#eraseLog = db.prepare("PRAGMA wal_checkpoint(TRUNCATE)");
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
  roots(): readonly WrappedRoot[] {
    const rows = this.#errors.run(() => this.#roots.all());
    return rows.map((row) => ({
      id: String(row["id"]),
      masterId: String(row["master_id"]),
      wrapped: row["wrapped"] as Uint8Array,
    }));
  }

  /** Adds root keys, and puts those that are there into new envelopes. */
  async putRoots(roots: readonly WrappedRoot[]): Promise<void> {
    await this.#writer.add(() => {
      for (const { id, masterId, wrapped } of roots) {
        this.#putRoot.run(id, masterId, wrapped);
      }
      this.#hasErased = true;
    }, { bytes: KEY_ROW_BYTES });
  }

  /** Adds a data key; on disk when this answers. */
  async add({ owner, keyId, wrapped }: WrappedDataKey): Promise<void> {
    await this.#writer.add(
      () => void this.#insert.run(owner, keyId, wrapped),
      { bytes: KEY_ROW_BYTES },
    );
  }

  /** An owner's data key. */
  get(owner: string, keyId: string): Uint8Array | undefined {
    const row = this.#errors.run(() => this.#get.get(owner, keyId));
    const wrapped = row?.["wrapped"];
    return wrapped instanceof Uint8Array ? wrapped : undefined;
  }

  /**
   * Overwrites and deletes a data key; true when it was there. `onGone` is called
   * as soon as it can no longer be read.
   */
  async destroy(
    owner: string,
    keyId: string,
    onGone: () => void,
  ): Promise<boolean> {
    return await this.#writer.add(() => {
      this.#overwrite.run(owner, keyId);
      const { changes } = this.#delete.run(owner, keyId);
      onGone();
      if (Number(changes) === 0) return false;
      this.#hasErased = true;
      return true;
    }, { bytes: KEY_ROW_BYTES });
  }

  /** Writes what waits and closes the file. */
  async close(): Promise<void> {
    await this.#writer.idle();
    this.#db.close();
  }

  /** The log still holds pages as they were before. */
  #erase(): void {
    if (!this.#hasErased) return;
    const row = this.#eraseLog.get();
    if (row?.["busy"] !== 0) {
      throw new Error(
        "Cannot erase keys: another program reads the file of keys; try again",
      );
    }
    this.#hasErased = false;
  }
}
