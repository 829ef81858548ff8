/**
 * Measures how many decisions each counter store answers in a second, with 64
 * callers, two counters per decision, and each algorithm. Starts the servers it
 * needs; a store whose server program is not on the path is left out.
 *
 * Run it with `deno run`: `deno bench` makes one call after the other, which
 * says nothing about stores that are built for many calls at a time.
 *
 * @module
 */

import { parseAltcacheSource } from "../../services/ratelimit/counters/altcache/altcache_servers.ts";
import { AltcacheStore } from "../../services/ratelimit/counters/altcache/altcache_store.ts";
import type {
  CounterBatch,
  CounterStore,
} from "../../services/ratelimit/counters/counter_store.ts";
import {
  KvstoreStore,
} from "../../services/ratelimit/counters/kvstore/kvstore_store.ts";
import type { RedisAddress } from "../../services/ratelimit/counters/kvstore/redis/address.ts";
import { MemoryStore } from "../../services/ratelimit/counters/memory_store.ts";
import { SplitStore } from "../../services/ratelimit/counters/two_stores.ts";
import type { Algorithm } from "../../services/ratelimit/rules/algorithm.ts";
import { systemClock } from "../../services/shared/clock.ts";
import type { Logger } from "../../services/shared/logger.ts";
import { print, tell } from "../terminal.ts";
import {
  type BenchServer,
  startMemcached,
  startRedis,
} from "./bench_servers.ts";

interface Candidate {
  readonly name: string;
  readonly store: CounterStore;
  readonly algorithm: Algorithm;
  readonly perSecond: number[];
}

const CALLERS = 64;
const PACED: readonly Algorithm[] = ["sliding_window", "token_bucket"];
const ROUNDS = 3;
const ROUND_MS = 2_000;
const WARM_UP_MS = 300;
const KEYS = 1_000;
const TIMEOUT_MS = 5_000;

/** Only failures are printed, and a failure ends the run. */
const logger: Logger = {
  debug: () => {},
  info: () => {},
  warn: (message, fields) => tell(`${message} ${JSON.stringify(fields)}`),
  error: (message, fields) => tell(`${message} ${JSON.stringify(fields)}`),
};

if (import.meta.main) await main();

async function main(): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "stores_bench_" });
  const servers: BenchServer[] = [];
  async function keep(
    starting: Promise<BenchServer | undefined>,
  ): Promise<BenchServer | undefined> {
    const server = await starting;
    if (server !== undefined) servers.push(server);
    return server;
  }
  try {
    const first = await keep(startRedis(folder));
    const second = await keep(startRedis(folder));
    const memcached = await keep(startMemcached());
    const candidates = [
      candidate("memory", new MemoryStore()),
      ...PACED.map((algorithm) =>
        candidate(`memory, ${algorithm}`, new MemoryStore(), algorithm)
      ),
      ...(first && second ? kvstoreCandidates(first, second) : []),
      ...(memcached ? [altcacheCandidate(memcached)] : []),
    ];
    for (const one of candidates) {
      await one.store.start();
      await decisionsPerSecond(one, WARM_UP_MS);
    }
    for (let round = 0; round < ROUNDS; round++) {
      for (const one of candidates) {
        one.perSecond.push(await decisionsPerSecond(one, ROUND_MS));
      }
    }
    for (const { name, store, perSecond } of candidates) {
      await store.stop();
      const [, median] = perSecond.sort((a, b) => a - b);
      const text = Math.round(median!).toLocaleString("en-US");
      print(`${name.padEnd(36)}${text.padStart(12)} decisions/s`);
    }
  } finally {
    for (const server of servers) await server.stop();
    await Deno.remove(folder, { recursive: true });
  }
}

function candidate(
  name: string,
  store: CounterStore,
  algorithm: Algorithm = "fixed_window",
): Candidate {
  return { name, store, algorithm, perSecond: [] };
}

