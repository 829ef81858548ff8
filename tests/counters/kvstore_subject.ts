/**
 * A store with a real server behind it, and batches for it.
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

/** A store and what it logged. */
export interface KvstoreSubject {
  /** The store, started. */
  readonly store: KvstoreStore;
  /** Its logger. */
  readonly logger: RecordingLogger;
}

/** Makes and starts a store on the machine's clock. */
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

/** What was logged, without the details. */
export function messagesOf(logger: RecordingLogger): readonly string[] {
  return logger.lines.map(({ message }) => message);
}

/** A batch of one operation on a counter of a day. */
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

/** A batch of one hit on each of many counters of a day. */
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
 * Applies a batch until the answer is of a kind.
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
