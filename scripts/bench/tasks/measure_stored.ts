/**
 * Measures how a store that has grown affects the service: how fast tasks are
 * leased, and how long the service takes to start after a crash.
 *
 * @module
 */

import { tell } from "../../terminal.ts";
import type { Bar } from "./bar.ts";
import { BenchService, runtimeStartMs } from "./bench_service.ts";
import { createRequest, makeTenant } from "./bench_tenant.ts";
import { type BenchRun, drainOf, flawless, perSecond } from "./bench_run.ts";
import { type FillOptions, fillStore, queueStates } from "./fill_store.ts";
import { requestBytes } from "./http_socket.ts";
import { median } from "./load_job.ts";
import { prepareTasks } from "./measure_drain.ts";

/** What to measure, and with what. */
export interface StoredOptions {
  /** The folder in which data folders are made. */
  readonly folder: string;
  /** The thread that sends the requests. */
  readonly load: BenchRun["load"];
  /** Number of tasks in the large store. */
  readonly tasks: number;
  /** Whether the claim rate is measured. */
  readonly claims: boolean;
  /** Whether the start after a crash is measured. */
  readonly starts: boolean;
}

const SMALL = 10_000;
const ROUNDS = 7;
const TASKS_OF_ROUND = 6_000;
const CONNECTIONS = 4;
const STARTS = 3;
const CRASH_LOAD_MS = 2_000;
/**
 * Number of tasks for the start after a crash: the bar is for this many, and
 * the start does not take longer with more.
 */
const START_TASKS = 1_000_000;

/**
 * Measures the claim rate with few and with many tasks stored, and the start
 * with many.
 */
export async function measureStored(
  options: StoredOptions,
): Promise<readonly Bar[]> {
  const bars: Bar[] = [];
  const { tasks, claims, starts } = options;
  const small = claims
    ? await withStored(
      { ...options, tasks: SMALL, stateOf: statesOf(SMALL) },
      measureClaims,
    )
    : undefined;
  if (small !== undefined) bars.push(claimBar(SMALL, small));
  const stored = { ...options, stateOf: statesOf(tasks) };
  const large = await withStored(stored, async (run, dataDir, service) => {
    const rate = claims ? await measureClaims(run) : undefined;
    if (starts) {
      bars.push(...await measureStarts(run, { dataDir, service, tasks }));
    }
    return rate;
  });
  if (small !== undefined && large !== undefined) {
    bars.unshift(claimBar(tasks, large), {
      name: `claim rate, ${count(tasks)} : ${count(SMALL)} stored`,
      atLeast: 0.5,
      value: large / small,
      unit: "×",
      digits: 2,
    });
  }
  return bars;
}

function statesOf(tasks: number): FillOptions["stateOf"] {
  return queueStates({
    tasks,
    waiting: Math.max(TASKS_OF_ROUND, tasks / 10),
  });
}

/**
 * Makes a data folder with stored tasks, runs a service on it during `use`, and
 * removes the folder afterwards.
 */
export async function withStored<Value>(
  { folder, load, tasks, stateOf }:
    & Pick<StoredOptions, "folder" | "load" | "tasks">
    & Pick<FillOptions, "stateOf">,
  use: (
    run: BenchRun,
    dataDir: string,
    service: BenchService,
  ) => Promise<Value>,
): Promise<Value> {
  const dataDir = `${folder}/stored_${tasks}`;
  await Deno.mkdir(dataDir);
  const first = await BenchService.start(dataDir);
  const tenant = await makeTenant(first.port);
  await first.stop();
  tell(`  storing ${count(tasks)} tasks`);
  const beginMs = performance.now();
  await fillStore({ dataDir, tenant, tasks, stateOf });
  tell(`  stored in ${Math.round((performance.now() - beginMs) / 1_000)} s`);
  const service = await BenchService.start(dataDir);
  try {
    const { port, pid } = service;
    return await use({ port, pid, tenant, load, ms: 0 }, dataDir, service);
  } catch (error) {
    tell(await service.kill());
    throw error;
  } finally {
    await service.kill();
    await Deno.remove(dataDir, { recursive: true });
  }
}

/**
 * Returns the median of the rates, in tasks per second, at which tasks are
 * leased.
 */
async function measureClaims(run: BenchRun): Promise<number> {
  const rates: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const result = flawless(
      await run.load.drain({
        ...drainOf(run),
        connections: CONNECTIONS,
        completes: false,
        tasks: TASKS_OF_ROUND,
        ms: 60_000,
      }),
    );
    rates.push(perSecond(result));
    // Replaces the tasks that were taken, so that as many wait in each round.
    await prepareTasks(run, TASKS_OF_ROUND);
  }
  return median(rates);
}

/**
 * Repeatedly kills the service under load and starts it again; measures the
 * starts.
 */
async function measureStarts(
  run: BenchRun,
  { dataDir, service, tasks }: {
    readonly dataDir: string;
    readonly service: BenchService;
    readonly tasks: number;
  },
): Promise<readonly Bar[]> {
  const times: number[] = [];
  let running = service;
  for (let start = 0; start < STARTS; start++) {
    const cut = run.load.load({
      port: running.port,
      connections: 20,
      requests: [requestBytes(createRequest(run.tenant, start))],
      status: 201,
      warmUpMs: 0,
      ms: CRASH_LOAD_MS * 2,
    });
    // The load fails when the service is killed, which is intended.
    const ended = cut.then(() => {}, () => {});
    await new Promise((resolve) => setTimeout(resolve, CRASH_LOAD_MS));
    await running.kill();
    await ended;
    running = await BenchService.start(dataDir);
    times.push(running.readyMs);
  }
  await running.kill();
  const runtime: number[] = [];
  for (let start = 0; start < STARTS; start++) {
    runtime.push(await runtimeStartMs());
  }
  return [{
    name: `start after kill -9, ${count(tasks)} stored`,
    ...(tasks >= START_TASKS ? { atMost: 2 } : {}),
    value: Math.max(...times) / 1_000,
    unit: "s",
    digits: 2,
    note: `the slowest of ${STARTS}, median ${
      Math.round(median(times))
    } ms; the runtime's own start and end ${Math.round(median(runtime))} ms`,
  }];
}

function claimBar(tasks: number, value: number): Bar {
  return { name: `claim 50, ${count(tasks)} stored`, value, unit: "tasks/s" };
}

function count(tasks: number): string {
  return tasks.toLocaleString("en-US");
}
