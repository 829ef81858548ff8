/**
 * Measures the tasks service on PostgreSQL over HTTP, in turns with the service
 * on SQLite, other queues on the same server, and BullMQ on a Redis.
 *
 * @module
 */

import type { Bar } from "../kit/bars.ts";
import type { BenchRun, Figures } from "../kit/bench_run.ts";
import { wrkLoad } from "../kit/clients.ts";
import { median, quantile, sorted } from "../kit/numbers.ts";
import type { BenchPostgres } from "../kit/postgres.ts";
import { LoadThread } from "./load_thread.ts";
import { askStart } from "./peers.ts";
import {
  BULLMQ,
  GRAPHILE,
  ONE,
  openPeers,
  openTasks,
  PG_BOSS,
  type Queue,
  SQLITE,
  type TasksQueue,
  THREE,
} from "./queues.ts";
import { BATCH } from "./service.ts";
import { START_ROUNDS, startTimes } from "./start_times.ts";

/** Connections that create tasks one by one. */
const CREATING = [50, 10] as const;
/** Batches that are under way at a time. */
const BATCHES = 2;
const INSTANCES = 3;
/** Connections whose creates are measured with and without notices. */
const TOLD = 50;
/**
 * The least rounds that compare creates with and without notices, which differ
 * by less than two rounds do.
 */
const TOLD_ROUNDS = 7;

/**
 * Creates that each process has answered before it is measured: the runtime goes
 * on compiling the hot code for ten to twenty seconds, in which the creates per
 * second grow by half.
 */
const WARM_CREATES = 60_000;
const WARM_SECONDS = 2;
/** The most loads that warm a process up, where it is slow. */
const WARM_LOADS = 12;

/** Queues that are measured in turns. */
interface Beside {
  readonly run: BenchRun;
  readonly server: BenchPostgres;
  readonly queues: readonly Queue[];
}

/** Measures creates one by one, and what they cost. */
export async function createBeside(
  run: BenchRun,
  server: BenchPostgres,
): Promise<void> {
  const beside = await openAll(run, server);
  for (const { adds: requests, processes } of beside.queues) {
    for (const { port } of processes) await warmUp(port, requests);
  }
  const costUs = new Map<number, number>();
  for (const connections of CREATING) {
    const what = `create, ${connections} connections`;
    const seen = await compare(beside, {
      what,
      unit: "/s",
      load: (queue) => createFigures(beside, queue, connections),
    });
    costUs.set(connections, seen.figures(SQLITE)?.clientUs ?? NaN);
    seen.ratio(SQLITE, BULLMQ, { atLeast: 1 });
    seen.ratio(ONE, SQLITE, {});
    seen.ratio(THREE, ONE, {});
    seen.ratio(ONE, PG_BOSS, connections === TOLD ? { atLeast: 5 } : {});
    seen.ratio(ONE, GRAPHILE, connections === TOLD ? { atLeast: 5 } : {});
    const one = seen.figures(ONE);
    if (connections !== TOLD || one === undefined) continue;
    run.bars.push({
      name: `${what}, processor time of one instance`,
      ...{ value: one.clientUs ?? NaN, unit: "µs", atMost: 80 },
      unjudged: "with HTTP, credentials and the engine; the bar is for the " +
        "store alone",
    }, {
      name: `${what}, processor time of PostgreSQL`,
      ...{ value: one.serverUs ?? NaN, unit: "µs", atMost: 60 },
    });
  }
  const [many = NaN, few = NaN] = CREATING.map((count) => costUs.get(count));
  run.ratio(
    `processor time of a create, SQLite, ${CREATING.join(" to ")}`,
    few / many,
    { atMost: 1.25 },
  );
}

async function warmUp(
  port: number,
  requests: readonly Uint8Array[],
): Promise<void> {
  const job = { port, requests, connections: TOLD, seconds: WARM_SECONDS };
  let calls = 0;
  for (let load = 0; load < WARM_LOADS; load++) {
    calls += (await wrkLoad(job)).calls;
    if (calls >= WARM_CREATES) return;
  }
}

/** Measures creates in batches. */
export async function batchBeside(
  run: BenchRun,
  server: BenchPostgres,
): Promise<void> {
  const beside = await openAll(run, server);
  using load = new LoadThread();
  const seen = await compare(beside, {
    what: `batch create of ${BATCH}, ${BATCHES} under way`,
    unit: "tasks/s",
    load: async (queue) => {
      const { processes, batch: [request, status] } = queue;
      const usedUs = await readUsedUs(beside, queue);
      const ms = run.values.seconds * 1_000;
      const { perSecond, latenciesMs, requests } = await load.run({
        kind: "load",
        job: {
          ports: processes.map(({ port }) => port),
          connections: Math.max(BATCHES, processes.length),
          requests: [request],
          ...{ status, ms },
        },
      });
      return {
        perSecond: perSecond * BATCH,
        p50Ms: quantile(latenciesMs, 0.5),
        p99Ms: quantile(latenciesMs, 0.99),
        ...await costs(beside, queue, { usedUs, tasks: requests * BATCH }),
      };
    },
  });
  seen.ratio(SQLITE, GRAPHILE, { atLeast: 1 });
  seen.ratio(SQLITE, BULLMQ, {});
  seen.ratio(ONE, SQLITE, {});
  seen.ratio(THREE, ONE, {});
  seen.ratio(ONE, PG_BOSS, {});
  seen.ratio(ONE, GRAPHILE, { atLeast: 1 });
}

