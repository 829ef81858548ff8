/**
 * Measures the stores of the tasks service by themselves, in this process:
 * SQLite, and PostgreSQL beside it, in turns.
 *
 * @module
 */

import { createHash } from "node:crypto";
import { systemClock } from "../../../services/shared/clock.ts";
import { createLogger } from "../../../services/shared/logger.ts";
import type { DatabaseConnection } from "../../../services/shared/postgres/connection.ts";
import { openPool, type Pool } from "../../../services/shared/postgres/pool.ts";
import { ServerWatch } from "../../../services/shared/postgres/server_watch.ts";
import { chain } from "../../../services/tasks/domain/history.ts";
import { BLANK_TASK, type Task } from "../../../services/tasks/domain/task.ts";
import { PostgresStore } from "../../../services/tasks/store/postgres/postgres_store.ts";
import { SqliteStore } from "../../../services/tasks/store/sqlite/sqlite_store.ts";
import type {
  Store,
  Transaction,
  Write,
} from "../../../services/tasks/store/store.ts";
import { TaskIds } from "../../../services/tasks/store/task_id.ts";
import { tell } from "../../terminal.ts";
import type { BenchRun, Figures } from "../kit/bench_run.ts";

/** Callers that create tasks one by one. */
const WIDTHS = [10, 50] as const;
/** Tasks of a batch, and how many batches are under way. */
const BATCH = { tasks: 1_000, width: 2 } as const;
/** Tasks that are leased and completed together, and by how many at a time. */
const LEASE = { tasks: 50, width: 4 } as const;
/** Tasks that are made for each second of leasing. */
const READY_PER_SECOND = 6_000;
const TENANT = "tnt_bench";
const WORKER = "wrk_bench";
const SCHEMA = "tercet_bench";

/** A store that is measured. */
interface Measured {
  readonly name: string;
  readonly store: Store;
  /** The processor time that its server has used, in microseconds. */
  readonly serverUs: () => Promise<number>;
  readonly close: () => Promise<void>;
}

/** Where PostgreSQL is; undefined to leave it out. */
export type BenchDatabase = Pick<
  DatabaseConnection,
  "hosts" | "database" | "user" | "password"
>;

/**
 * Measures both stores. The server of PostgreSQL has to be on this machine,
 * whose files tell what its processes have used.
 */
export async function measureStores(
  run: BenchRun,
  database: BenchDatabase | undefined,
): Promise<void> {
  const stores = [await openSqlite(run)];
  if (database === undefined) {
    tell("PostgreSQL is left out: PGHOST is not set");
  } else stores.push(await openPostgres(database));
  const ms = run.values.seconds * 1_000;
  try {
    for (const width of WIDTHS) {
      await measure(run, stores, {
        name: `create in store, ${width} callers`,
        load: ({ store }) => createLoad(store, { width, tasks: 1, ms }),
        bars: width === 50 ? { rate: 0.9, client: 80, server: 60 } : {},
      });
    }
    await measure(run, stores, {
      name: `create in store, ${BATCH.width} × ${BATCH.tasks}`,
      load: ({ store }) => createLoad(store, { ...BATCH, ms }),
      bars: {},
    });
    await measure(run, stores, {
      name: `lease and complete in store, ${LEASE.width} × ${LEASE.tasks}`,
      load: ({ store }) => leaseLoad(store, ms),
      bars: {},
    });
  } finally {
    for (const { close } of stores) await close();
  }
}

