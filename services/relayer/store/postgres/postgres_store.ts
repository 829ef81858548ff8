/**
 * The relayer's store on PostgreSQL, for any number of instances on one
 * database.
 *
 * @module
 */

import type { Clock } from "../../../shared/clock.ts";
import { DatabaseStore } from "../../../shared/postgres/database_store.ts";
import {
  type DatabaseOptions,
  type InstanceDatabase,
  openDatabase,
} from "../../../shared/postgres/instance_database.ts";
import {
  type DatabaseHealth,
  HealthWatch,
} from "../../../shared/postgres/database_health.ts";
import { dividedPool, type Pool } from "../../../shared/postgres/pool.ts";
import type { Runner } from "../../../shared/postgres/session.ts";
import type { Change, CommitOutcome } from "../changes.ts";
import { IMPORT_UNDER_WAY, type Notice, type RelayerStore } from "../store.ts";
import { CommitWriter } from "./commit_writer.ts";
import { unawaitedStatements } from "./group_statement.ts";
import { JobReads, type LeasedJobs } from "./job_reads.ts";
import { MemoryReads } from "./memory_reads.ts";
import { migrationPlan } from "./migrations.ts";
import { NonceClaims } from "./nonce_claims.ts";
import { SideReads } from "./side_reads.ts";
import { sweep } from "./sweep.ts";

/** Who is told how the database is. */
export interface DatabaseListeners extends Pick<DatabaseOptions, "onCall"> {
  /**
   * Is told how the database is, again and again; undefined when it could not be
   * asked.
   *
   * @default no listener
   */
  readonly onHealth?:
    | ((health: RelayerDatabaseHealth | undefined) => void)
    | undefined;
}

/** Options of {@linkcode PostgresStore}. */
export interface PostgresStoreOptions
  extends DatabaseOptions, DatabaseListeners {
  /**
   * Tells the time by which rows are dated and leases end.
   *
   * @default that of the database
   */
  readonly time?: Pick<Clock, "nowMs"> | undefined;
  /**
   * Most changes that wait to be written; commits beyond that are refused with a
   * {@linkcode StoreBusyError}.
   *
   * @default {40000}
   */
  readonly maxQueuedChanges?: number;
  /**
   * Most bytes that wait to be written.
   *
   * @default {134217728}
   */
  readonly maxQueuedBytes?: number;
}

/** How the relayer's tables are. */
interface RelayerHealth {
  /** Jobs under way, by the instance that does them. */
  readonly leasedJobs: LeasedJobs;
}

/** How the relayer's database is. */
export type RelayerDatabaseHealth = DatabaseHealth & RelayerHealth;

/** The parts that exist between start and stop. */
interface StoreParts {
  readonly database: InstanceDatabase<Notice>;
  readonly commits: CommitWriter;
  readonly nonces: NonceClaims;
  readonly jobs: JobReads;
  readonly memories: MemoryReads;
  readonly sides: SideReads;
  readonly beside: BesidePools;
  readonly health: HealthWatch<RelayerHealth>;
}

/** Connections for what a relayer keeps beside the rows of this store. */
interface BesidePools {
  /**
   * For keys, blobs and their catalogue. They are read like rows, over
   * connections that no waiting commit keeps.
   */
  readonly data: Pool;
  /** For the log of the embedded ledger, which every request looks at. */
  readonly ledger: Pool;
  /** For locks alone; each one in use has a connection. */
  readonly locks: Pool;
}

/**
 * A third of the connections writes rows; the others read. Those below come in
 * addition.
 */
const SHARE = 1 / 3;
/** One that looks at the ledger's log and one that adds to it, if it is there. */
const LEDGER_CONNECTIONS = 2;
/** They write data beside the rows; one may be busy with a long blob. */
const DATA_CONNECTIONS = 2;
const LOCK_CONNECTIONS = 2;