/** Measures tasks of one worker that are leased and completed. */
export async function drainBeside(
  run: BenchRun,
  server: BenchPostgres,
): Promise<void> {
  const beside = await openAll(run, server);
  using load = new LoadThread();
  const seen = await compare(beside, {
    what: "lease 50 + complete 50, one worker",
    unit: "tasks/s",
    load: async (queue) => {
      const ms = run.values.seconds * 1_000;
      await queue.fill(ms);
      const usedUs = await readUsedUs(beside, queue);
      const { perSecond, tasks } = await queue.drain(load, ms);
      if (tasks === undefined) return { perSecond };
      return { perSecond, ...await costs(beside, queue, { usedUs, tasks }) };
    },
  });
  seen.ratio(SQLITE, BULLMQ, { atLeast: 2 });
  seen.ratio(ONE, SQLITE, {});
  seen.ratio(THREE, ONE, { atLeast: 1.6 });
  seen.ratio(ONE, GRAPHILE, {});
  seen.ratio(THREE, GRAPHILE, { atLeast: 0.6 });
  seen.ratio(THREE, PG_BOSS, {});
  for (const queue of beside.queues) {
    if (queue.name !== THREE) continue;
    run.bars.push({
      name: `starts that were lost, ${queue.name}`,
      ...{ value: await queue.lostStarts(), unit: "starts", atMost: 0 },
    });
  }
}

/**
 * Measures the time from the response that a task was stored to the moment a
 * waiting worker receives it, from the same instance and from another one.
 */
export async function startBeside(
  run: BenchRun,
  server: BenchPostgres,
): Promise<void> {
  const sqlite = await openTasks(run, { name: SQLITE });
  const several = await openTasks(run, {
    ...{ name: THREE, server, instances: INSTANCES },
  });
  const [first, second] = several.services;
  const { tenant } = several;
  await startBars(run, "create to start, SQLite", {
    ...{ creating: sqlite.services[0]!, waiting: sqlite.services[0]! },
    ...{ tenant: sqlite.tenant, bars: {} },
  });
  await startBars(run, "create to start, PostgreSQL, same instance", {
    ...{ creating: first!, waiting: first!, tenant, bars: {} },
  });
  await startBars(run, "create to start, PostgreSQL, another instance", {
    ...{ creating: first!, waiting: second!, tenant },
    bars: { p50Ms: 10, p99Ms: 60 },
  });
  for (const { name, processes } of await openPeers(run, server)) {
    run.bars.push({
      name: `create to start, ${name}, p50`,
      value: await askStart(processes[0]!.port),
      ...{ unit: "ms", digits: 2, note: "in one process, without HTTP" },
    });
  }
}

async function startBars(
  run: BenchRun,
  name: string,
  { bars, ...of }: Parameters<typeof startTimes>[0] & {
    readonly bars: { readonly p50Ms?: number; readonly p99Ms?: number };
  },
): Promise<void> {
  const unjudged = run.unjudgedIfBusy();
  const { afterAnswerMs, afterRequestMs } = await startTimes(of);
  const common = { unit: "ms", digits: 2 };
  run.bars.push({
    ...{ ...common, name: `${name}, p50`, value: median(afterAnswerMs) },
    ...(bars.p50Ms === undefined ? {} : { atMost: bars.p50Ms, ...unjudged }),
    note: `from sending ${median(afterRequestMs).toFixed(2)} ms`,
  }, {
    ...{ ...common, name: `${name}, p99` },
    value: quantile(sorted(afterAnswerMs), 0.99),
    ...(bars.p99Ms === undefined ? {} : { atMost: bars.p99Ms, ...unjudged }),
    note: `of ${START_ROUNDS}; the longest ${
      Math.max(...afterAnswerMs).toFixed(1)
    } ms`,
  });
}

/** Measures what it costs to tell another instance of creates. */
export async function measureNotices(
  run: BenchRun,
  server: BenchPostgres,
): Promise<void> {
  const both: TasksQueue[] = [];
  for (const hasNotices of [true, false]) {
    const name = hasNotices ? "with notices" : "without notices";
    both.push(
      await openTasks(run, { name, server, instances: 2, hasNotices }),
    );
  }
  const beside = { run, server, queues: both };
  const figures = await run.inTurns(
    both.map((queue) => () => createFigures(beside, queue, TOLD, [0])),
    { leastRounds: TOLD_ROUNDS },
  );
  const what = `create at one of two instances, ${TOLD} connections`;
  both.forEach(({ name }, at) =>
    run.bars.push(rateBar(`${what}, ${name}`, "/s", figures[at] ?? {}))
  );
  const [told, untold] = figures;
  const note = `medians of ${Math.max(TOLD_ROUNDS, run.values.rounds)} rounds`;
  run.ratio(`${what}, with notices to without`, rate(told) / rate(untold), {
    ...{ atLeast: 0.95, note },
  });
  run.ratio(
    `${what}, processor time of all, with notices to without`,
    allUs(told) / allUs(untold),
    {},
  );
}

