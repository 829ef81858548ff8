/**
 * The store of the service on PostgreSQL, for any number of instances on one
 * database.
 *
 * @module
 */

import type { Clock } from "../../../shared/clock.ts";
import { storeFailure } from "../../../shared/postgres/failure.ts";
import { migrate } from "../../../shared/postgres/migrations.ts";
import type { Pool } from "../../../shared/postgres/pool.ts";
import { LONG_MS } from "../../../shared/postgres/schema.ts";
import { ServerWatch } from "../../../shared/postgres/server_watch.ts";
import { StoreFailedError } from "../../../shared/store_failed.ts";
import type { Inbox } from "../inbox.ts";
import type { Notice } from "../instances.ts";
import { type Store, StoreBusyError } from "../store.ts";
import { RowReads } from "./row_reads.ts";
import { migrationPlan } from "./schema_access.ts";
import {
  closeAll,
  openParts,
  openStorePool,
  type PostgresStoreOptions,
  type StoreParts,
} from "./store_parts.ts";
import type { StoreReads } from "./store_reads.ts";
import { foldDeltas, proveCounts, sweepExpired, trimAudit } from "./upkeep.ts";

export type { PostgresStoreOptions } from "./store_parts.ts";

/** After how long the clock of a new server is trusted. */
const NEW_SERVER_MS = 5_000;

/** A store in a schema of a database, which other instances may use as well. */
export class PostgresStore implements Store {
  /** The database's clock. */
  readonly clock: Clock;
  /** True: the time is the database's. */
  readonly hasOwnTime = true;
  readonly #options: PostgresStoreOptions;
  readonly #listeners = new Set<(notice: Notice) => void>();
  #opened: StoreParts | undefined;

  /** Creates the store without opening it. */
  constructor(options: PostgresStoreOptions) {
    this.#options = options;
    const { clock } = options;
    this.clock = {
      // Before the start and after the stop nothing stored is judged.
      nowMs: () => this.#opened?.time.nowMs() ?? clock.nowMs(),
      monotonicMs: () => clock.monotonicMs?.() ?? clock.nowMs(),
      setTimer: (...of) => clock.setTimer(...of),
    };
  }

  start: Store["start"] = async () => {
    if (this.#opened !== undefined) return;
    const { clock, logger, schema } = this.#options;
    const watch = new ServerWatch({ clock, logger });
    const long = this.#longPool(watch);
    let channel: string;
    try {
      await migrate(long, migrationPlan(schema));
      channel = await readChannel(long);
    } finally {
      await long.close();
    }
    const opened = openParts(this.#options, {
      watch,
      channel,
      onNotice: (notice) => this.#hear(notice),
    });
    try {
      await opened.time.start();
      await opened.replication.start();
    } catch (error) {
      await closeAll(opened.pools);
      throw error;
    }
    opened.notifications.start();
    opened.folding.start();
    opened.health.start();
    this.#opened = opened;
  };

  stop: Store["stop"] = async () => {
    const opened = this.#opened;
    this.#opened = undefined;
    if (opened === undefined) return;
    await opened.folding.stop();
    await opened.health.stop();
    await opened.claims.idle();
    await opened.commits.idle();
    await opened.notifications.stop();
    await opened.replication.stop();
    await opened.time.stop();
    await closeAll(opened.pools);
  };

