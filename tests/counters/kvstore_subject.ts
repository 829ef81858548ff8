/**
 * Starts counter stores with a real Redis server for tests.
 *
 * @module
 */

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
  /** The numbers of parts that the store reported to be out. */
  readonly out: readonly number[];
}

/** Creates and starts a store with the system's clock. */
export async function startStore(
  options: Omit<
    ConstructorParameters<typeof KvstoreStore>[0],
    "clock" | "logger"
  >,
): Promise<KvstoreSubject> {
  const logger = new RecordingLogger();
  const out: number[] = [];
  const store = new KvstoreStore({
    outageTally: { out: (parts) => out.push(parts) },
    ...options,
    clock: systemClock,
    logger,
  });
  await store.start();
  return { store, logger, out };
}
