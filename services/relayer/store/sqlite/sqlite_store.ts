/**
 * The store on an embedded database, the file `relayer.db` of a data folder.
 *
 * One connection writes and reads, in the caller's thread: a commit waits for
 * the disk with all others of its turn, a read is a look into the page cache.
 *
 * @module
 */

import type { DatabaseSync } from "node:sqlite";
import type { Clock } from "../../../shared/clock.ts";
import type { Logger } from "../../../shared/logger.ts";
import {
  type FolderLock,
  lockFolder,
} from "../../../shared/sqlite/folder_lock.ts";
import { migrate } from "../../../shared/sqlite/migrations.ts";
import type { JobRow, MemoryRow } from "../rows.ts";
import type {
  Change,
  CommitOutcome,
  FeedQuery,
  KeyClaim,
  MemoryPage,
  NamespaceRow,
  RateWindow,
  RelayerStore,
} from "../store.ts";
import { bytesOf, ChangeApplier } from "./change_applier.ts";
import { FileErrors, openDatabase } from "./database_file.ts";
import { JobRows } from "./job_rows.ts";
import {
  ChangeCounter,
  MemoryFeed,
  MemoryReads,
  type ScanOptions,
} from "./memory_reads.ts";
import { MemoryWrites } from "./memory_writes.ts";
import { RELAYER_MIGRATIONS } from "./migrations.ts";
import { NamespaceSums } from "./namespace_sums.ts";
import { SideRows } from "./side_rows.ts";
import { type SweepBounds, Sweeper } from "./sweeper.ts";
import { TurnWriter } from "./turn_writer.ts";

/** Options of {@linkcode createSqliteStore}. */
export interface SqliteStoreOptions {
  /** The folder of the database; it is made when it is not there. */
  readonly dataFolder: string;
  /** Tells the time. */
  readonly clock: Clock;
  /** Hears where the store is and what it begins with. */
  readonly logger: Logger;
  /**
   * Most commits that wait to be written; more of them are refused.
   *
   * @default {20000}
   */
  readonly maxQueuedCommits?: number;
  /**
   * Most bytes that wait to be written.
   *
   * @default {134217728}
   */
  readonly maxQueuedBytes?: number;
}

/** Makes a store in a data folder; one store at a time can use a folder. */
export function createSqliteStore(options: SqliteStoreOptions): RelayerStore {
  return new SqliteStore(options);
}

/** What is open between start and stop. */
interface Opened {
  readonly lock: FolderLock;
  readonly db: DatabaseSync;
  readonly writer: TurnWriter;
  readonly applier: ChangeApplier;
  readonly sweeper: Sweeper;
  readonly jobs: JobRows;
  readonly reads: MemoryReads;
  readonly feed: MemoryFeed;
  readonly sums: NamespaceSums;
  readonly sides: SideRows;
  readonly memories: MemoryWrites;
}

const SWEEP_BYTES = 1_024;
/** Rows of a namespace that are removed in one go. */
const REMOVAL_ROWS = 200;
const REMOVAL_BYTES = 1_024;

class SqliteStore implements RelayerStore {
  readonly #options: SqliteStoreOptions;
  readonly #errors: FileErrors;
  #opened: Opened | undefined;