/** A store in a schema of a database, which other instances may use as well. */
export class PostgresStore extends DatabaseStore<Notice, StoreParts>
  implements RelayerStore {
  readonly #options: PostgresStoreOptions;

  /** Creates the store without opening it. */
  constructor(options: PostgresStoreOptions) {
    super(options);
    this.#options = options;
  }

  /** Migrates the tables and begins to listen to other instances. */
  readonly start: RelayerStore["start"] = async () => {
    if (this.opened !== undefined) return;
    const { schema, connections = 6, prepare: hasSessions = true } =
      this.#options;
    const { clock, logger, onHealth = () => {} } = this.#options;
    const { maxQueuedChanges = 40_000, maxQueuedBytes = 134_217_728 } =
      this.#options;
    const share = Math.max(1, Math.floor(connections * SHARE));
    const database = await openDatabase<Notice>(this.#options, {
      plan: migrationPlan(schema),
      reading: Math.max(1, connections - share),
      onNotice: (notice) => this.hear(notice),
      onGap: () => this.hear({ kind: "gap" }),
    });
    const pools = Array.from(
      { length: share },
      () => database.openPool({ max: 1, plans: "force_generic_plan" }),
    );
    await database.start();
    try {
      await demandWhole(database.reading);
    } catch (error) {
      await database.stop();
      throw error;
    }
    const jobs = new JobReads(database.reading);
    const health = new HealthWatch({
      ...{ runner: database.reading, clock, logger, onLooked: onHealth },
      more: async () => ({ leasedJobs: await jobs.leased(this.#nowMs()) }),
    });
    this.opened = {
      ...{ database, jobs, health },
      commits: new CommitWriter({
        ...{ pools, hasSessions, maxQueuedBytes },
        nowMs: () => this.#nowMs(),
        maxQueuedRows: maxQueuedChanges,
        demandDurable: () => database.replication.demand(),
      }),
      nonces: new NonceClaims({
        runner: database.reading,
        nowMs: () => this.#nowMs(),
        maxWaiting: maxQueuedChanges,
      }),
      memories: new MemoryReads(database.reading),
      sides: new SideReads(database.reading),
      beside: {
        data: dividedPool(
          database.reading,
          database.openPool({ max: DATA_CONNECTIONS }),
        ),
        ledger: database.openPool({ max: LEDGER_CONNECTIONS }),
        locks: database.openPool({ max: LOCK_CONNECTIONS }),
      },
    };
    health.start();
  };

  /** Writes queued commits and closes the connections. */
  readonly stop: RelayerStore["stop"] = async () => {
    const { opened } = this;
    this.opened = undefined;
    if (opened === undefined) return;
    await opened.health.stop();
    await Promise.all([opened.commits.idle(), opened.nonces.idle()]);
    await opened.database.stop();
  };

  /**
   * Notes that an instance lives. An import looks for members after it has set
   * its mark, so one that joins looks for the mark again.
   */
  override readonly beat: RelayerStore["beat"] = (beat) =>
    this.use(async ({ database }) => {
      const answer = await database.members.beat(beat);
      if (beat.sinceLastMs === undefined) {
        await demandWhole(database.reading).catch(async (error) => {
          await database.members.leave(beat.id);
          throw error;
        });
      }
      return answer;
    });

  /**
   * Connections for keys, blobs, their catalogue and locks; the store closes
   * them.
   *
   * @throws {Error} when the store is not started
   */
  get beside(): BesidePools {
    return this.demand().beside;
  }

  /**
   * Checks that the database answers, and that its server takes writes. Where
   * these are refused for lack of a standby, recalls go on.
   */
  readonly check: RelayerStore["check"] = () =>
    this.use(({ database }) => database.check([database.reading]));

  /**
   * Lets a write pass that is not one of this store.
   *
   * @throws {StoreFailedError} when a standby is required and none confirms
   */
  readonly demandDurable = (): void =>
    this.demand().database.replication.demand();

  /** Applies changes; none of them waits for others to share a transaction. */
  readonly commit: RelayerStore["commit"] = (changes) =>
    this.use(({ commits, nonces, database }) => {
      const [first] = changes;
      // What a request writes after its nonce demands the standby.
      if (changes.length === 1 && first?.kind === "nonce") {
        return nonces.claim(first);
      }
      if (changes.every(({ kind }) => kind === "rate")) {
        return this.#addRates(database.reading, changes);
      }
      database.replication.demand();
      return commits.commit(changes);
    });

  /** Jobs by id. */
  readonly jobs: RelayerStore["jobs"] = (...of) =>
    this.use(({ jobs }) => jobs.jobs(...of));

  /** Those of some jobs for which a request waits no longer. */
  readonly settledJobs: RelayerStore["settledJobs"] = (names) =>
    this.use(({ jobs }) => jobs.settledJobs(names));

  /** Takes jobs whose next attempt is due. */
  readonly leaseJobs: RelayerStore["leaseJobs"] = (leases) =>
    this.use(({ jobs }) => jobs.lease(leases, this.mayEndLeases()));

  /** Sets when leases of jobs end. */
  readonly renewLeases: RelayerStore["renewLeases"] = (leases) =>
    this.use(({ jobs }) => jobs.renew(leases));

  /** When the next attempt of any unfinished job is due, or its lease ends. */
  readonly nextJobMs: RelayerStore["nextJobMs"] = () =>
    this.use(({ jobs }) =>
      jobs.nextMs({ nowMs: this.#nowMs(), mayEnd: this.mayEndLeases() })
    );

  /** Deleted jobs whose blobs are removed once more. */
  readonly deletedJobs: RelayerStore["deletedJobs"] = (query) =>
    this.use(({ jobs }) => jobs.deletedJobs(query));

  /**
   * How many jobs of an owner are unfinished, and the bytes of their payloads.
   */
  readonly openJobs: RelayerStore["openJobs"] = (owner) =>
    this.use(({ jobs }) => jobs.openJobs(owner));

  /** The claim of a client's key. */
  readonly keyClaim: RelayerStore["keyClaim"] = (...of) =>
    this.use(({ sides }) => sides.keyClaim(...of));

  /** Rows of memories by id. */
  readonly memories: RelayerStore["memories"] = (...of) =>
    this.use(({ memories }) => memories.memories(...of));

  /** Rows of memories in pages by id. */
  readonly scanMemories: RelayerStore["scanMemories"] = (query) =>
    this.use(({ memories }) => memories.scan(query));

  /** A page of owners by their addresses. */
  readonly memoryOwners: RelayerStore["memoryOwners"] = (query) =>
    this.use(({ memories }) => memories.owners(query));

  /** How many memories all owners have, without superseded ones. */
  readonly memoryCount: RelayerStore["memoryCount"] = () =>
    this.use(({ memories }) => memories.count());

  /** Those of some blobs that are noted as impossible to restore. */
  readonly badBlobs: RelayerStore["badBlobs"] = (...of) =>
    this.use(({ sides }) => sides.badBlobs(...of));

  /** A number that no change of an owner's feeds exceeds. */
  readonly head: RelayerStore["head"] = (owner) =>
    this.use(({ memories }) => memories.head(owner));

  /** Rows of memories in the order of their changes. */
  readonly memoryFeed: RelayerStore["memoryFeed"] = (...of) =>
    this.use(({ memories }) => memories.feed(...of));

  /** Rows of memories in the order of their changes, with new vectors. */
  readonly indexFeed: RelayerStore["indexFeed"] = (...of) =>
    this.use(({ memories }) => memories.indexFeed(...of));

  /** Namespaces in the order of their changes. */
  readonly namespaceFeed: RelayerStore["namespaceFeed"] = (...of) =>
    this.use(({ memories }) => memories.namespaces(...of));

  /** Memories and bytes of a namespace, or of all. */
  readonly stats: RelayerStore["stats"] = (...of) =>
    this.use(({ memories }) => memories.stats(...of));

  /** Public keys of the delegates that wrote an owner's rows. */
  readonly agents: RelayerStore["agents"] = (owner) =>
    this.use(({ memories }) => memories.agents(owner));

  /** Nonces that have not expired. */
  readonly nonces: RelayerStore["nonces"] = (nowMs) =>
    this.use(({ sides }) => sides.nonces(nowMs));

  /** Rate windows from a minute on. */
  readonly rateWindows: RelayerStore["rateWindows"] = (fromMinute) =>
    this.use(({ sides }) => sides.rateWindows(fromMinute));

  /** Rate windows of some names in some minutes. */
  readonly rateWindowsOf: RelayerStore["rateWindowsOf"] = (of) =>
    this.use(({ sides }) => sides.rateWindowsOf(of));

  /** The whole snapshot of an owner's index. */
  readonly snapshot: RelayerStore["snapshot"] = (owner) =>
    this.use(({ sides }) => sides.snapshot(owner));

  /** A part of a snapshot. */
  readonly snapshotPart: RelayerStore["snapshotPart"] = (...of) =>
    this.use(({ sides }) => sides.snapshotPart(...of));

  /** Removes rows that have expired. */
  readonly sweep: RelayerStore["sweep"] = (bounds) =>
    this.use(({ database }) => sweep(database.reading, bounds));

  /**
   * Adds points that were spent. A failover may lose some, which gives callers a
   * few more; in return all relayers go on counting without a standby.
   */
  async #addRates(
    runner: Runner,
    changes: readonly Change[],
  ): Promise<CommitOutcome> {
    const statements = unawaitedStatements(changes, { nowMs: this.#nowMs() });
    for (const { sql, parameters } of statements) {
      await runner.query(sql, parameters);
    }
    return { kind: "ok" };
  }

  #nowMs(): number {
    return (this.#options.time ?? this.clock).nowMs();
  }
}

/** @throws {Error} when an import has not come to its end */
async function demandWhole(runner: Runner): Promise<void> {
  const [row] = await runner.query("SELECT importing FROM numbering");
  if (row?.["importing"] === true) throw new Error(IMPORT_UNDER_WAY);
}