/** The instances on either store, and other queues. */
async function openAll(
  run: BenchRun,
  server: BenchPostgres,
): Promise<Beside> {
  const queues: Queue[] = [
    await openTasks(run, { name: SQLITE }),
    await openTasks(run, { name: ONE, server }),
    await openTasks(run, { name: THREE, server, instances: INSTANCES }),
    ...await openPeers(run, server),
  ];
  return { run, server, queues };
}

/** What was seen of each queue. */
interface Seen {
  figures(name: string): Figures | undefined;
  /** Adds the ratio of two queues to the report, if both were measured. */
  ratio(
    one: string,
    other: string,
    bar: Pick<Bar, "atLeast" | "unjudged">,
  ): void;
}

/** Sends a load to each queue in turns, and adds its figures to the report. */
async function compare(
  { run, queues }: Beside,
  { what, unit, load }: {
    readonly what: string;
    readonly unit: string;
    readonly load: (queue: Queue) => Promise<Figures>;
  },
): Promise<Seen> {
  const all = await run.inTurns(queues.map((queue) => () => load(queue)));
  const byName = new Map(queues.map(({ name }, at) => [name, all[at] ?? {}]));
  for (const [name, figures] of byName) {
    run.bars.push(rateBar(`${what}, ${name}`, unit, figures));
  }
  return {
    figures: (name) => byName.get(name),
    ratio(one, other, bar) {
      const both = [byName.get(one), byName.get(other)];
      if (both.includes(undefined)) return;
      const value = rate(both[0]) / rate(both[1]);
      const cost = allUs(both[0]) / allUs(both[1]);
      run.ratio(`${what}, ${one} to ${other}`, value, {
        ...bar,
        ...(Number.isNaN(cost)
          ? {}
          : { note: `processor time of a task ${cost.toFixed(2)} ×` }),
      });
    },
  };
}

function rateBar(name: string, unit: string, figures: Figures): Bar {
  const { p50Ms, p99Ms, clientUs, serverUs } = figures;
  const notes: string[] = [];
  if (p50Ms !== undefined && p99Ms !== undefined) {
    notes.push(`p50 ${p50Ms.toFixed(1)} ms, p99 ${p99Ms.toFixed(1)} ms`);
  }
  if (clientUs !== undefined && serverUs !== undefined) {
    const [own, server] = [clientUs.toFixed(0), serverUs.toFixed(0)];
    notes.push(`processor time ${own} + ${server} µs`);
  }
  return {
    ...{ name, value: rate(figures), unit },
    ...(notes.length === 0 ? {} : { note: notes.join("; ") }),
  };
}

function rate(figures: Figures | undefined): number {
  return figures?.perSecond ?? NaN;
}

function allUs(figures: Figures | undefined): number {
  return (figures?.clientUs ?? NaN) + (figures?.serverUs ?? NaN);
}

/**
 * Creates tasks one by one.
 *
 * @param at Which of the processes share the connections; all unless given.
 */
async function createFigures(
  beside: Beside,
  queue: Queue,
  connections: number,
  at: readonly number[] = queue.processes.map((_, index) => index),
): Promise<Figures> {
  const { seconds } = beside.run.values;
  const usedUs = await readUsedUs(beside, queue);
  const loads = await Promise.all(
    at.map((process, index) =>
      wrkLoad({
        port: queue.processes[process]!.port,
        connections: Math.ceil((connections - index) / at.length),
        requests: queue.adds,
        seconds,
      })
    ),
  );
  const tasks = loads.reduce((sum, { calls }) => sum + calls, 0);
  return {
    perSecond: loads.reduce((sum, { perSecond }) => sum + perSecond, 0),
    p50Ms: median(loads.map(({ p50Ms }) => p50Ms)),
    p99Ms: Math.max(...loads.map(({ p99Ms }) => p99Ms)),
    ...await costs(beside, queue, { usedUs, tasks }),
  };
}

/** Processor time in microseconds of a queue's processes and of PostgreSQL. */
type UsedUs = readonly [client: number, server: number];

async function readUsedUs(
  { server }: Beside,
  { processes }: Queue,
): Promise<UsedUs> {
  const used = await Promise.all(processes.map((process) => process.usage()));
  const clientUs = used.reduce((sum, { threadsUs }) => sum + threadsUs, 0);
  return [clientUs, await server.cpuUs()];
}

/** What each task has cost since a reading. */
async function costs(
  beside: Beside,
  queue: Queue,
  { usedUs, tasks }: { readonly usedUs: UsedUs; readonly tasks: number },
): Promise<Figures> {
  const [clientUs, serverUs] = await readUsedUs(beside, queue);
  return {
    clientUs: (clientUs - usedUs[0]) / tasks,
    serverUs: (serverUs - usedUs[1]) / tasks,
  };
}
