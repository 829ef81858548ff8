/**
 * The store of the service on PostgreSQL, for any number of instances on one
 * database.
 *
 * @module
 */

import { DatabaseStore } from "../../../shared/postgres/database_store.ts";
import { openDatabase } from "../../../shared/postgres/instance_database.ts";
import { LONG_MS } from "../../../shared/postgres/schema.ts";
import type { Inbox } from "../inbox.ts";
import type { Notice } from "../instances.ts";
import type { Store } from "../store.ts";
import { RowReads } from "./row_reads.ts";
import { migrationPlan } from "./schema_access.ts";
import {
  openParts,
  type PostgresStoreOptions,
  shareConnections,
  type StoreParts,
} from "./store_parts.ts";
import type { StoreReads } from "./store_reads.ts";
import { foldDeltas, proveCounts, sweepExpired, trimAudit } from "./upkeep.ts";

export type { PostgresStoreOptions } from "./store_parts.ts";

/** A store in a schema of a database, which other instances may use as well. */
export class PostgresStore extends DatabaseStore<Notice, StoreParts>
  implements Store {
  readonly #options: PostgresStoreOptions;

  /** Creates the store without opening it. */
  constructor(options: PostgresStoreOptions) {
    super(options);
    this.#options = options;
  }

  start: Store["start"] = async () => {
    if (this.opened !== undefined) return;
    const { schema, connections } = this.#options;
    const hear = (notice: Notice): void => {
      this.opened?.reads.noteHeard(notice);
      this.hear(notice);
    };
    const database = await openDatabase<Notice>(this.#options, {
      plan: migrationPlan(schema),
      reading: shareConnections(connections).reading,
      onNotice: hear,
      onGap: () => {
        opened.reads.noteGap();
        hear({ kind: "gap" });
      },
    });
    const opened = openParts(this.#options, database);
    await database.start();
    opened.folding.start();
    opened.health.start();
    this.opened = opened;
  };

  stop: Store["stop"] = async () => {
    const { opened } = this;
    this.opened = undefined;
    if (opened === undefined) return;
    await opened.folding.stop();
    await opened.health.stop();
    await opened.claims.idle();
    await opened.commits.idle();
    await opened.database.stop();
  };

  check: Store["check"] = () =>
    this.use(({ pools, database }) => {
      database.replication.demand();
      return database.check(pools.writing);
    });

  commit: Store["commit"] = (...of) =>
    this.use(({ commits, database }) => {
      database.replication.demand();
      return commits.commit(...of);
    });

  claim: Store["claim"] = async (scope, decide) => {
    // What is thrown by others than the store is not the store's.
    const { claims, database } = this.demand();
    database.replication.demand();
    return await claims.claim(scope, decide);
  };

  /** Requests that roles of the database have put into the schema. */
  readonly inbox: Inbox = {
    take: async (...of) => await this.demand().inbox.take(...of),
    refuse: (refusals) =>
      this.use(({ inbox, database }) => {
        database.replication.demand();
        return inbox.refuse(refusals);
      }),
    refused: (query) => this.use(({ inbox }) => inbox.refused(query)),
    erase: (tenantId) =>
      this.use(({ inbox, database }) => {
        database.replication.demand();
        return inbox.erase(tenantId);
      }),
  };

  sweep: Store["sweep"] = (nowMs, limit) =>
    this.use(({ pools }) => sweepExpired(pools.reading, nowMs, limit));

  /** Folds what was added to counts, as the store does by itself. */
  fold(): Promise<number> {
    return this.use(({ pools }) => foldDeltas(pools.reading));
  }

  trimAudit: Store["trimAudit"] = (trim) =>
    this.use(({ pools }) => trimAudit(pools.reading, trim));

  proveCounts: Store["proveCounts"] = () =>
    this.use(({ database }) => database.withLong(proveCounts));

  // The rows may go to a slow disk or to a slow reader.
  snapshot: Store["snapshot"] = (read) =>
    this.demand().database.withLong((pool) =>
      pool.transaction(
        (transaction) => read(new RowReads(transaction)),
        { isolation: "repeatable read", idleMs: LONG_MS },
      )
    );

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
  events: Store["events"] = (query) =>
    this.#read(({ events }) => events.page(query));
  listeners: Store["listeners"] = (...of) =>
    this.#read(({ events }) => events.listeners(...of));
  activity: Store["activity"] = (query) =>
    this.#read(({ kept }) => kept.activity(query));
  topCounts: Store["topCounts"] = (query) =>
    this.#read(({ kept }) => kept.topCounts(query));
  lateTasks: Store["lateTasks"] = (query) =>
    this.#read(({ kept }) => kept.lateTasks(query));
  failingTasks: Store["failingTasks"] = (query) =>
    this.#read(({ kept }) => kept.failingTasks(query));

  #read<Answer>(
    read: (reads: StoreReads) => Promise<Answer>,
  ): Promise<Answer> {
    return this.use(({ reads }) => read(reads));
  }
}
