/**
 * Measures the tasks service over HTTP, as a process, against its bars, and
 * other queues beside it.
 *
 * ```sh
 * deno task bench:tasks --help
 * ```
 *
 * @module
 */

import { choiceOption, integerOption } from "../../services/shared/options.ts";
import { tell, toMessage } from "../terminal.ts";
import type { Bar } from "./kit/bars.ts";
import { type BenchRun, runBench } from "./kit/bench_run.ts";
import { startRedis, wrkLoad } from "./kit/clients.ts";
import { median, quantile, sorted } from "./kit/numbers.ts";
import { BenchPostgres } from "./kit/postgres.ts";
import {
  batchBeside,
  createBeside,
  drainBeside,
  measureNotices,
  startBeside,
} from "./tasks/beside.ts";
import { measureEnqueue } from "./tasks/enqueue.ts";
import { measureEvents } from "./tasks/events.ts";
import { measureFairness } from "./tasks/fairness.ts";
import { measureLists } from "./tasks/lists.ts";
import { type BenchDatabase, measureStores } from "./tasks/in_store.ts";
import {
  type DrainJob,
  type LoadCall,
  type LoadResult,
  LoadThread,
  WARM_UP_MS,
} from "./tasks/load_thread.ts";
import {
  askDrain,
  askStart,
  PEER_ADD,
  PEER_BATCH,
  startPeer,
} from "./tasks/peers.ts";
import { startTimes } from "./tasks/start_times.ts";
import {
  BATCH,
  batchRequest,
  type BenchTenant,
  createRequests,
  makeTenant,
  prepareTasks,
  startTasks,
  type TasksService,
} from "./tasks/service.ts";

/** Connections, and the least creates a second. */
const CREATE_RUNS = [[50, 12_000], [10, 5_000]] as const;
/** Requests under way at a time, and how much a response shows. */
const BATCH_RUNS = [
  [1, "representation"],
  [2, "representation"],
  [4, "representation"],
  [2, "minimal"],
  [4, "minimal"],
] as const;
/** Connections, and how much a lease response shows of the tasks. */
const DRAIN_RUNS = [
  [1, "representation"],
  [4, "representation"],
  [8, "representation"],
  [4, "minimal"],
  [8, "minimal"],
] as const;
/**
 * Tasks that are prepared per second of measurement; more than the service can
 * complete.
 */
const TASKS_PER_SECOND = 25_000;
const LEASED = 50;
/**
 * With a slower disk than this the time to the start is not judged, as it would
 * describe the disk rather than the service.
 */
const MAX_DISK_MS = 0.4;

const FLAGS = {
  store: choiceOption({
    help: "Where tasks are stored. With postgres the service on SQLite and " +
      "other queues are measured in turns with it.",
    values: { sqlite: "sqlite", postgres: "postgres" },
    default: "sqlite",
  }),
  tasks: integerOption({
    help: "Tasks of the larger tenant that lists are measured with.",
    ...{ default: 1_000_000, min: 1_000 },
  }),
} as const;

type TasksRun = BenchRun<typeof FLAGS>;