function kvstoreCandidates(
  first: BenchServer,
  second: BenchServer,
): readonly Candidate[] {
  const unix: RedisAddress = { kind: "unix", path: first.socketPath };
  return [
    candidate("kvstore, tcp, pool of 1", kvstore(tcp(first), 1)),
    candidate("kvstore, tcp, pool of 10", kvstore(tcp(first), 10)),
    ...PACED.map((algorithm) =>
      candidate(
        `kvstore, tcp, pool of 10, ${algorithm}`,
        kvstore(tcp(first), 10),
        algorithm,
      )
    ),
    candidate(
      "kvstore, tcp, pool of 10, one turn",
      kvstore(tcp(first), 10, { pipelineWindowMs: 0.1 }),
    ),
    candidate("kvstore, unix, pool of 1", kvstore(unix, 1)),
    candidate("kvstore, unix, pool of 10", kvstore(unix, 10)),
    candidate(
      "kvstore, tcp, two servers",
      new SplitStore({
        perSecond: kvstore(tcp(second), 10),
        other: kvstore(tcp(first), 10),
      }),
    ),
  ];
}

function kvstore(
  address: RedisAddress,
  poolSize: number,
  options: Partial<ConstructorParameters<typeof KvstoreStore>[0]> = {},
): CounterStore {
  return new KvstoreStore({
    ...options,
    address,
    poolSize,
    timeoutMs: TIMEOUT_MS,
    clock: systemClock,
    logger,
  });
}

function altcacheCandidate({ port }: BenchServer): Candidate {
  const parsed = parseAltcacheSource({ hostPort: `127.0.0.1:${port}` });
  if (parsed.kind === "invalid") throw new Error(parsed.reason);
  return candidate(
    "altcache, one server",
    new AltcacheStore({
      source: parsed.source,
      timeoutMs: TIMEOUT_MS,
      clock: systemClock,
      logger,
    }),
  );
}

function tcp({ port }: BenchServer): RedisAddress {
  return { kind: "tcp", host: "127.0.0.1", port };
}

/**
 * Applies batches from all callers for `ms` milliseconds; returns the decisions
 * per second.
 *
 * @throws {Error} When the store is unavailable.
 */
async function decisionsPerSecond(
  { store, algorithm }: Candidate,
  ms: number,
): Promise<number> {
  const batches = Array.from(
    { length: KEYS },
    (_, i) => batchOf(i, algorithm),
  );
  let decisions = 0;
  // Waits a turn of the event loop: a store that answers at once has left the
  // other stores no time for their sockets.
  await new Promise((resolve) => setTimeout(resolve));
  const begun = performance.now();
  const end = begun + ms;
  async function caller(index: number): Promise<void> {
    for (let i = index; performance.now() < end; i++) {
      const pending = store.apply(batches[i % KEYS]!);
      const answer = pending instanceof Promise ? await pending : pending;
      if (answer.kind !== "counted") throw new Error(answer.reason);
      decisions++;
    }
  }
  await Promise.all(Array.from({ length: CALLERS }, (_, i) => caller(i * 7)));
  return decisions / (performance.now() - begun) * 1_000;
}

/**
 * Makes the batch of one decision: a counter of its own per second, and a
 * shared one per minute.
 */
function batchOf(index: number, algorithm: Algorithm): CounterBatch {
  const own = `domain_key_value ${index}_`;
  const shared = `domain_shared_${index % 10}_`;
  const keys = new TextEncoder().encode(own + shared);
  const common = { algorithm, hits: 1, limit: 1_000 } as const;
  return {
    keys,
    nowSeconds: Math.floor(Date.now() / 1_000),
    operations: [
      { ...common, keyStart: 0, keyEnd: own.length, windowSeconds: 1 },
      {
        ...common,
        keyStart: own.length,
        keyEnd: keys.length,
        windowSeconds: 60,
      },
    ],
  };
}
