/**
 * Starts counter stores with real memcached servers for tests.
 *
 * @module
 */

import { parseAltcacheSource } from "../../services/ratelimit/counters/altcache/altcache_servers.ts";
import {
  AltcacheStore,
} from "../../services/ratelimit/counters/altcache/altcache_store.ts";
import { systemClock } from "../../services/shared/clock.ts";
import { RecordingLogger } from "../support/recording_logger.ts";

/** A store under test, with its logger. */
export interface AltcacheSubject {
  /** The store, started. */
  readonly store: AltcacheStore;
  /** The logger of the store. */
  readonly logger: RecordingLogger;
  /** The numbers of parts that the store reported to be out. */
  readonly out: readonly number[];
  /** The counts of lost increments that the store reported. */
  readonly lost: number[];
}

/** Options of a store under test; its clock is the system's. */
export type SubjectOptions =
  & Partial<ConstructorParameters<typeof AltcacheStore>[0]>
  & { readonly servers?: readonly { readonly name: string }[] };

/** Creates and starts a store on the given servers. */
export async function startStore(
  options: SubjectOptions,
): Promise<AltcacheSubject> {
  const { servers = [], ...rest } = options;
  const logger = new RecordingLogger();
  const lost: number[] = [];
  const out: number[] = [];
  const parsed = parseAltcacheSource({
    hostPort: servers.map(({ name }) => name).join(",") || "127.0.0.1:1",
  });
  if (parsed.kind === "invalid") throw new Error(parsed.reason);
  const store = new AltcacheStore({
    source: parsed.source,
    clock: systemClock,
    logger,
    onIncrementError: (count) => lost.push(count),
    outageTally: { out: (parts) => out.push(parts) },
    ...rest,
  });
  await store.start();
  return { store, logger, lost, out };
}
