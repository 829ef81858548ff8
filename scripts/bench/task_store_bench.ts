/**
 * Measures how many operations the embedded store of the tasks service does in
 * a second, and how long it takes to start after it was killed.
 *
 * `deno task bench:task-store [TASKS]`, where `TASKS` is the number of tasks stored
 * for the second half, a million when left out.
 *
 * @module
 */

import { TaskIds } from "../../services/tasks/store/task_id.ts";
import { SqliteStore } from "../../services/tasks/store/sqlite/sqlite_store.ts";
import type { Store, Transaction } from "../../services/tasks/store/store.ts";
import type { Task } from "../../services/tasks/domain/task.ts";
import {
  change,
  changed,
  creation,
  sampleAttempt,
  sampleTask,
  withHistory,
} from "../../services/tasks/store/testing/sample_tasks.ts";
import { systemClock } from "../../services/shared/clock.ts";
import type { Logger } from "../../services/shared/logger.ts";
import { decidedSource, withStd } from "../launch/deno_process.ts";
import { print, tell } from "../terminal.ts";

const TENANT = "tnt_a";
const WORKER = "wrk_a";
const BATCH = 1_000;
const ROUND_MS = 2_000;
/**
 * Number of measured claims of fifty tasks each; the smaller store has enough
 * tasks for all of them.
 */
const ROUNDS = 80;
const CALLERS = 8;
const CLAIMED = 50;
const CLAIM = { tenantId: TENANT, workerId: WORKER, limit: CLAIMED } as const;
/**
 * The argument with which this program starts itself as the process that gets
 * killed.
 */
const CHILD = "--fill";

const ids = new TaskIds(
  systemClock,
  (length) => crypto.getRandomValues(new Uint8Array(length)),
);

/** Only failures are printed. */
const logger: Logger = {
  debug: () => {},
  info: () => {},
  warn: (message, fields) => tell(`${message} ${JSON.stringify(fields)}`),
  error: (message, fields) => tell(`${message} ${JSON.stringify(fields)}`),
};

if (import.meta.main) await main(Deno.args);

async function main(args: readonly string[]): Promise<void> {
  const [first, folder] = args;
  if (first === CHILD && folder !== undefined) {
    const store = await openStore(folder);
    await fill(store, Number(args[2]));
    print("filled");
    // Keeps writing until it is killed.
    while (true) await fill(store, BATCH);
  }
  const stored = first === undefined ? 1_000_000 : Number(first);
  await inFolder((folder) => measureFresh(folder));
  await inFolder((folder) => measureFull(folder, stored));
}

/** Measures an empty store. */
async function measureFresh(folder: string): Promise<void> {
  const store = await openStore(folder);
  for (const callers of [1, 10, 50]) {
    const rate = await perSecond(
      callers,
      () => store.commit([createTransaction()]),
    );
    report(`create, ${callers} at a time`, rate);
  }
  const rate = await perSecond(
    2,
    () => store.commit(Array.from({ length: BATCH }, createTransaction)),
  );
  report(`create, ${BATCH} per commit, 2 at a time`, rate * BATCH);
  await store.stop();
}

/**
 * Measures a store whose process was killed, compared with a fresh one that
 * holds ten thousand tasks.
 */
async function measureFull(folder: string, count: number): Promise<void> {
  const child = new Deno.Command(Deno.execPath(), {
    args: [...withStd(
      ["run", "-A", import.meta.filename ?? "", CHILD, folder, String(count)],
      decidedSource(),
    )],
    stdout: "piped",
  }).spawn();
  const reader = child.stdout.getReader();
  await reader.read();
  child.kill("SIGKILL");
  await reader.cancel();
  await child.status;
  const log = await Deno.stat(`${folder}/tasks.db-wal`);
  const startedMs = performance.now();
  const store = await openStore(folder);
  await store.scan({ status: "running", limit: 100 });
  await store.nextWakeMs();
  await store.candidates({ tenantId: TENANT, workerId: WORKER, limit: 1 });
  const tookMs = performance.now() - startedMs;
  print(
    `start after kill -9, ${count} stored, log of ` +
      `${Math.round(log.size / 1e6)} MB: ${Math.round(tookMs)} ms`,
  );
  await inFolder(async (small) => {
    const fresh = await openStore(small);
    await fill(fresh, 10_000);
    await measureClaims([
      { what: "10000 stored", store: fresh },
      { what: `${count} stored`, store },
    ]);
    await fresh.stop();
  });
  await store.stop();
}

interface Measured {
  readonly what: string;
  readonly store: Store;
  readonly claimsMs: number[];
  readonly bothMs: number[];
  readonly manyMs: number[];
}

