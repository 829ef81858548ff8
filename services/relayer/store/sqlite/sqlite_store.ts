/**
 * The relayer's store in an SQLite database, the file `relayer.db` of a data
 * folder.
 *
 * One connection reads and writes, in the caller's thread: all commits of a
 * turn wait for the disk together, and reads mostly find their pages in the
 * cache.
 *
 * @module
 */

import type { DatabaseSync } from "node:sqlite";
import { type Clock, steadyMs } from "../../../shared/clock.ts";
import { OwnMembers } from "../../../shared/instance_store.ts";
import type { Logger } from "../../../shared/logger.ts";
import {
  type FolderLock,
  lockFolder,
} from "../../../shared/sqlite/folder_lock.ts";
import { migrate } from "../../../shared/sqlite/migrations.ts";
import type { CommitOptions, RelayerStore } from "../store.ts";
import { type Change, type CommitOutcome, estimateBytes } from "../changes.ts";
import { IMPORT_UNDER_WAY } from "../store.ts";
import { ChangeApplier } from "./change_applier.ts";
import { FileErrors, openDatabase } from "./database_file.ts";
import { JobRows } from "./job_rows.ts";
import {
  ChangeCounter,
  isImporting,
  MemoryFeed,
  MemoryReads,
} from "./memory_reads.ts";
import { MemoryWrites } from "./memory_writes.ts";
import { RELAYER_MIGRATIONS } from "./migrations.ts";
import { NamespaceSums } from "./namespace_sums.ts";
import { SideRows, Sweeper } from "./side_rows.ts";
import { SnapshotRows } from "./snapshot_rows.ts";
import { type BatchedWrite, Batcher } from "./batcher.ts";

/** Options of {@linkcode SqliteStore}. */
interface SqliteStoreOptions {
  /** The folder of the database; it is made when it is not there. */
  readonly dataFolder: string;
  /** Tells the time. */
  readonly clock: Clock;
  /** Logs which folder was opened. */
  readonly logger: Logger;
  /**
   * Most commits that wait to be written; one more is refused with a
   * {@linkcode StoreBusyError}.
   *
   * @default {20000}
   */
  readonly maxQueuedCommits?: number;
  /**
   * Most bytes that wait to be written; commits beyond that are refused as
   * well.
   *
   * @default {134217728}
   */
  readonly maxQueuedBytes?: number;
}

/** The parts of the store that exist between start and stop. */
interface Opened {
  readonly lock: FolderLock;
  readonly db: DatabaseSync;
  readonly writer: Batcher;
  readonly applier: ChangeApplier;
  readonly sweeper: Sweeper;
  readonly jobs: JobRows;
  readonly reads: MemoryReads;
  readonly feed: MemoryFeed;
  readonly sums: NamespaceSums;
  readonly sides: SideRows;
  readonly memories: MemoryWrites;
  readonly snapshots: SnapshotRows;
}

const SWEEP_BYTES = 1_024;
/** Most rows of a namespace that one transaction removes. */
const REMOVAL_ROWS = 200;
const REMOVAL_BYTES = 1_024;

/** A store in a data folder; one store at a time can use a folder. */
export class SqliteStore implements RelayerStore {
  /** The machine's clock. */
  readonly clock: Clock;
  /** False: the time is the machine's. */
  readonly hasOwnTime = false;
  readonly #options: SqliteStoreOptions;
  readonly #errors: FileErrors;
  readonly #members: OwnMembers;
  #opened: Opened | undefined;

