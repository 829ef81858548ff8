/**
 * The KVSTORE that the settings ask for: one server, or two.
 *
 * @module
 */

import type { Clock } from "../../../shared/clock.ts";
import type { Logger } from "../../../shared/logger.ts";
import type { RateLimitSettings } from "../../settings.ts";
import type { OpenStoreOutcome, TlsMaterial } from "../open_store.ts";
import { SplitStore } from "../split_store.ts";
import { KvstoreStore } from "./kvstore_store.ts";
import { parseRedisAuth } from "./redis/address.ts";
import { parseRedisTarget, type RedisTargetType } from "./redis/target.ts";

/** What a KVSTORE needs beside its settings. */
interface OpenKvstoreParts {
  /** Time. */
  readonly clock: Clock;
  /** Hears of connections. */
  readonly logger: Logger;
  /** The TLS files, read; undefined when neither server uses TLS. */
  readonly tls: TlsMaterial | undefined;
}

/** The settings of one server. */
interface ServerSettings {
  /** What it is called in logs. */
  readonly name: string;
  /** Names of the variable that holds the URL. */
  readonly variable: string;
  readonly url: string;
  readonly type: RedisTargetType;
  readonly socketType: "tcp" | "unix" | undefined;
  readonly auth: string;
  readonly sentinelAuth: string;
  readonly usesTls: boolean;
  readonly poolSize: number;
  readonly timeoutMs: number;
  readonly pipelineWindowMs: number;
  readonly pipelineLimit: number;
}

/** Opens the main server, and with `KVSTORE_PERSECOND` the second one. */
export function openKvstore(
  settings: RateLimitSettings,
  parts: OpenKvstoreParts,
): OpenStoreOutcome {
  const common = { settings, parts };
  const other = openServer(mainServer(settings), common);
  if (other.kind === "invalid" || !settings.perSecond) return other;
  const perSecond = openServer(perSecondServer(settings), common);
  if (perSecond.kind === "invalid") return perSecond;
  const store = new SplitStore({
    perSecond: perSecond.store,
    other: other.store,
  });
  return { kind: "store", store };
}

function openServer(
  server: ServerSettings,
  from: {
    readonly settings: RateLimitSettings;
    readonly parts: OpenKvstoreParts;
  },
): OpenStoreOutcome {
  if (server.url === "") {
    return bad(server, "it is not set; set it to host:port or a socket's path");
  }
  const { socketType, usesTls } = server;
  const parsed = parseRedisTarget(server.url, server.type, {
    usesTls,
    socketType,
  });
  if (parsed.kind === "invalid") return bad(server, parsed.reason);
  const { clock, logger, tls } = from.parts;
  if (usesTls && tls === undefined) {
    return bad(server, "TLS is on and its files have not been read");
  }
  const auth = parseRedisAuth(server.auth) ?? parsed.auth;
  const sentinelAuth = parseRedisAuth(server.sentinelAuth);
  const store = new KvstoreStore({
    name: server.name,
    address: parsed.address,
    auth,
    sentinelAuth,
    ...(usesTls && tls !== undefined ? { tls } : {}),
    database: parsed.database,
    timeoutMs: server.timeoutMs,
    poolSize: server.poolSize,
    pipelineWindowMs: server.pipelineWindowMs,
    pipelineLimit: server.pipelineLimit,
    expirationJitterMaxSeconds: from.settings.expirationJitterMaxSeconds,
    healthNeedsConnection: from.settings.kvstoreHealthNeedsConnection,
    clock,
    logger,
  });
  return { kind: "store", store };
}

function mainServer(settings: RateLimitSettings): ServerSettings {
  return {
    name: "kvstore",
    variable: "KVSTORE_URL (REDIS_URL)",
    url: settings.kvstoreUrl,
    type: settings.kvstoreType,
    socketType: settings.kvstoreSocketType,
    auth: settings.kvstoreAuth,
    sentinelAuth: settings.kvstoreSentinelAuth,
    usesTls: settings.kvstoreTls,
    poolSize: settings.kvstorePoolSize,
    timeoutMs: settings.kvstoreTimeoutMs,
    pipelineWindowMs: settings.kvstorePipelineWindowMs,
    pipelineLimit: settings.kvstorePipelineLimit,
  };
}

function perSecondServer(settings: RateLimitSettings): ServerSettings {
  return {
    name: "kvstore for limits by the second",
    variable: "KVSTORE_PERSECOND_URL (REDIS_PERSECOND_URL)",
    url: settings.perSecondUrl,
    type: settings.perSecondType,
    socketType: settings.perSecondSocketType,
    auth: settings.perSecondAuth,
    sentinelAuth: settings.perSecondSentinelAuth,
    usesTls: settings.perSecondTls,
    poolSize: settings.perSecondPoolSize,
    timeoutMs: settings.perSecondTimeoutMs,
    pipelineWindowMs: settings.perSecondPipelineWindowMs,
    pipelineLimit: settings.perSecondPipelineLimit,
  };
}

function bad(server: ServerSettings, reason: string): OpenStoreOutcome {
  const problem = `Cannot read settings: ${server.variable}: ${reason}`;
  return { kind: "invalid", problem };
}