/**
 * Measures the stores in turns, so that other work on the machine slows all of
 * them down alike.
 */
async function measureClaims(
  stores: readonly { readonly what: string; readonly store: Store }[],
): Promise<void> {
  const all = stores.map((one): Measured => ({
    ...one,
    claimsMs: [],
    bothMs: [],
    manyMs: [],
  }));
  for (let round = 0; round < ROUNDS; round++) {
    for (const one of all) await claimOnce(one);
    if (round % CALLERS === 0) {
      for (const one of all) await claimMany(one);
    }
  }
  for (const { what, claimsMs, bothMs, manyMs } of all) {
    const rate = (tasks: number, ms: readonly number[]) =>
      tasks * 1_000 / median(ms);
    report(`claim 50, ${what}`, rate(CLAIMED, claimsMs));
    report(`claim and complete 50, ${what}`, rate(CLAIMED, bothMs));
    report(
      `claim and complete 50, ${CALLERS} at a time, ${what}`,
      rate(CALLERS * CLAIMED, manyMs),
    );
  }
}

async function claimOnce(
  { store, claimsMs, bothMs }: Measured,
): Promise<void> {
  const startedMs = performance.now();
  const found = await store.candidates(CLAIM);
  const started = found.map((task) => start(task));
  await store.commit(started.map(({ transaction }) => transaction));
  claimsMs.push(performance.now() - startedMs);
  await store.commit(started.map(({ task }) => complete(task)));
  bothMs.push(performance.now() - startedMs);
  if (found.length < CLAIMED) {
    throw new Error(
      "Cannot measure: too few tasks are stored; give more TASKS",
    );
  }
}

async function claimMany({ store, manyMs }: Measured): Promise<void> {
  const startedMs = performance.now();
  const found = await store.candidates({ ...CLAIM, limit: CALLERS * CLAIMED });
  await Promise.all(Array.from({ length: CALLERS }, async (_, caller) => {
    const started = found.slice(caller * CLAIMED, (caller + 1) * CLAIMED)
      .map((task) => start(task));
    await store.commit(started.map(({ transaction }) => transaction));
    await store.commit(started.map(({ task }) => complete(task)));
  }));
  manyMs.push(performance.now() - startedMs);
}

function createTransaction(): Transaction {
  const { task, history } = withHistory(
    sampleTask({
      id: ids.next(),
      tenantId: TENANT,
      workerId: WORKER,
      dateMs: Date.now(),
      dataJson: JSON.stringify({
        to: "someone@example.com",
        n: "x".repeat(80),
      }),
    }),
    [{ type: "created", message: "by a client" }],
  );
  return { writes: [{ ...creation(task), history }] };
}

function start(
  task: Task,
): { readonly task: Task; readonly transaction: Transaction } {
  const { task: next, history } = withHistory(
    changed(task, { status: "running", attempt: sampleAttempt(task) }),
    [{ type: "started" }],
  );
  const usage = {
    kind: "usage",
    tenantId: TENANT,
    period: "2026-06",
    executions: 1,
  } as const;
  return {
    task: next,
    transaction: { writes: [{ ...change(next), history }, usage] },
  };
}

function complete(task: Task): Transaction {
  const { task: next, history } = withHistory(
    changed(task, {
      status: "complete",
      attempt: undefined,
      resultJson: '{"ok":true}',
      finishedAtMs: Date.now(),
      purgeAtMs: Date.now() + 7 * 86_400_000,
    }),
    [{ type: "succeeded" }, { type: "completed" }],
  );
  return { writes: [{ ...change(next), history }] };
}

async function fill(store: Store, count: number): Promise<void> {
  for (let made = 0; made < count; made += BATCH) {
    await store.commit(Array.from({ length: BATCH }, createTransaction));
  }
}

/** Repeats a call, `callers` at a time, and returns the calls per second. */
async function perSecond(
  callers: number,
  call: () => Promise<unknown>,
): Promise<number> {
  let calls = 0;
  const startedMs = performance.now();
  const endMs = startedMs + ROUND_MS;
  await Promise.all(Array.from({ length: callers }, async () => {
    while (performance.now() < endMs) {
      calls++;
      await call();
    }
  }));
  return calls / (performance.now() - startedMs) * 1_000;
}

async function openStore(dataFolder: string): Promise<Store> {
  const store = new SqliteStore({ dataFolder, clock: systemClock, logger });
  await store.start();
  return store;
}

async function inFolder(use: (folder: string) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "task_store_bench_" });
  try {
    await use(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}

function report(what: string, perSecond: number): void {
  print(`${what}: ${Math.round(perSecond)} tasks/s`);
}
