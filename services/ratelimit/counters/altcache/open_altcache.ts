/**
 * The ALTCACHE that the settings ask for.
 *
 * @module
 */

import type { Clock } from "../../../shared/clock.ts";
import type { Logger } from "../../../shared/logger.ts";
import type { RateLimitSettings } from "../../settings.ts";
import type { Stats } from "../../stats/stats.ts";
import { type OpenStoreOutcome, readTlsFiles } from "../open_store.ts";
import { parseAltcacheSource } from "./altcache_servers.ts";
import { AltcacheStore } from "./altcache_store.ts";

/** What an ALTCACHE needs beside its settings. */
interface OpenAltcacheParts {
  /** Time. */
  readonly clock: Clock;
  /** Hears of connections. */
  readonly logger: Logger;
  /** Counts increments that are lost. */
  readonly stats: Stats;
  /** Reads the files that settings name. */
  readonly readText: (path: string) => Promise<string>;
}

/** Makes the store; the TLS files are read when TLS is on. */
export async function openAltcache(
  settings: RateLimitSettings,
  { clock, logger, stats, readText }: OpenAltcacheParts,
): Promise<OpenStoreOutcome> {
  const parsed = parseAltcacheSource({
    hostPort: settings.altcacheHostPort,
    srv: settings.altcacheSrv,
    srvRefreshMs: settings.altcacheSrvRefreshMs,
  });
  if (parsed.kind === "invalid") {
    const problem = "Cannot read settings: ALTCACHE_HOST_PORT and " +
      `ALTCACHE_SRV: ${parsed.reason}`;
    return { kind: "invalid", problem };
  }
  const files = settings.altcacheTls
    ? await readTlsFiles({
      ca: settings.altcacheTlsCaCert,
      cert: settings.altcacheTlsClientCert,
      key: settings.altcacheTlsClientKey,
      skipHostnameVerification: settings.altcacheTlsSkipHostname,
    }, readText)
    : undefined;
  if (files?.kind === "invalid") return files;
  const lost = stats.counter("ratelimit.altcache.increments_lost");
  const store = new AltcacheStore({
    source: parsed.source,
    tls: files?.tls,
    timeoutMs: settings.altcacheTimeoutMs,
    maxIdleConnections: settings.altcacheMaxIdleConnections,
    expirationJitterMaxSeconds: settings.expirationJitterMaxSeconds,
    onIncrementError: (count) => lost.add(count),
    clock,
    logger,
  });
  return { kind: "store", store };
}
