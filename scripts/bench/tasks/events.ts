/**
 * Measures events: what their readers cost those who create tasks, and how soon
 * an event reaches all of them.
 *
 * @module
 */

import { tell } from "../../terminal.ts";
import type { BenchRun } from "../kit/bench_run.ts";
import { wrkLoad } from "../kit/clients.ts";
import { HttpSocket } from "../kit/http_socket.ts";
import { median, quantile, sorted } from "../kit/numbers.ts";
import { scriptCommand } from "../kit/measured_process.ts";
import type { BenchPostgres } from "../kit/postgres.ts";
import { openReaders, type ReadersJob } from "./event_readers.ts";
import {
  type BenchTenant,
  createRequests,
  makeTenant,
  startTasks,
  type TasksService,
} from "./service.ts";

const CONNECTIONS = 50;
const CONSOLES = 500;
/** How often the script of a console loads its page while changes go on. */
const PAGE_MS = 30_000;
const READERS = 1_000;
/** How often all ways are measured, in turns. */
const TURNS = 5;
/** Events whose way to all readers is measured, and the pause between two. */
const EVENTS = 50;
const PAUSE_MS = 100;

interface Way {
  readonly name: string;
  /** How many read, and which events; with 0, events are only kept. */
  readonly readers?: Pick<ReadersJob, "query" | "pageMs"> & {
    readonly count: number;
  };
  readonly atLeast?: number;
}

/** Ways to read, each measured beside a service without readers. */
const WAYS: readonly Way[] = [
  { name: "no events are kept" },
  { name: "events kept, no reader", readers: { count: 0, query: "" } },
  {
    name: `${CONSOLES} consoles, a digest each second`,
    readers: { count: CONSOLES, query: "every=PT1S" },
  },
  {
    name: `${CONSOLES} consoles, a digest each second, a page each 30 s`,
    readers: { count: CONSOLES, query: "every=PT1S", pageMs: PAGE_MS },
    atLeast: 0.9,
  },
  {
    name: `${CONSOLES} readers of failures`,
    readers: { count: CONSOLES, query: "type=task.failed,worker.*,quota.*" },
  },
  {
    name: "one reader of everything",
    readers: { count: 1, query: "" },
  },
];

/** Measures create beside each way to read, and the way of an event. */
export async function measureEvents(
  run: BenchRun,
  server: BenchPostgres | undefined,
): Promise<void> {
  const settings = server === undefined
    ? {}
    : { STORE: "postgres", DATABASE_URL: server.url };
  const places: Place[] = [];
  for (const [index, way] of WAYS.entries()) {
    const schema = server === undefined ? {} : { DATABASE_SCHEMA: `w${index}` };
    const service = await startTasks(await run.makeFolder(), {
      settings: { ...settings, ...schema },
    });
    run.keep(service.process);
    const tenant = await makeTenant(service.port);
    places.push({ way, service, tenant, perSecond: [], cpuUs: [] });
  }
  for (let turn = -1; turn < TURNS; turn++) {
    for (const { way, service, tenant, perSecond, cpuUs } of places) {
      const { port, process } = service;
      await using _ = await read(way, { port, ...tenant });
      const requests = createRequests(tenant);
      const seconds = turn < 0 ? 2 : run.values.seconds;
      const before = await process.usage();
      const load = { port, connections: CONNECTIONS, requests, seconds };
      const figures = await wrkLoad(load);
      const { threadsUs } = await process.usage();
      if (turn < 0) continue;
      perSecond.push(figures.perSecond);
      const created = figures.perSecond * seconds;
      cpuUs.push((threadsUs - before.threadsUs) / created);
    }
  }
  const [alone, ...others] = places;
  const base = median(alone?.perSecond ?? []);
  const baseUs = median(alone?.cpuUs ?? []);
  for (const { way, perSecond, cpuUs } of others) {
    const name = `create, ${CONNECTIONS} connections: ${way.name}`;
    const note = `${median(perSecond).toFixed(0)} and ${base.toFixed(0)} /s; ` +
      `${median(cpuUs).toFixed(0)} and ${baseUs.toFixed(0)} µs of processor`;
    const { atLeast } = way;
    run.ratio(name, median(perSecond) / base, {
      note,
      ...atLeast === undefined ? {} : { atLeast },
    });
  }
  await measureWay(run, places[0]!);
}

interface Place {
  readonly way: Way;
  readonly service: TasksService;
  readonly tenant: BenchTenant;
  readonly perSecond: number[];
  /** Processor time of the service for a task. */
  readonly cpuUs: number[];
}

/** Opens the readers of a way in a process of their own. */
async function read(
  { readers }: Way,
  { port, host, token }: Pick<ReadersJob, "port" | "host" | "token">,
): Promise<AsyncDisposable> {
  if (readers === undefined) return { [Symbol.asyncDispose]: async () => {} };
  const { count, ...asked } = readers;
  // One that comes and goes has the events kept.
  const job = { port, host, token, ...asked, readers: Math.max(1, count) };
  const [program = "", ...args] = scriptCommand(
    "tasks/event_readers_program.ts",
    [JSON.stringify(job)],
  );
  const child = new Deno.Command(program, {
    args,
    stdin: "piped",
    stdout: "piped",
    stderr: "inherit",
  }).spawn();
  const lines = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
  const { value } = await lines.read();
  if (value !== "ready\n") throw new Error(`Cannot read events: ${value}`);
  const end = async (): Promise<void> => {
    await child.stdin.close();
    const { value: told } = await lines.read();
    await child.status;
    const { open, bytes } = JSON.parse(told ?? "{}");
    if (open === job.readers) return;
    tell(`only ${open} of ${job.readers} readers were left, ${bytes} bytes`);
  };
  if (count > 0) return { [Symbol.asyncDispose]: end };
  await end();
  return { [Symbol.asyncDispose]: async () => {} };
}

/** Measures the time from the answer to a create until each reader has it. */
async function measureWay(
  run: BenchRun,
  { service: { port, process }, tenant }: Place,
): Promise<void> {
  let answeredMs = 0;
  const tookMs: number[] = [];
  const seen = new Set<number>();
  using readers = await openReaders(
    { port, ...tenant, readers: READERS, query: "type=task.created" },
    (bytes, reader) => {
      // Heartbeats are shorter than any event.
      if (bytes.length < 100 || seen.has(reader)) return;
      seen.add(reader);
      const nowMs = performance.now();
      tookMs.push(answeredMs === 0 ? 0 : nowMs - answeredMs);
    },
  );
  using socket = await HttpSocket.connect(port);
  const [request = new Uint8Array()] = createRequests(tenant);
  const before = await process.usage();
  for (let event = 0; event < EVENTS; event++) {
    seen.clear();
    answeredMs = 0;
    const { status } = await socket.exchange(request);
    if (status !== 201) throw new Error(`Cannot create: ${status}`);
    answeredMs = performance.now();
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    while (seen.size < readers.open) {
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  }
  const { threadsUs } = await process.usage();
  const usedUs = (threadsUs - before.threadsUs) / EVENTS / READERS;
  const all = sorted(tookMs);
  run.bars.push({
    name: `an event from the answer to ${READERS} readers, p99`,
    value: quantile(all, 0.99),
    unit: "ms",
    atMost: 100,
    note: `p50 ${quantile(all, 0.5).toFixed(1)} ms, ${usedUs.toFixed(1)} µs ` +
      "of processor for each reader",
  });
}