/** Measures a load on each store in turns, and adds it to the report. */
async function measure(
  run: BenchRun,
  stores: readonly Measured[],
  { name, load, bars }: {
    readonly name: string;
    readonly load: (measured: Measured) => Promise<Counted>;
    readonly bars: {
      /** The least rate beside SQLite. */
      readonly rate?: number;
      /** The most microseconds of the client and of the server. */
      readonly client?: number;
      readonly server?: number;
    };
  },
): Promise<void> {
  const figures = await run.inTurns(stores.map((measured) => async () => {
    const serverUs = await measured.serverUs();
    const counted = await load(measured);
    const server = await measured.serverUs() - serverUs;
    return {
      perSecond: counted.tasks / counted.ms * 1_000,
      clientUs: counted.cpuUs / counted.tasks,
      serverUs: server / counted.tasks,
    };
  }));
  stores.forEach((store, at) => {
    const { perSecond = NaN, clientUs = NaN, serverUs = NaN } = figures[at] ??
      {};
    run.bars.push({
      name: `${name}, ${store.name}`,
      value: perSecond,
      unit: "tasks/s",
      note: `${clientUs.toFixed(0)} µs of this process, ` +
        `${serverUs.toFixed(0)} µs of the server`,
    });
  });
  const [sqlite, postgres] = figures;
  if (postgres === undefined) return;
  run.compare(`${name}, PostgreSQL beside SQLite`, [postgres, sqlite], {
    figure: "perSecond",
    ...(bars.rate === undefined ? {} : { atLeast: bars.rate }),
  });
  costBar(run, `${name}, the client`, postgres, "clientUs", bars.client);
  costBar(run, `${name}, the server`, postgres, "serverUs", bars.server);
}

function costBar(
  run: BenchRun,
  name: string,
  figures: Figures,
  figure: string,
  atMost: number | undefined,
): void {
  if (atMost === undefined) return;
  run.bars.push({ name, value: figures[figure] ?? NaN, unit: "µs", atMost });
}

/** What a load did, without what came before it. */
interface Counted {
  readonly tasks: number;
  readonly ms: number;
  readonly cpuUs: number;
}

/** Runs loops side by side until the time is over. */
async function loop(
  { width, ms }: { readonly width: number; readonly ms: number },
  once: () => Promise<number>,
): Promise<Counted> {
  const usedUs = await readUsedUs([Deno.pid]);
  const beginMs = performance.now();
  let tasks = 0;
  await Promise.all(
    Array.from({ length: width }, async () => {
      while (performance.now() - beginMs < ms) {
        const done = await once();
        if (done === 0) return;
        tasks += done;
      }
    }),
  );
  const tookMs = performance.now() - beginMs;
  const cpuUs = await readUsedUs([Deno.pid]) - usedUs;
  return { tasks, ms: tookMs, cpuUs };
}

function createLoad(
  store: Store,
  { width, tasks, ms }: {
    readonly width: number;
    readonly tasks: number;
    readonly ms: number;
  },
): Promise<Counted> {
  return loop({ width, ms }, async () => {
    const results = await store.commit(
      Array.from({ length: tasks }, () => ({ writes: [creation()] })),
    );
    demandAll(results.map(({ kind }) => kind));
    return tasks;
  });
}

/** Leases tasks of one worker and completes them. */
async function leaseLoad(store: Store, ms: number): Promise<Counted> {
  for (let made = 0; made < READY_PER_SECOND * ms / 1_000; made += 1_000) {
    await store.commit(
      Array.from({ length: 1_000 }, () => ({ writes: [creation()] })),
    );
  }
  const worker = { tenantId: TENANT, workerId: WORKER };
  return await loop({ width: LEASE.width, ms }, async () => {
    let started: readonly Task[] = [];
    const results = await store.claim(
      { ...worker, limits: "none" },
      async (view) => {
        const found = await view.candidates({ ...worker, limit: LEASE.tasks });
        const starts = found.map(start);
        started = starts.map(({ task }) => task);
        return starts.map(({ transaction }) => transaction);
      },
    );
    const own = started.filter((_, at) => results[at]?.kind === "ok");
    const ends = own.map(complete);
    const done = await store.commit(ends.map((one) => one.transaction));
    return done.filter(({ kind }) => kind === "ok").length;
  });
}

const ids = new TaskIds(
  systemClock,
  (length) => crypto.getRandomValues(new Uint8Array(length)),
);

function creation(): Write {
  const nowMs = Date.now();
  return changeOf({
    ...BLANK_TASK,
    id: ids.next(),
    tenantId: TENANT,
    createdBy: { type: "key", id: "key_bench" },
    createdAtMs: nowMs,
    workerId: WORKER,
    dataJson: '{"to":"someone@example.com","template":"welcome","tries":1}',
    status: "waiting",
    isDue: true,
    dateMs: nowMs,
    firstDateMs: nowMs,
    slotMs: nowMs,
    updatedAtMs: nowMs,
  }, "created").write;
}

interface Changed {
  readonly task: Task;
  readonly transaction: Transaction;
}