if (import.meta.main) {
  await runBench({
    usage: "bench:tasks",
    about:
      `Measures the tasks service over HTTP, durable, with credentials and history.
Creates and floods need wrk on the path.

Peers (BullMQ, pg-boss, Graphile Worker) are measured when their servers are there:
redis-server on the path, Postgres by the variables PGHOST, PGPORT, PGUSER,
PGPASSWORD and PGDATABASE. Their packages are fetched when they are measured.
The same variables say where PostgreSQL is for the rows in store; it has to be
on this machine. Without them SQLite is measured alone.

With --store=postgres the benchmark starts a PostgreSQL in a temporary folder
for each measure, with shared_buffers of 256 MB and each commit on disk. It
measures the service with one and with three instances on it, in turns with the
service on SQLite, with pg-boss and Graphile Worker on the same server, and with
BullMQ.`,
    measures: {
      create: onEither(createBeside, measureCreate),
      batch: onEither(batchBeside, measureBatch),
      drain: onEither(drainBeside, measureDrain),
      start: onEither(startBeside, measureStart),
      notices: async (run) => {
        const server = await startServer(run);
        if (server !== undefined) return await measureNotices(run, server);
        tell("notices are left out: an instance alone sends none");
      },
      enqueue: async (run) => {
        const server = await startServer(run);
        if (server !== undefined) return await measureEnqueue(run, server);
        tell("enqueue is left out: SQLite has no roles that could do so");
      },
      lists: async (run) => {
        const server = await startServer(run);
        await measureLists(run, { server, tasks: run.values.tasks });
      },
      events: async (run) => await measureEvents(run, await startServer(run)),
      fairness: (run) => withService(run, measureFairness),
      store: async (run) => {
        const server = await startServer(run);
        await measureStores(run, benchDatabase(server));
      },
      peers: async (run) => {
        if (run.values.store === "sqlite") return await measurePeers(run);
        tell("with --store=postgres, create to start measure other queues");
      },
    },
    rounds: 1,
    seconds: 5,
    flags: FLAGS,
  });
}

/** A service with a store of its own, and the client that sends load to it. */
interface Measured extends TasksService {
  readonly run: BenchRun;
  readonly load: LoadThread;
  readonly tenant: BenchTenant;
  /** Duration of each load, in milliseconds. */
  readonly ms: number;
}

/** Measures on PostgreSQL, beside others, or the service on SQLite alone. */
function onEither(
  beside: (run: BenchRun, server: BenchPostgres) => Promise<void>,
  alone: (measured: Measured) => Promise<void>,
): (run: TasksRun) => Promise<void> {
  return async (run) => {
    const server = await startServer(run);
    if (server === undefined) return await withService(run, alone);
    await run.diskMs();
    await beside(run, server);
  };
}

/**
 * Starts a PostgreSQL where the flags ask for it.
 *
 * @throws {Error} When it is not on the path.
 */
async function startServer(run: TasksRun): Promise<BenchPostgres | undefined> {
  if (run.values.store === "sqlite") return undefined;
  const server = await BenchPostgres.start();
  if (server !== undefined) return run.keep(server);
  throw new Error("Cannot measure: PostgreSQL is not on the path");
}

async function withService(
  run: TasksRun,
  measure: (measured: Measured) => Promise<void>,
): Promise<void> {
  await run.diskMs();
  const server = await startServer(run);
  const settings = server === undefined
    ? {}
    : { STORE: "postgres", DATABASE_URL: server.url };
  const service = await startTasks(await run.makeFolder(), { settings });
  run.keep(service.process);
  using load = new LoadThread();
  const tenant = await makeTenant(service.port);
  const ms = run.values.seconds * 1_000;
  try {
    await measure({ ...service, run, load, tenant, ms });
  } catch (error) {
    tell(await service.process.kill());
    throw error;
  }
}

async function measureCreate(
  { run, load, port, tenant }: Measured,
): Promise<void> {
  const requests = createRequests(tenant);
  for (const [connections, atLeast] of CREATE_RUNS) {
    const job = { port, connections, requests };
    const bars = await createBars(run, load, job);
    // The bar is for the service: the costlier own client is not judged.
    run.bars.push(
      ...bars.map((bar, at) => at === 1 ? { ...bar, atLeast } : bar),
    );
  }
}

/**
 * Creates tasks one by one: first with the bench's own client, then with `wrk`,
 * which costs a third of that.
 */
async function createBars(
  run: BenchRun,
  load: LoadThread,
  job: {
    readonly port: number;
    readonly connections: number;
    readonly requests: readonly Uint8Array[];
  },
): Promise<readonly Bar[]> {
  const { seconds } = run.values;
  const { perSecond, latenciesMs } = await load.run({
    kind: "load",
    job: { ...job, ports: [job.port], status: 201, ms: seconds * 1_000 },
  });
  const [p50Ms, p99Ms] = [
    quantile(latenciesMs, 0.5),
    quantile(latenciesMs, 0.99),
  ];
  const wrk = await wrkLoad({ ...job, seconds });
  const name = `create, ${job.connections} connections`;
  return [
    createBar(name, { perSecond, p50Ms, p99Ms }),
    createBar(`${name}, wrk`, wrk),
  ];
}

