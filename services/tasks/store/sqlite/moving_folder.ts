/**
 * A data folder whose rows are copied to another store while a service writes to
 * it, and whose service can be kept from writing at the end.
 *
 * @module
 */

import type { DatabaseSync } from "node:sqlite";
import {
  type FolderLock,
  lockFolder,
} from "../../../shared/sqlite/folder_lock.ts";
import { inTransaction, rollBack } from "../../../shared/sqlite/transaction.ts";
import type { StoredRows } from "../rows.ts";
import {
  databasePath,
  findVersionFault,
  openReading,
  openStored,
  openWriting,
} from "./database_file.ts";
import { InternedIds } from "./interned_ids.ts";
import { findMoved, markMoved, type Moved } from "./moved_mark.ts";
import {
  beginNoting,
  dropNoted,
  forgetNoted,
  type NotedWrites,
  readNoted,
} from "./noted_writes.ts";
import { Reader } from "./reader.ts";
import { RecordReads } from "./record_reads.ts";
import { RowReads } from "./row_reads.ts";
import { StatusReads, TaskReads } from "./task_reads.ts";
import { PayloadCache, TaskDecoder } from "./task_row.ts";

/** The file whose lock keeps a second move out of a data folder. */
const LOCK_FILE = "tasks.moving";
/** How many milliseconds a busy service may keep the command waiting. */
const BUSY_TIMEOUT_MS = 60_000;

/** One state of a data folder. */
export interface HeldFolder extends NotedWrites {
  /** All rows. */
  readonly rows: StoredRows;
  /** Reads tasks by their ids. */
  readonly tasks: TaskReads;
  /** Reads other rows by their keys. */
  readonly records: RecordReads;
  /** Counts tasks. */
  readonly statuses: StatusReads;
}

/** Options of {@linkcode MovingFolder.hold}. */
interface HoldOptions {
  /**
   * The most noted writes to read.
   *
   * @default all
   */
  readonly maxWrites?: number;
}

/** A data folder, which a service may be using. */
export class MovingFolder {
  readonly #path: string;
  readonly #db: DatabaseSync;
  readonly #lock: FolderLock;
  readonly #nowMs: () => number;

  /**
   * Opens a data folder.
   *
   * @throws {Error} when there is no database, it is of another version, or
   * another command moves it
   */
  constructor(
    dataFolder: string,
    { nowMs }: {
      /** The time of the machine, in milliseconds since the epoch. */
      readonly nowMs: () => number;
    },
  ) {
    this.#path = databasePath(dataFolder);
    this.#nowMs = nowMs;
    const stored = openStored(dataFolder);
    try {
      const fault = findVersionFault(stored);
      if (fault !== undefined) {
        throw new Error(`Cannot move "${dataFolder}": ${fault}`);
      }
    } finally {
      stored.close();
    }
    this.#lock = lockFolder(dataFolder, LOCK_FILE);
    try {
      this.#db = openWriting(this.#path, "full");
      this.#db.exec(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`);
    } catch (error) {
      this.#lock.release();
      throw error;
    }
  }

  /** Where the rows have moved, if they have. */
  findMoved(): Moved | undefined {
    return findMoved((sql) => this.#db.prepare(sql).get());
  }

  /**
   * Begins to note what is written.
   *
   * @throws {Error} when the service keeps the database busy for a minute
   */
  beginNoting(): void {
    beginNoting(this.#db, this.#nowMs());
  }

  /**
   * Forgets the writes up to one, whose rows were copied, and goes on noting.
   *
   * @throws {Error} when the service keeps the database busy for a minute, or
   * writes were not noted for some time
   */
  forget(through: number): void {
    forgetNoted(this.#db, { through, nowMs: this.#nowMs() });
  }

  /**
   * Calls `use` with the state of this moment, in which writes are noted.
   *
   * @throws what `use` throws
   */
  async hold<Answer>(
    use: (held: HeldFolder) => Promise<Answer>,
    { maxWrites = -1 }: HoldOptions = {},
  ): Promise<Answer> {
    const reader = new Reader(openReading(this.#path));
    try {
      const state = reader.hold();
      try {
        const interned = new InternedIds(reader);
        const decoder = new TaskDecoder(reader, new PayloadCache(0));
        const tasks = new TaskReads({ reader, interned, decoder });
        const monotonicMs = () => performance.now();
        const parts = { reader, interned, tasks, monotonicMs };
        return await use({
          ...readNoted(reader, maxWrites),
          rows: new RowReads(reader),
          tasks,
          records: new RecordReads(parts),
          statuses: new StatusReads(parts),
        });
      } finally {
        state.release();
      }
    } finally {
      reader.close();
    }
  }

  /**
   * Keeps the service from writing while `use` looks at the last state of the
   * folder. When `use` returns true, the folder is marked in the same moment;
   * otherwise, and when this process ends, the service goes on.
   *
   * @returns what `use` returns
   * @throws {Error} when the service keeps the database busy for a minute, and
   * what `use` throws
   */
  async freeze(
    moved: Moved,
    use: (held: HeldFolder) => Promise<boolean>,
  ): Promise<boolean> {
    this.#db.exec("BEGIN IMMEDIATE");
    try {
      const isDone = await this.hold(use);
      if (isDone) {
        dropNoted(this.#db);
        markMoved(this.#db, moved);
        this.#db.exec("COMMIT");
      }
      return isDone;
    } finally {
      rollBack(this.#db);
    }
  }

  /** Ends noting, when the move is given up. */
  endNoting(): void {
    inTransaction(this.#db, () => dropNoted(this.#db));
  }

  /** Closes the folder. */
  close(): void {
    this.#db.close();
    this.#lock.release();
  }
}
