/**
 * Starts counter stores with a real Redis server for tests, and makes batches
 * for them.
 *
 * @module
 */

import type {
  CounterAnswer,
  CounterBatch,
  CounterStore,
} from "../../services/ratelimit/counters/counter_store.ts";
import {
  KvstoreStore,
} from "../../services/ratelimit/counters/kvstore/kvstore_store.ts";
import { systemClock } from "../../services/shared/clock.ts";
import { RecordingLogger } from "../support/recording_logger.ts";

/** A store under test, with its logger. */
export interface KvstoreSubject {
  /** The store, started. */
  readonly store: KvstoreStore;
  /** The logger of the store. */
  readonly logger: RecordingLogger;
}

/** Creates and starts a store with the system's clock. */
export async function startStore(
  options: Omit<
    ConstructorParameters<typeof KvstoreStore>[0],
    "clock" | "logger"
  >,
): Promise<KvstoreSubject> {
  const logger = new RecordingLogger();
  const store = new KvstoreStore({ ...options, clock: systemClock, logger });
  await store.start();
  return { store, logger };
}

/** Returns the logged messages, without their fields. */
export function messagesOf(logger: RecordingLogger): readonly string[] {
  return logger.lines.map(({ message }) => message);
}

/** Returns a batch with one operation on a daily counter. */
export function batchOf(key: string, hits = 1): CounterBatch {
  const keys = new TextEncoder().encode(key);
  return {
    keys,
    nowSeconds: 1_795_219_200,
    operations: [{
      algorithm: "fixed_window",
      keyStart: 0,
      keyEnd: keys.length,
      hits,
      limit: 100,
      windowSeconds: 86_400,
    }],
  };
}

/** Returns a batch with one hit on each of several daily counters. */
export function batchOfKeys(
  keys: readonly string[],
  extra: Partial<Pick<CounterBatch, "stopWhenOver">> & {
    readonly limit?: number;
  } = {},
): CounterBatch {
  const { limit = 100, ...rest } = extra;
  let at = 0;
  return {
    ...rest,
    keys: new TextEncoder().encode(keys.join("")),
    nowSeconds: 1_795_219_200,
    operations: keys.map((key) => ({
      algorithm: "fixed_window",
      keyStart: at,
      keyEnd: at += key.length,
      hits: 1,
      limit,
      windowSeconds: 86_400,
    })),
  };
}

/**
 * Applies a batch repeatedly until the answer is of the given kind.
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