  check: Store["check"] = () =>
    this.#use(async ({ pools, replication }) => {
      replication.demand();
      await Promise.all(
        pools.writing.map((pool) =>
          pool.query(
            "SELECT demand(current_setting('transaction_read_only') = 'off')",
          )
        ),
      );
      return replication.note;
    });

  commit: Store["commit"] = (...of) =>
    this.#use(({ commits, replication }) => {
      replication.demand();
      return commits.commit(...of);
    });

  claim: Store["claim"] = async (scope, decide) => {
    // What is thrown by others than the store is not the store's.
    const { claims, replication } = this.#demand();
    replication.demand();
    return await claims.claim(scope, decide);
  };

  /** Requests that roles of the database have put into the schema. */
  readonly inbox: Inbox = {
    take: async (...of) => await this.#demand().inbox.take(...of),
    refuse: (refusals) => this.#use(({ inbox }) => inbox.refuse(refusals)),
    refused: (query) => this.#use(({ inbox }) => inbox.refused(query)),
    erase: (tenantId) => this.#use(({ inbox }) => inbox.erase(tenantId)),
  };

  beat: Store["beat"] = (beat) =>
    this.#use(({ members }) => members.beat(beat));

  leave: Store["leave"] = (id) => this.#use(({ members }) => members.leave(id));

  tell: Store["tell"] = (notices) => {
    for (const notice of notices) this.#opened?.notifications.tell(notice);
  };

  onNotice: Store["onNotice"] = (listen) => {
    this.#listeners.add(listen);
    return () => void this.#listeners.delete(listen);
  };

  mayEndLeases: Store["mayEndLeases"] = () =>
    (this.#opened?.watch.msSinceChange() ?? 0) >= NEW_SERVER_MS;

  sweep: Store["sweep"] = (nowMs, limit) =>
    this.#use(({ pools }) => sweepExpired(pools.reading, nowMs, limit));

  /** Folds what was added to counts, as the store does by itself. */
  fold(): Promise<number> {
    return this.#use(({ pools }) => foldDeltas(pools.reading));
  }

  trimAudit: Store["trimAudit"] = (trim) =>
    this.#use(({ pools }) => trimAudit(pools.reading, trim));

  proveCounts: Store["proveCounts"] = () =>
    this.#use(async ({ watch }) => {
      const long = this.#longPool(watch);
      try {
        return await proveCounts(long);
      } finally {
        await long.close();
      }
    });

  snapshot: Store["snapshot"] = async (read) => {
    const { watch } = this.#demand();
    const long = this.#longPool(watch);
    try {
      // The rows may go to a slow disk or to a slow reader.
      return await long.transaction(
        (transaction) => read(new RowReads(transaction)),
        { isolation: "repeatable read", idleMs: LONG_MS },
      );
    } finally {
      await long.close();
    }
  };

  task: Store["task"] = (...of) => this.#read(({ tasks }) => tasks.task(...of));
  tasks: Store["tasks"] = (...of) =>
    this.#read(({ tasks }) => tasks.tasks(...of));
  taskByKey: Store["taskByKey"] = (key) =>
    this.#read(({ tasks }) => tasks.byKey(key));
  dependents: Store["dependents"] = (query) =>
    this.#read(({ tasks }) => tasks.dependents(query));
  running: Store["running"] = (...of) =>
    this.#read(({ tasks }) => tasks.running(...of));
  runningGroups: Store["runningGroups"] = (tenantId) =>
    this.#read(({ tasks }) => tasks.runningGroups(tenantId));
  waking: Store["waking"] = (...of) =>
    this.#read(({ waking }) => waking.waking(...of));
  wakingOfOthers: Store["wakingOfOthers"] = (query) =>
    this.#read(({ waking }) => waking.wakingOfOthers(query));
  nextWakeMs: Store["nextWakeMs"] = (...of) =>
    this.#read(({ waking }) => waking.nextWakeMs(...of));
  candidates: Store["candidates"] = (claim) =>
    this.#read(({ candidates }) => candidates.candidates(claim));
  workersWithDueTasks: Store["workersWithDueTasks"] = (query) =>
    this.#read(({ candidates }) => candidates.workers(query));
  listTasks: Store["listTasks"] = (query) =>
    this.#read(({ lists }) => lists.page(query));
  counts: Store["counts"] = (query) =>
    this.#read(({ statuses }) => statuses.counts(query));
  tenantQueues: Store["tenantQueues"] = () =>
    this.#read(({ statuses }) => statuses.queues());
  scan: Store["scan"] = (query) =>
    this.#read(({ statuses }) => statuses.scan(query));
  history: Store["history"] = (query) =>
    this.#read(({ histories }) => histories.page(query));
  record: Store["record"] = (...of) =>
    this.#read(({ records }) => records.record(...of));
  recordByAlias: Store["recordByAlias"] = (...of) =>
    this.#read(({ records }) => records.byAlias(...of));
  records: Store["records"] = (query) =>
    this.#read(({ records }) => records.page(query));
  idempotency: Store["idempotency"] = (...of) =>
    this.#read(({ records }) => records.idempotency(...of));
  usage: Store["usage"] = (...of) =>
    this.#read(({ records }) => records.usage(...of));
  starts: Store["starts"] = (query) =>
    this.#read(({ records }) => records.starts(query));
  audit: Store["audit"] = (query) =>
    this.#read(({ records }) => records.audit(query));

  #longPool(watch: ServerWatch): Pool {
    return openStorePool(this.#options, {
      watch,
      max: 1,
      queryTimeoutMs: LONG_MS,
    });
  }

  #hear(notice: Notice): void {
    this.#opened?.reads.noteHeard(notice);
    for (const listen of this.#listeners) listen(notice);
  }

  #demand(): StoreParts {
    if (this.#opened !== undefined) return this.#opened;
    throw new Error("Cannot use the store: it is not started");
  }

  #read<Answer>(
    read: (reads: StoreReads) => Promise<Answer>,
  ): Promise<Answer> {
    return this.#use(({ reads }) => read(reads));
  }

  /** Calls `use` with the open parts; every error is one of the store. */
  async #use<Answer>(
    use: (opened: StoreParts) => Promise<Answer>,
  ): Promise<Answer> {
    const opened = this.#demand();
    try {
      return await use(opened);
    } catch (error) {
      const isOwn = error instanceof StoreFailedError ||
        error instanceof StoreBusyError || error instanceof TypeError;
      throw isOwn ? error : storeFailure(error);
    }
  }
}

/** The channel of a schema's instances, which no other role knows. */
async function readChannel(pool: Pool): Promise<string> {
  const [row] = await pool.query<{ name: string }>("SELECT name FROM channel");
  if (row !== undefined) return row.name;
  throw new StoreFailedError("Cannot start: the table `channel` is empty");
}