  /** A store that is not started. */
  constructor(options: SqliteStoreOptions) {
    const { dataFolder } = options;
    this.#options = options;
    this.clock = options.clock;
    this.#members = new OwnMembers(options.clock);
    this.#errors = new FileErrors(
      pathIn(dataFolder),
      "move it away while the relayer is stopped (mkdir " +
        `"${dataFolder}/damaged" && mv "${dataFolder}"/relayer.db* ` +
        `"${dataFolder}/damaged/"), start again, and restore each namespace ` +
        "(POST /api/restore); jobs that were not done yet are lost with it",
    );
  }

  /** Locks the folder, opens the database and migrates its tables. */
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

  /** Writes queued commits, closes the database and releases the folder. */
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

  /** Applies changes; resolves when they are on disk. */
  commit(
    changes: readonly Change[],
    { canWait }: CommitOptions = {},
  ): Promise<CommitOutcome> {
    const [first] = changes;
    if (changes.length === 1 && first?.kind === "remove_namespace") {
      return this.#removeNamespace(first);
    }
    const bytes = estimateBytes(changes);
    return this.#write(({ applier }) => applier.apply(changes), {
      bytes,
      canWait,
    });
  }

  // One process has the folder, as its lock says, and has no other to tell
  // anything.

  /** Notes that an instance lives. */
  readonly beat: RelayerStore["beat"] = (beat) =>
    this.#read(() => this.#members.beat(beat));

  /** Removes an instance. */
  readonly leave: RelayerStore["leave"] = (id) =>
    Promise.resolve(this.#members.leave(id));

  /** Does nothing: there is no other instance. */
  readonly tell: RelayerStore["tell"] = () => {};
  /** Hears nothing. */
  readonly onNotice: RelayerStore["onNotice"] = () => () => {};
  /** True: the time is always of the same machine. */
  readonly mayEndLeases: RelayerStore["mayEndLeases"] = () => true;

  /** Checks that the file can be read; failed writes tell of themselves. */
  readonly check: RelayerStore["check"] = () =>
    this.#read(({ jobs }) => {
      jobs.nextMs();
      return undefined;
    });

  /** Jobs by id. */
  readonly jobs: RelayerStore["jobs"] = (owner, ids) =>
    this.#read(({ jobs }) => ids.map((id) => jobs.get(owner, id)));

  /** Takes jobs whose next attempt is due. */
  readonly leaseJobs: RelayerStore["leaseJobs"] = (leases) =>
    this.#read(({ jobs }) => jobs.lease(leases));

  /** Sets when leases of jobs end. */
  readonly renewLeases: RelayerStore["renewLeases"] = (leases) =>
    this.#read(({ jobs }) => jobs.renew(leases));

  /** Those of some jobs for which a request waits no longer. */
  readonly settledJobs: RelayerStore["settledJobs"] = (names) =>
    this.#read(({ jobs }) => names.filter((name) => jobs.isSettled(name)));

  /** When the next attempt of any unfinished job is due, or its lease ends. */
  readonly nextJobMs: RelayerStore["nextJobMs"] = () =>
    this.#read(({ jobs }) => jobs.nextMs());

  /** Deleted jobs whose blobs are removed once more. */
  readonly deletedJobs: RelayerStore["deletedJobs"] = (query) =>
    this.#read(({ jobs }) => jobs.deleted(query));

  /**
   * How many jobs of an owner are unfinished, and the bytes of their payloads.
   */
  readonly openJobs: RelayerStore["openJobs"] = (owner) =>
    this.#read(({ jobs }) => jobs.open(owner));

  /** The claim of a client's key. */
  readonly keyClaim: RelayerStore["keyClaim"] = (owner, key, nowMs) =>
    this.#read(({ sides }) => sides.findClaim(owner, key, nowMs));

  /** Rows of memories by id. */
  readonly memories: RelayerStore["memories"] = (owner, ids) =>
    this.#read(({ reads }) => ids.map((id) => reads.get(owner, id)));

  /** Rows of memories in pages by id. */
  readonly scanMemories: RelayerStore["scanMemories"] = (options) =>
    this.#read(({ reads }) => reads.scan(options));

  /** A page of owners by their addresses. */
  readonly memoryOwners: RelayerStore["memoryOwners"] = (query) =>
    this.#read(({ sums }) => sums.owners(query));

  /** How many memories all owners have, without superseded ones. */
  readonly memoryCount: RelayerStore["memoryCount"] = () =>
    this.#read(({ sums }) => sums.count());

  /** Returns those of these blobs that are noted as impossible to restore. */
  readonly badBlobs: RelayerStore["badBlobs"] = (owner, blobIds) =>
    this.#read(({ reads }) => reads.badBlobs(owner, blobIds));

  /** The number of an owner's last change. */
  readonly head: RelayerStore["head"] = (owner) =>
    this.#read(({ feed }) => feed.head(owner));

  /** Rows of memories in the order of their changes. */
  readonly memoryFeed: RelayerStore["memoryFeed"] = (owner, query) =>
    this.#read(({ feed }) => feed.page(owner, query));

  /** Rows of memories in the order of their changes, with new vectors. */
  readonly indexFeed: RelayerStore["indexFeed"] = (owner, query) =>
    this.#read(({ feed }) => feed.indexPage(owner, query));

  /** Namespaces in the order of their changes. */
  readonly namespaceFeed: RelayerStore["namespaceFeed"] = (owner, query) =>
    this.#read(({ sums }) => sums.page(owner, query));

  /** Memories and bytes of a namespace, or of all. */
  readonly stats: RelayerStore["stats"] = (owner, namespace) =>
    this.#read(({ sums }) => sums.stats(owner, namespace));

  /** Public keys of the delegates that wrote an owner's rows. */
  readonly agents: RelayerStore["agents"] = (owner) =>
    this.#read(({ sums }) => sums.agents(owner));

  /** Nonces that have not expired. */
  readonly nonces: RelayerStore["nonces"] = (nowMs) =>
    this.#read(({ sides }) => sides.nonces(nowMs));

  /** Rate windows from a minute on. */
  readonly rateWindows: RelayerStore["rateWindows"] = (fromMinute) =>
    this.#read(({ sides }) => sides.windows(fromMinute));

  /** Rate windows of some names in some minutes. */
  readonly rateWindowsOf: RelayerStore["rateWindowsOf"] = (of) =>
    this.#read(({ sides }) => sides.windowsOf(of));

  /** The whole snapshot of an owner's index. */
  readonly snapshot: RelayerStore["snapshot"] = (owner) =>
    this.#read(({ snapshots }) => snapshots.get(owner));

  /** A part of a snapshot. */
  readonly snapshotPart: RelayerStore["snapshotPart"] = (name, part) =>
    this.#read(({ snapshots }) => snapshots.part(name, part));

  /** Removes rows that have expired. */
  readonly sweep: RelayerStore["sweep"] = (bounds) =>
    this.#write(({ sweeper }) => sweeper.sweep(bounds), { bytes: SWEEP_BYTES });

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
      if (isImporting(db)) throw new Error(IMPORT_UNDER_WAY);
      const nowMs = () => clock.nowMs();
      const counter = new ChangeCounter(db, clock.nowMs());
      const sums = new NamespaceSums(db);
      const jobs = new JobRows(db, (id) => this.#members.has(id));
      const feed = new MemoryFeed(db, counter);
      const sides = new SideRows(db);
      const snapshots = new SnapshotRows(db);
      const memories = new MemoryWrites(db, { counter, sums, snapshots });
      const writer = new Batcher(db, {
        monotonicMs: () => steadyMs(clock),
        maxQueued: maxQueuedCommits,
        maxQueuedBytes,
        errors: this.#errors,
        beforeCommit: () => counter.write(),
      });
      return {
        lock,
        db,
        writer,
        applier: new ChangeApplier(db, {
          ...{ jobs, memories, sides, snapshots, feed, counter, nowMs },
        }),
        sweeper: new Sweeper(db, snapshots),
        jobs,
        reads: new MemoryReads(db),
        feed,
        sums,
        sides,
        memories,
        snapshots,
      };
    } catch (error) {
      db.close();
      throw error;
    }
  }

  /**
   * Removes in several transactions: a single one would block other work long.
   *
   * It awaits the writer itself, as `#write()` does. With one more promise in
   * between, this commit would settle after a later one of the same
   * transaction. The caller would then take a row out of the index that came
   * after the removal.
   */
  async #removeNamespace(
    of: Extract<Change, { readonly kind: "remove_namespace" }>,
  ): Promise<CommitOutcome> {
    for (;;) {
      const { writer, memories } = this.#demandOpened();
      const removed = await writer.add(() => {
        const nowMs = this.#options.clock.nowMs();
        return memories.removeNamespace(of, { nowMs, limit: REMOVAL_ROWS });
      }, { bytes: REMOVAL_BYTES });
      if (removed < REMOVAL_ROWS) return { kind: "ok" };
    }
  }

  async #read<Answer>(read: (opened: Opened) => Answer): Promise<Answer> {
    const opened = this.#demandOpened();
    return await this.#errors.run(() => read(opened));
  }

  async #write<Answer>(
    apply: (opened: Opened) => Answer,
    write: BatchedWrite,
  ): Promise<Answer> {
    const opened = this.#demandOpened();
    return await opened.writer.add(() => apply(opened), write);
  }

  /** @throws {Error} when the store is not started */
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
