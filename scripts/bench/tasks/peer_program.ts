/**
 * Serves another queue over HTTP, as the tasks service is served: in a process
 * of its own, with packages that the project does not depend on.
 *
 * `POST /add` and `POST /batch` add jobs, `POST /drain` and `POST /start`
 * measure and answer with the result.
 *
 * @module
 */

import { Buffer } from "node:buffer";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { print } from "../../terminal.ts";
import { median, pause } from "../kit/numbers.ts";

/** Another queue, connected to its server. */
interface Peer {
  /** Adds a job; resolves once it is stored durably. */
  add(data: unknown): Promise<unknown>;
  /** Adds many jobs at once. */
  addMany(data: readonly unknown[]): Promise<unknown>;
  /**
   * Runs jobs as fast as the queue can; each job does nothing but call `onJob`.
   * Returns a function that stops the work.
   */
  work(onJob: () => void): Promise<() => Promise<unknown>>;
}

/**
 * An object of a package that is imported at run time. The packages are not
 * dependencies of the project, so that their types are not known.
 */
type Foreign = Readonly<
  Record<string, (...args: readonly unknown[]) => Promise<unknown>>
>;
type ForeignPackage = Readonly<
  Record<string, new (...args: readonly unknown[]) => Foreign>
>;

const START_ROUNDS = 200;
const BATCH = 1_000;
const IDLE_MS = 500;
const NAME = "bench";
/** Tasks that pg-boss takes at a time, and how many loops take them. */
const FETCHED = 100;
const FETCHERS = 4;
/** How long a fetcher waits when the queue is empty, in milliseconds. */
const PAUSE_MS = 2;

const PEERS: Readonly<Record<string, (place: string) => Promise<Peer>>> = {
  bullmq: openBullMq,
  "pg-boss": openPgBoss,
  graphile: openGraphile,
};

if (import.meta.main) await main(Deno.args);

async function main([name = "", place = ""]: readonly string[]): Promise<void> {
  const open = PEERS[name];
  if (open === undefined) throw new RangeError(`Cannot measure "${name}"`);
  const peer = await open(place);
  const server = createServer((request, response) => {
    void answer(peer, request).then(
      ([status, value]) => [status, JSON.stringify(value)] as const,
      (error) => [500, JSON.stringify({ error: String(error) })] as const,
    ).then(([status, text]) => {
      response.writeHead(status, {
        "content-type": "application/json",
        "content-length": Buffer.byteLength(text),
      });
      response.end(text);
    });
  });
  server.listen(0, "127.0.0.1", () => {
    print(String((server.address() as AddressInfo).port));
  });
}

async function answer(
  peer: Peer,
  request: IncomingMessage,
): Promise<readonly [number, unknown]> {
  const parts: Uint8Array[] = [];
  for await (const part of request) parts.push(part);
  const text = Buffer.concat(parts).toString();
  switch (request.url) {
    case "/add":
      await peer.add(JSON.parse(text));
      return [201, { ok: true }];
    case "/batch":
      await peer.addMany(JSON.parse(text));
      return [201, { ok: true }];
    case "/drain":
      return [200, { value: await drain(peer, JSON.parse(text)) }];
    case "/start":
      return [200, { value: await startTime(peer) }];
    default:
      return [404, {}];
  }
}

/** Runs a backlog of jobs; returns the jobs per second. */
async function drain(peer: Peer, jobs: number): Promise<number> {
  const backlog = Array.from({ length: BATCH }, (_, n) => ({ n }));
  for (let made = 0; made < jobs; made += BATCH) await peer.addMany(backlog);
  const { promise: isDone, resolve } = Promise.withResolvers<void>();
  let done = 0;
  const beginMs = performance.now();
  const stop = await peer.work(() => {
    if (++done >= jobs) resolve();
  });
  await isDone;
  const tookMs = performance.now() - beginMs;
  await stop();
  return jobs / tookMs * 1_000;
}

