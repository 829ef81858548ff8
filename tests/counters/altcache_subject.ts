/**
 * Starts counter stores with real memcached servers for tests, and makes
 * batches for them.
 *
 * @module
 */

import { parseAltcacheSource } from "../../services/ratelimit/counters/altcache/altcache_servers.ts";
import {
  AltcacheStore,
} from "../../services/ratelimit/counters/altcache/altcache_store.ts";
import type {
  CounterAnswer,
  CounterBatch,
  CounterStore,
} from "../../services/ratelimit/counters/counter_store.ts";
import { systemClock } from "../../services/shared/clock.ts";
import { RecordingLogger } from "../support/recording_logger.ts";

/** A store under test, with its logger. */
export interface AltcacheSubject {
  /** The store, started. */
  readonly store: AltcacheStore;
  /** The logger of the store. */
  readonly logger: RecordingLogger;
  /** The counts of lost increments that the store reported. */
  readonly lost: number[];
}

/** Options of a store under test; its clock is the system's. */
export type SubjectOptions =
  & Partial<ConstructorParameters<typeof AltcacheStore>[0]>
  & { readonly servers?: readonly { readonly name: string }[] };

/** The time of all batches, in seconds: the beginning of a day. */
export const NOW = 1_795_219_200;

/** Creates and starts a store on the given servers. */
export async function startStore(
  options: SubjectOptions,
): Promise<AltcacheSubject> {
  const { servers = [], ...rest } = options;
  const logger = new RecordingLogger();
  const lost: number[] = [];
  const parsed = parseAltcacheSource({
    hostPort: servers.map(({ name }) => name).join(",") || "127.0.0.1:1",
  });
  if (parsed.kind === "invalid") throw new Error(parsed.reason);
  const store = new AltcacheStore({
    source: parsed.source,
    clock: systemClock,
    logger,
    onIncrementError: (count) => lost.push(count),
    ...rest,
  });
  await store.start();
  return { store, logger, lost };
}

/** Returns a batch with one operation. */
export function batchOf(
  key: string,
  hits = 1,
  window: { readonly nowSeconds?: number; readonly windowSeconds?: number } =
    {},
): CounterBatch {
  const keys = new TextEncoder().encode(key);
  return {
    keys,
    nowSeconds: window.nowSeconds ?? NOW,
    operations: [{
      algorithm: "fixed_window",
      keyStart: 0,
      keyEnd: keys.length,
      hits,
      limit: 100,
      windowSeconds: window.windowSeconds ?? 86_400,
    }],
  };
}

/** Returns a batch with one hit on each key. */
export function batchOfKeys(texts: readonly string[]): CounterBatch {
  const keys = new TextEncoder().encode(texts.join(""));
  let at = 0;
  const operations = texts.map((text) => {
    const keyStart = at;
    at += new TextEncoder().encode(text).length;
    return { ...batchOf(text).operations[0]!, keyStart, keyEnd: at };
  });
  return { keys, operations, nowSeconds: NOW };
}

/** Returns the counts in an answer. */
export function countsOf(answer: CounterAnswer): readonly number[] {
  if (answer.kind !== "counted") {
    throw new Error(`Cannot read counts: ${answer.reason}`);
  }
  return answer.results.map((result) => {
    if (typeof result === "number") return result;
    throw new Error("Cannot read counts: a verdict");
  });
}

/**
 * Reads a counter repeatedly, without adding hits, until the answer is of the
 * given kind.
 *
 * @throws {Error} When no such answer is given within `boundMs`.
 */
export async function applyUntil(
  store: CounterStore,
  kind: CounterAnswer["kind"],
  boundMs = 10_000,
): Promise<CounterAnswer> {
  const endMs = Date.now() + boundMs;
  for (;;) {
    const answer = await store.apply(batchOf("until_", 0));
    if (answer.kind === kind) return answer;
    if (Date.now() > endMs) {
      throw new Error(`Cannot see "${kind}" within ${boundMs} ms`);
    }
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