function start(task: Task): Changed {
  const nowMs = Date.now();
  return toChanged(changeOf({
    ...task,
    version: task.version + 1,
    status: "running",
    executions: 1,
    fence: 1,
    startedAtMs: nowMs,
    attempt: {
      id: `lse_${task.id.slice(4)}_1`,
      tokenHash: "vO4GSzBtXmIzIcSn2xbmJAxYg4i9N7B0jP0SxyJbg3E",
      startedAtMs: nowMs,
      expiresAtMs: nowMs + 60_000,
      deadlineMs: nowMs + 600_000,
      leaseMs: 60_000,
    },
  }, "started"));
}

function complete(task: Task): Changed {
  const nowMs = Date.now();
  return toChanged(changeOf({
    ...task,
    version: task.version + 1,
    status: "complete",
    isDue: false,
    attempt: undefined,
    finishedAtMs: nowMs,
    purgeAtMs: nowMs + 604_800_000,
    resultJson: '{"ok":true}',
    lastOutcome: "succeeded",
  }, "completed"));
}

function toChanged(
  { task, write }: { readonly task: Task; readonly write: Write },
): Changed {
  return { task, transaction: { writes: [write] } };
}

/** The write of a task's next state, with a record of it. */
function changeOf(
  next: Task,
  type: "created" | "started" | "completed",
): { readonly task: Task; readonly write: Write } {
  const history = chain(
    [{
      atMs: next.updatedAtMs,
      type,
      status: next.status,
      run: 0,
      actor: next.createdBy,
    }],
    { count: next.historyCount, hash: next.historyHash },
    (text) => createHash("sha256").update(text).digest("base64url"),
  );
  const { seq = 0, hash = "" } = history[0] ?? {};
  const task = { ...next, historyCount: seq, historyHash: hash };
  return {
    task,
    write: {
      kind: "task",
      tenantId: task.tenantId,
      id: task.id,
      expectedVersion: task.version - 1,
      next: task,
      history,
    },
  };
}

function demandAll(kinds: readonly string[]): void {
  if (kinds.every((kind) => kind === "ok")) return;
  throw new Error("Cannot measure: a commit was refused");
}

const logger = createLogger({
  level: "error",
  format: "text",
  clock: systemClock,
  write: tell,
});

async function openSqlite(run: BenchRun): Promise<Measured> {
  const store = new SqliteStore({
    dataFolder: await run.makeFolder(),
    clock: systemClock,
    logger,
  });
  await store.start();
  return {
    name: "SQLite",
    store,
    serverUs: () => Promise.resolve(0),
    close: () => store.stop(),
  };
}

async function openPostgres(database: BenchDatabase): Promise<Measured> {
  const connection = { ...database, applicationName: "tercet-bench" };
  const watch = new ServerWatch({ clock: systemClock, logger });
  const pool = openPool({
    connection,
    max: 1,
    clock: systemClock,
    logger,
    watch,
  });
  const drop = `DROP SCHEMA IF EXISTS ${SCHEMA} CASCADE`;
  await pool.query(drop);
  const store = new PostgresStore({
    connection,
    schema: SCHEMA,
    clock: systemClock,
    logger,
  });
  await store.start();
  return {
    name: "PostgreSQL",
    store,
    serverUs: () => readServerUs(pool),
    close: async () => {
      await store.stop();
      await pool.query(drop);
      await pool.close();
    },
  };
}

/** Processor time of all processes of the server so far. */
async function readServerUs(pool: Pool): Promise<number> {
  const rows = await pool.query<{ pid: number }>(
    "SELECT pid FROM pg_stat_activity WHERE pid IS NOT NULL",
  );
  return await readUsedUs(rows.map(({ pid }) => pid));
}

/** Processor time of processes, with all of their threads. */
async function readUsedUs(pids: readonly number[]): Promise<number> {
  // The runtime itself does not read these files without all permissions.
  const { stdout } = await new Deno.Command("sh", {
    args: [
      "-c",
      `cat ${pids.map((pid) => `/proc/${pid}/task/*/schedstat`).join(" ")}`,
    ],
    stderr: "null",
  }).output();
  let ns = 0;
  for (const line of new TextDecoder().decode(stdout).trim().split("\n")) {
    ns += Number(line.split(" ")[0]);
  }
  return ns / 1_000;
}