function createBar(
  name: string,
  { perSecond, p50Ms, p99Ms }: {
    readonly perSecond: number;
    readonly p50Ms: number;
    readonly p99Ms: number;
  },
): Bar {
  const note = `p50 ${p50Ms.toFixed(2)} ms, p99 ${p99Ms.toFixed(2)} ms`;
  return { name, value: perSecond, unit: "/s", note };
}

/**
 * Creates a thousand tasks per request, with several requests under way at a
 * time. The response shows the tasks or only names them, as those of other
 * queues do.
 */
async function measureBatch(
  { run, load, port, tenant, ms }: Measured,
): Promise<void> {
  const bars: Bar[] = [];
  for (const [connections, answer] of BATCH_RUNS) {
    const requests = [batchRequest(tenant, `return=${answer}`)];
    const { perSecond, latenciesMs } = await load.run({
      ...{
        kind: "load",
        job: { ports: [port], connections, requests, status: 200, ms },
      },
    });
    bars.push({
      name: `batch create of ${BATCH}, ${connections} under way, ${answer}`,
      value: perSecond * BATCH,
      unit: "tasks/s",
      note: `p50 ${quantile(latenciesMs, 0.5).toFixed(1)} ms`,
    });
  }
  // Only the best run has to meet the bar, since the client chooses how it
  // creates.
  run.bars.push(...withBestJudged(bars, 60_000));
}

function withBestJudged(bars: readonly Bar[], atLeast: number): readonly Bar[] {
  const best = Math.max(...bars.map(({ value }) => value));
  return bars.map((bar) => bar.value === best ? { ...bar, atLeast } : bar);
}

/** Measures leasing 50 tasks and completing 50, over several connections. */
async function measureDrain(measured: Measured): Promise<void> {
  const { run, ms } = measured;
  const bars: Bar[] = [];
  await drain(measured, [4, "representation"], WARM_UP_MS);
  for (const [connections, answer] of DRAIN_RUNS) {
    const { perSecond, latenciesMs } = await drain(
      measured,
      [connections, answer],
      ms,
    );
    bars.push({
      name: `lease 50 + complete 50, ${connections} connections, ${answer}`,
      value: perSecond,
      unit: "tasks/s",
      note: `p50 of both ${quantile(latenciesMs, 0.5).toFixed(1)} ms`,
    });
  }
  run.bars.push(...withBestJudged(bars, 15_000));
}

async function drain(
  { load, tenant, ...service }: Measured,
  [connections, answer]: readonly [number, DrainJob["answer"]],
  ms: number,
): Promise<LoadResult> {
  const { port } = service;
  const tasks = Math.ceil(ms / 1_000) * TASKS_PER_SECOND;
  await prepareTasks(service, tenant, tasks);
  const { host, token } = tenant;
  const job = { connections, host, token, batch: LEASED, answer };
  const result = await load.run({
    kind: "drain",
    job: { ...job, ports: [port], tasks, ms },
  });
  if (result.missing === 0) return result;
  throw new Error(`Cannot measure: ${result.missing} tasks were not leased`);
}

/**
 * Measures the time from the response that a task was stored to the moment a
 * waiting worker receives it: one task at a time, for one worker.
 */