/** Measures the time from when a job is stored to when it starts. */
async function startTime(peer: Peer): Promise<number> {
  let started = Promise.withResolvers<number>();
  let lastMs = performance.now();
  const stop = await peer.work(() => {
    lastMs = performance.now();
    started.resolve(lastMs);
  });
  // Waits until the jobs that earlier measurements left have run.
  while (performance.now() - lastMs < IDLE_MS) await pause(IDLE_MS);
  const times: number[] = [];
  for (let round = 0; round < START_ROUNDS; round++) {
    started = Promise.withResolvers();
    await pause(5);
    await peer.add({ round });
    const keptMs = performance.now();
    times.push(Math.max(0, await started.promise - keptMs));
  }
  await stop();
  return median(times);
}

/** BullMQ, on the Redis server at a port of this machine. */
async function openBullMq(port: string): Promise<Peer> {
  const { Queue, Worker } = await importPackage("bullmq@^6.0.0");
  // The client is passed in, since BullMQ finds ioredis by itself only where
  // all packages are installed in one folder.
  const { Redis } = await importPackage("ioredis@^5.0.0");
  const connection = new Redis!({
    ...{ host: "127.0.0.1", port: Number(port), maxRetriesPerRequest: null },
  });
  const queue = new Queue!(NAME, { connection });
  return {
    add: (data) => queue.add!("job", data),
    addMany: (all) =>
      queue.addBulk!(all.map((data) => ({ name: "job", data }))),
    async work(onJob) {
      const run = () => Promise.resolve(onJob());
      const worker = new Worker!(NAME, run, { connection, concurrency: 50 });
      await worker.waitUntilReady!();
      return () => worker.close!();
    },
  };
}

/** pg-boss, which takes and completes a hundred jobs at a time. */
async function openPgBoss(connectionString: string): Promise<Peer> {
  const { PgBoss } = await importPackage("pg-boss@^12.0.0");
  const boss = new PgBoss!({ connectionString, max: 10 });
  void boss.on!("error", (error: unknown) => {
    throw error;
  });
  await boss.start!();
  await boss.createQueue!(NAME);
  return {
    add: (data) => boss.send!(NAME, data),
    addMany: (all) => boss.insert!(NAME, all.map((data) => ({ data }))),
    work(onJob) {
      let isOpen = true;
      const fetchers = Array.from({ length: FETCHERS }, async () => {
        while (isOpen) {
          const jobs = await boss.fetch!(NAME, {
            batchSize: FETCHED,
          }) as readonly { readonly id: string }[];
          for (const _ of jobs) onJob();
          if (jobs.length === 0) await pause(PAUSE_MS);
          else await boss.complete!(NAME, jobs.map(({ id }) => id));
        }
      });
      return Promise.resolve(() => {
        isOpen = false;
        return Promise.all(fetchers);
      });
    },
  };
}

/** Graphile Worker, with its local queue and batched completion. */
async function openGraphile(connectionString: string): Promise<Peer> {
  const { makeWorkerUtils, run, Logger } = await importPackage(
    "graphile-worker@^0.18.0",
  ) as unknown as ForeignPackage & Record<string, Foreign[string]>;
  const logger = new Logger!(() => () => {});
  const utils = await makeWorkerUtils!({ connectionString, logger }) as Foreign;
  await utils.migrate!();
  return {
    add: (data) => utils.addJob!(NAME, data),
    addMany: (all) =>
      utils.addJobs!(all.map((payload) => ({ identifier: NAME, payload }))),
    async work(onJob) {
      const runner = await run!({
        ...{ connectionString, logger, noHandleSignals: true },
        taskList: { [NAME]: () => onJob() },
        preset: {
          worker: {
            concurrentJobs: 24,
            localQueue: { size: 500 },
            completeJobBatchDelay: 0,
            failJobBatchDelay: 0,
          },
        },
      }) as Foreign;
      return () => runner.stop!();
    },
  };
}

/**
 * Imports a package that is not a dependency of the project, so that its name
 * must not be known before run time.
 */
async function importPackage(name: string): Promise<ForeignPackage> {
  const specifier = `npm:${name}`;
  return await import(specifier);
}
