/**
 * Measures other queues in the same way as the service, where the servers they
 * need are installed.
 *
 * @module
 */

import { tell } from "../../terminal.ts";
import type { Bar } from "./bar.ts";
import { freePort } from "./free_port.ts";
import {
  type HttpRequestLine,
  HttpSocket,
  requestBytes,
} from "./http_socket.ts";
import type { LoadThread } from "./load_thread.ts";
import { createBars } from "./measure_create.ts";
import { flawless, perSecond, WARM_UP_MS } from "./bench_run.ts";
import { startDurableRedis } from "./peers/redis_server.ts";

/** Where and for how long the peers are measured. */
export interface PeersOptions {
  /** The folder for the data of their servers. */
  readonly folder: string;
  /** The thread that sends the requests. */
  readonly load: LoadThread;
  /** Duration of each measurement, in milliseconds. */
  readonly ms: number;
}

/** The names of the peers, as reports show them. */
export const PEER_NAMES = ["BullMQ", "pg-boss", "Graphile Worker"] as const;

const PROGRAM = new URL("peers/peer_program.ts", import.meta.url).pathname;
/**
 * Longest wait for a peer to start, in milliseconds; the first start downloads
 * packages.
 */
const START_MS = 120_000;
const BATCH = 1_000;
const DRAIN_JOBS = 30_000;
const HOST = "127.0.0.1";

/** Measures every peer that can be run here. */
export async function measurePeers(
  options: PeersOptions,
): Promise<readonly Bar[]> {
  return [
    ...await measureOnRedis(options),
    ...await measureOnPostgres(options),
  ];
}

async function measureOnRedis(options: PeersOptions): Promise<readonly Bar[]> {
  const port = freePort();
  const redis = startDurableRedis(options.folder, port);
  if (redis === undefined) {
    tell("BullMQ is left out: there is no redis-server on the path");
    return [];
  }
  try {
    return await measurePeer(options, {
      program: "bullmq",
      shown: "BullMQ (AOF always)",
      place: String(port),
    });
  } finally {
    await redis.stop();
  }
}

async function measureOnPostgres(
  options: PeersOptions,
): Promise<readonly Bar[]> {
  const place = postgresUrl();
  if (place === undefined) {
    tell("pg-boss and Graphile Worker are left out: PGHOST is not set");
    return [];
  }
  return [
    ...await measurePeer(options, {
      program: "pg-boss",
      shown: "pg-boss (100 at a time)",
      place,
    }),
    ...await measurePeer(options, {
      program: "graphile",
      shown: "Graphile Worker (local queue)",
      place,
    }),
  ];
}

function postgresUrl(): string | undefined {
  const host = Deno.env.get("PGHOST");
  if (!host) return undefined;
  const of = (name: string, usual: string): string =>
    encodeURIComponent(Deno.env.get(name) ?? usual);
  const user = of("PGUSER", "postgres");
  const place = `${host}:${of("PGPORT", "5432")}/${
    of("PGDATABASE", "postgres")
  }`;
  return `postgres://${user}:${of("PGPASSWORD", "")}@${place}`;
}

interface PeerProcess {
  readonly program: string;
  readonly shown: string;
  readonly place: string;
}

/**
 * Measures one peer; a peer that can't be installed or fails is left out, and a
 * line tells why.
 */
async function measurePeer(
  options: PeersOptions,
  { program, shown, place }: PeerProcess,
): Promise<readonly Bar[]> {
  tell(`measuring ${shown}`);
  const port = freePort();
  const child = new Deno.Command(Deno.execPath(), {
    args: [
      "run",
      // A peer runs code of other projects with all permissions, so only
      // versions that have been public for 60 days are used.
      "--minimum-dependency-age=P60D",
      ...["-A", "--no-config", "--no-lock", "--node-modules-dir=none"],
      ...[PROGRAM, program, place, String(port)],
    ],
    stdin: "null",
    stdout: "null",
    stderr: "piped",
  }).spawn();
  const log = new Response(child.stderr).text();
  try {
    const ended = child.status.then(() => false);
    if (!await Promise.race([isReady(port), ended])) {
      throw new Error("it did not start");
    }
    return (await measureAll(options, port)).map((bar) => ({
      ...bar,
      name: `${shown}: ${bar.name}`,
    }));
  } catch (error) {
    end(child);
    tell(`${shown} is left out: ${error}\n${(await log).slice(0, 2_000)}`);
    return [];
  } finally {
    end(child);
    await child.status;
    await log;
  }
}

async function measureAll(
  { load, ms }: PeersOptions,
  port: number,
): Promise<readonly Bar[]> {
  const bars: Bar[] = [];
  const data = { to: "someone@example.com", text: "x".repeat(80) };
  const add = [post("/add", data)];
  const common = { port, status: 201, warmUpMs: WARM_UP_MS, ms };
  for (const connections of [50, 10]) {
    const created = await createBars(
      { load, port, ms },
      { connections, requests: add },
    );
    for (const bar of created) {
      if (bar === undefined) continue;
      bars.push({ ...bar, note: `${bar.note}; no credentials, no history` });
    }
  }
  const batch = [post("/batch", Array(BATCH).fill(data))];
  const batches = flawless(
    await load.load({ ...common, connections: 2, requests: batch }),
  );
  bars.push({
    name: `batch create of ${BATCH}`,
    value: perSecond(batches) * BATCH,
    unit: "tasks/s",
  });
  bars.push({
    name: "process",
    value: await ask(port, ["/drain", DRAIN_JOBS], "perSecond"),
    unit: "tasks/s",
    note: "in one process, without HTTP",
  }, {
    name: "create to start, p50",
    value: await ask(port, ["/start", {}], "p50Ms"),
    unit: "ms",
    digits: 2,
    note: "in one process, without HTTP",
  });
  return bars;
}

/** Makes the peer program run a measurement itself; returns the result. */
async function ask(
  port: number,
  [path, body]: readonly [string, unknown],
  name: string,
): Promise<number> {
  using socket = await HttpSocket.connect(port);
  const { status, json } = await socket.json(line(path, body));
  const value: unknown = status === 200 && json instanceof Object
    ? Reflect.get(json, name)
    : undefined;
  if (typeof value === "number") return value;
  throw new Error(`${path} answered ${status} ${JSON.stringify(json)}`);
}

function post(path: string, body: unknown): Uint8Array {
  return requestBytes(line(path, body));
}

function line(path: string, body: unknown): HttpRequestLine {
  return { method: "POST", path, host: HOST, body: JSON.stringify(body) };
}

async function isReady(port: number): Promise<boolean> {
  const endMs = performance.now() + START_MS;
  while (performance.now() < endMs) {
    try {
      using socket = await HttpSocket.connect(port);
      const { status } = await socket.exchange(post("/ready", {}));
      if (status === 200) return true;
    } catch (error) {
      if (!(error instanceof Deno.errors.ConnectionRefused)) throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  return false;
}

function end(child: Deno.ChildProcess): void {
  try {
    child.kill("SIGKILL");
  } catch (error) {
    // The process has already ended by itself.
    if (!(error instanceof TypeError)) throw error;
  }
}
