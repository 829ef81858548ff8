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
import { median } from "../load_job.ts";
import { openBullMq } from "./bullmq_peer.ts";
import { openGraphile } from "./graphile_peer.ts";
import type { Peer } from "./peer.ts";
import { openPgBoss } from "./pg_boss_peer.ts";

const START_ROUNDS = 200;
const BATCH = 1_000;
const IDLE_MS = 500;

if (import.meta.main) await main(Deno.args);

async function main(
  [name = "", place = "", port = ""]: readonly string[],
): Promise<void> {
  const peer = await open(name, place);
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
  server.listen(Number(port), "127.0.0.1");
}

function open(name: string, place: string): Promise<Peer> {
  switch (name) {
    case "bullmq":
      return openBullMq(Number(place));
    case "pg-boss":
      return openPgBoss(place);
    case "graphile":
      return openGraphile(place);
    default:
      throw new RangeError(`Cannot measure "${name}": it is not known`);
  }
}

async function answer(
  peer: Peer,
  request: IncomingMessage,
): Promise<readonly [number, unknown]> {
  const parts: Uint8Array[] = [];
  for await (const part of request) parts.push(part);
  const text = Buffer.concat(parts).toString();
  switch (request.url) {
    case "/ready":
      return [200, {}];
    case "/add":
      await peer.add(JSON.parse(text));
      return [201, { ok: true }];
    case "/batch":
      await peer.addMany(JSON.parse(text));
      return [201, { ok: true }];
    case "/drain":
      return [200, { perSecond: await drain(peer, JSON.parse(text)) }];
    case "/start":
      return [200, { p50Ms: await startTime(peer) }];
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
  while (performance.now() - lastMs < IDLE_MS) {
    await new Promise((resolve) => setTimeout(resolve, IDLE_MS));
  }
  const times: number[] = [];
  for (let round = 0; round < START_ROUNDS; round++) {
    started = Promise.withResolvers();
    await new Promise((resolve) => setTimeout(resolve, 5));
    await peer.add({ round });
    const keptMs = performance.now();
    times.push(Math.max(0, await started.promise - keptMs));
  }
  await stop();
  return median(times);
}
