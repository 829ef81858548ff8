/**
 * A store with real memcached servers behind it, and batches for it.
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

/** A store and what it logged. */
export interface AltcacheSubject {
  /** The store, started. */
  readonly store: AltcacheStore;
  /** Its logger. */
  readonly logger: RecordingLogger;
  /** What it was told of lost increments. */
  readonly lost: number[];
}

/** Options of a test's store; the clock is the machine's. */
export type SubjectOptions =
  & Partial<ConstructorParameters<typeof AltcacheStore>[0]>
  & { readonly servers?: readonly { readonly name: string }[] };

/** First second of the day of all batches. */
export const NOW = 1_795_219_200;

/** Makes and starts a store. */
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

/** A batch of one operation. */
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

/** A batch of one hit on each key. */
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

/** The counts of an answer. */
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
 * Looks at a counter until the answer is of a kind.
 *
 * @throws {Error} When it is not within `boundMs`.
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