  constructor(options: SqliteStoreOptions) {
    const { dataFolder } = options;
    this.#options = options;
    this.#errors = new FileErrors({
      path: pathIn(dataFolder),
      whenDamaged: "move it away while the relayer is stopped (mkdir " +
        `"${dataFolder}/damaged" && mv "${dataFolder}"/relayer.db* ` +
        `"${dataFolder}/damaged/"), start again, and restore each namespace ` +
        "(POST /api/restore); jobs that were not done yet are lost with it",
    });
  }

  async start(): Promise<void> {
    if (this.#opened !== undefined) return;
    const { dataFolder, logger } = this.#options;
    await Deno.mkdir(dataFolder, { recursive: true, mode: 0o700 });
    const lock = lockFolder(dataFolder, "relayer.lock");
    try {
      this.#opened = this.#errors.run(() => this.#open(lock));
    } catch (error) {
      lock.release();
      throw error;
    }
    logger.info("store opened", { folder: dataFolder });
  }

  async stop(): Promise<void> {
    const opened = this.#opened;
    this.#opened = undefined;
    if (opened === undefined) return;
    await opened.writer.idle();
    try {
      // The last connection that closes moves the whole log to the file.
      opened.db.close();
    } finally {
      opened.lock.release();
    }
  }

  commit(changes: readonly Change[]): Promise<CommitOutcome> {
    const [first] = changes;
    if (changes.length === 1 && first?.kind === "remove_namespace") {
      return this.#removeNamespace(first);
    }
    return this.#write(
      ({ applier }) => applier.apply(changes),
      bytesOf(changes),
    );
  }

  jobs(
    owner: string,
    ids: readonly string[],
  ): Promise<readonly (JobRow | undefined)[]> {
    return this.#read(({ jobs }) => ids.map((id) => jobs.get(owner, id)));
  }

  dueJobs(nowMs: number, limit: number): Promise<readonly JobRow[]> {
    return this.#read(({ jobs }) => jobs.due(nowMs, limit));
  }

  nextJobMs(): Promise<number | undefined> {
    return this.#read(({ jobs }) => jobs.nextMs());
  }

  openJobs(
    owner: string,
  ): Promise<{ readonly jobs: number; readonly bytes: number }> {
    return this.#read(({ jobs }) => jobs.open(owner));
  }

  keyClaim(
    owner: string,
    key: string,
    nowMs: number,
  ): Promise<KeyClaim | undefined> {
    return this.#read(({ sides }) => sides.claimOf(owner, key, nowMs));
  }

  memories(
    owner: string,
    ids: readonly string[],
  ): Promise<readonly (MemoryRow | undefined)[]> {
    return this.#read(({ reads }) => ids.map((id) => reads.get(owner, id)));
  }

  scanMemories(options: ScanOptions): Promise<readonly MemoryRow[]> {
    return this.#read(({ reads }) => reads.scan(options));
  }

  indexedBlobs(
    owner: string,
    blobIds: readonly string[],
  ): Promise<ReadonlySet<string>> {
    return this.#read(({ reads }) => reads.indexedBlobs(owner, blobIds));
  }

  badBlobs(
    owner: string,
    blobIds: readonly string[],
  ): Promise<ReadonlySet<string>> {
    return this.#read(({ reads }) => reads.badBlobs(owner, blobIds));
  }

  memoryFeed(
    owner: string,
    options: FeedQuery,
  ): Promise<MemoryPage> {
    return this.#read(({ feed }) => feed.page(owner, options));
  }

  namespaceFeed(
    owner: string,
    options: FeedQuery,
  ): Promise<
    { readonly namespaces: readonly NamespaceRow[]; readonly hasMore: boolean }
  > {
    const { limit, after } = options;
    return this.#read(({ sums }) => {
      const afterChange = after?.change ?? 0;
      const rows = sums.page(owner, { afterChange, limit: limit + 1 });
      return {
        namespaces: rows.slice(0, limit),
        hasMore: rows.length > limit,
      };
    });
  }

  stats(
    owner: string,
    namespace?: string,
  ): Promise<{ readonly memories: number; readonly bytes: number }> {
    return this.#read(({ sums }) => sums.stats(owner, namespace));
  }

  agents(owner: string): Promise<readonly string[]> {
    return this.#read(({ sums }) => sums.agents(owner));
  }

  nonces(nowMs: number): Promise<readonly string[]> {
    return this.#read(({ sides }) => sides.nonces(nowMs));
  }

  rateWindows(fromMinute: number): Promise<readonly RateWindow[]> {
    return this.#read(({ sides }) => sides.windows(fromMinute));
  }

  sweep(bounds: SweepBounds): Promise<number> {
    return this.#write(({ sweeper }) => sweeper.sweep(bounds), SWEEP_BYTES);
  }

  #open(lock: FolderLock): Opened {
    const { dataFolder, clock } = this.#options;
    const { maxQueuedCommits = 20_000, maxQueuedBytes = 134_217_728 } =
      this.#options;
    const db = openDatabase(pathIn(dataFolder));
    try {
      migrate(db, {
        nowMs: clock.nowMs(),
        migrations: RELAYER_MIGRATIONS,
        fileName: "relayer.db",
      });
      const nowMs = () => clock.nowMs();
      const counter = new ChangeCounter(db, clock.nowMs());
      const sums = new NamespaceSums(db);
      const jobs = new JobRows(db);
      const sides = new SideRows(db);
      const memories = new MemoryWrites(db, { counter, sums });
      const writer = new TurnWriter(db, {
        monotonicMs: () => clock.monotonicMs?.() ?? clock.nowMs(),
        maxQueued: maxQueuedCommits,
        maxQueuedBytes,
        errors: this.#errors,
        beforeCommit: () => counter.write(),
      });
      return {
        lock,
        db,
        writer,
        applier: new ChangeApplier(db, { jobs, memories, sides, nowMs }),
        sweeper: new Sweeper(db),
        jobs,
        reads: new MemoryReads(db),
        feed: new MemoryFeed(db, counter),
        sums,
        sides,
        memories,
      };
    } catch (error) {
      db.close();
      throw error;
    }
  }

  /** In parts: all rows at once would hold up everybody for long. */
  async #removeNamespace(
    of: Extract<Change, { readonly kind: "remove_namespace" }>,
  ): Promise<CommitOutcome> {
    let removed: number;
    do {
      removed = await this.#write(({ memories }) => {
        const nowMs = this.#options.clock.nowMs();
        return memories.removeNamespace(of, { nowMs, limit: REMOVAL_ROWS });
      }, REMOVAL_BYTES);
    } while (removed === REMOVAL_ROWS);
    return { kind: "ok" };
  }

  async #read<Answer>(read: (opened: Opened) => Answer): Promise<Answer> {
    const opened = this.#demandOpened();
    return await this.#errors.run(() => read(opened));
  }

  async #write<Answer>(
    apply: (opened: Opened) => Answer,
    bytes: number,
  ): Promise<Answer> {
    const opened = this.#demandOpened();
    return await opened.writer.add(() => apply(opened), bytes);
  }

  /** Whatever goes wrong becomes a rejection. */
  #demandOpened(): Opened {
    if (this.#opened === undefined) {
      throw new Error("Cannot use the store: it is not started");
    }
    return this.#opened;
  }
}

function pathIn(dataFolder: string): string {
  return `${dataFolder}/relayer.db`;
}