async function measureStart({ run, port, tenant }: Measured): Promise<void> {
  const instance = { port };
  const { afterAnswerMs, afterRequestMs } = await startTimes({
    ...{ creating: instance, waiting: instance, tenant },
  });
  const p99 = quantile(sorted(afterAnswerMs), 0.99);
  run.bars.push({
    name: "create to start, p50",
    atMost: 2,
    value: median(afterAnswerMs),
    unit: "ms",
    digits: 2,
    note: `p99 ${p99.toFixed(2)} ms; p50 from sending ` +
      `${median(afterRequestMs).toFixed(2)} ms`,
    ...(await run.diskMs() <= MAX_DISK_MS
      ? {}
      : { unjudged: `not judged: fdatasync p50 is above ${MAX_DISK_MS} ms` }),
  });
}

/** Measures every other queue whose server is there. */
async function measurePeers(run: BenchRun): Promise<void> {
  const redis = await startRedis(run.folder, { isDurable: true });
  if (redis === undefined) {
    tell("BullMQ is left out: there is no redis-server on the path");
  } else {
    run.keep(redis);
    await measurePeer(run, "BullMQ (AOF always)", ["bullmq", redis.port]);
  }
  const place = postgresUrl();
  if (place === undefined) {
    return tell("pg-boss and Graphile Worker are left out: PGHOST is not set");
  }
  await measurePeer(run, "pg-boss (100 at a time)", ["pg-boss", place]);
  await measurePeer(run, "Graphile Worker (local queue)", ["graphile", place]);
}

function postgresUrl(): string | undefined {
  const host = Deno.env.get("PGHOST");
  if (!host) return undefined;
  const read = (name: string, usual: string): string =>
    encodeURIComponent(Deno.env.get(name) ?? usual);
  const user = `${read("PGUSER", "postgres")}:${read("PGPASSWORD", "")}`;
  const server = `${host}:${read("PGPORT", "5432")}`;
  return `postgres://${user}@${server}/${read("PGDATABASE", "postgres")}`;
}

function benchDatabase(
  server: BenchPostgres | undefined,
): BenchDatabase | undefined {
  if (server !== undefined) return server.database;
  const host = Deno.env.get("PGHOST");
  if (!host) return undefined;
  return {
    hosts: [{ host, port: Number(Deno.env.get("PGPORT") ?? 5432) }],
    database: Deno.env.get("PGDATABASE") ?? "postgres",
    user: Deno.env.get("PGUSER") ?? "postgres",
    password: Deno.env.get("PGPASSWORD") ?? "",
  };
}

/**
 * Measures one peer; a peer that can't be installed or fails is left out, and a
 * line tells why.
 */
async function measurePeer(
  run: BenchRun,
  shown: string,
  [program, place]: readonly [string, string | number],
): Promise<void> {
  tell(`measuring ${shown}`);
  try {
    using load = new LoadThread();
    const process = await startPeer(program, place);
    run.keep(process);
    const bars = await peerBars(run, load, process.port);
    run.bars.push(
      ...bars.map((bar) => ({ ...bar, name: `${shown}: ${bar.name}` })),
    );
  } catch (error) {
    tell(`${shown} is left out: ${toMessage(error)}`);
  }
}

async function peerBars(
  run: BenchRun,
  load: LoadThread,
  port: number,
): Promise<readonly Bar[]> {
  const bars: Bar[] = [];
  for (const [connections] of CREATE_RUNS) {
    const job = { port, connections, requests: [PEER_ADD] };
    const note = "; no credentials, no history";
    for (const bar of await createBars(run, load, job)) {
      bars.push({ ...bar, note: bar.note + note });
    }
  }
  const call: LoadCall = {
    kind: "load",
    job: {
      ...{ ports: [port], connections: 2, requests: [PEER_BATCH] },
      status: 201,
      ms: run.values.seconds * 1_000,
    },
  };
  return [
    ...bars,
    {
      name: `batch create of ${BATCH}`,
      value: (await load.run(call)).perSecond * BATCH,
      unit: "tasks/s",
    },
    {
      name: "process",
      value: await askDrain(port),
      unit: "tasks/s",
      note: "in one process, without HTTP",
    },
    {
      name: "create to start, p50",
      value: await askStart(port),
      unit: "ms",
      digits: 2,
      note: "in one process, without HTTP",
    },
  ];
}
