/**
 * Reads the settings of the counter store into a plan: its servers and how to
 * reach them. All faults are found at once, and no connection is opened.
 *
 * @module
 */

import type { Option } from "../../shared/options.ts";
import { quote } from "../../shared/quote.ts";
import type { RateLimitSettings } from "../settings.ts";
import {
  altcacheSettings,
  FAILURE_MODES,
  kvstoreSettings,
  perSecondSettings,
} from "../store_settings.ts";
import {
  type AltcacheSource,
  parseAltcacheSource,
} from "./altcache/altcache_servers.ts";
import {
  parseRedisAuth,
  parseRedisTarget,
  type RedisAuth,
  type RedisTarget,
  type RedisTargetType,
} from "./kvstore/redis/address.ts";
import { readTlsFiles, type StoreTls } from "./store_tls.ts";
import type { StoreFailureMode } from "./two_stores.ts";

/** Kind of the store that keeps the counters. */
export type Backend = "memory" | "kvstore" | "altcache";

/** A server that keeps counters, and how it is reached. */
export interface PlannedServer {
  /** Name of the server in log lines. */
  readonly name: string;
  /** Name of the setting that says whether it is one server or several. */
  readonly typeSetting: string;
  /** Name under which its connections are counted in statistics. */
  readonly pool: "redis_pool" | "redis_per_second_pool";
  /** Address of the server, the failover group or the cluster. */
  readonly address: RedisTarget;
  /** Credentials of a connection; undefined without any. */
  readonly auth: RedisAuth | undefined;
  /** Credentials of a connection to its sentinels; undefined without any. */
  readonly sentinelAuth: RedisAuth | undefined;
  /** TLS settings of connections; undefined when they are not encrypted. */
  readonly tls: StoreTls | undefined;
  /** Number of the database. */
  readonly database: number;
  /** Number of connections. */
  readonly poolSize: number;
  /** Milliseconds that a command may take. */
  readonly timeoutMs: number;
  /** Milliseconds that commands may wait to be written together. */
  readonly pipelineWindowMs: number;
  /**
   * Number of commands that are written without waiting further; 0 is no limit.
   */
  readonly pipelineLimit: number;
}

/** The store that the settings ask for. */
export interface StorePlan {
  /** The kind of store, and its servers. */
  readonly backend:
    | { readonly kind: "memory" }
    | {
      readonly kind: "kvstore";
      /**
       * The server of limits by the second; undefined when the main server has
       * them.
       */
      readonly perSecond: PlannedServer | undefined;
      /** The main server. */
      readonly other: PlannedServer;
    }
    | {
      readonly kind: "altcache";
      /** Source of the list of servers. */
      readonly source: AltcacheSource;
      /** TLS settings of connections; undefined when they are not encrypted. */
      readonly tls: StoreTls | undefined;
    };
  /** Failure modes of domains, in place of that of the service. */
  readonly failureModes: ReadonlyMap<string, StoreFailureMode>;
}

/** A plan, or all faults of the settings, one line each. */
export type StorePlanOutcome =
  | { readonly kind: "planned"; readonly plan: StorePlan }
  | { readonly kind: "invalid"; readonly problems: readonly string[] };

/**
 * Returns the kind of store. When BACKEND_TYPE is unset, it is KVSTORE if that
 * has an address, else memory.
 */
export function pickBackend(
  { backendType, kvstoreUrl }: RateLimitSettings,
): Backend {
  return backendType ?? (kvstoreUrl === "" ? "memory" : "kvstore");
}

/** Plans the store from the settings and the files that they name. */
export async function planStore(
  settings: RateLimitSettings,
  readText: (path: string) => Promise<string>,
): Promise<StorePlanOutcome> {
  const problems: string[] = [];
  const faults: Faults = {
    setting: (problem) => problems.push(`Cannot read settings: ${problem}`),
    files: (found) => problems.push(...found),
  };
  const backend = await plannedBackend(settings, { readText, faults });
  const failureModes = readModes(settings, faults);
  return backend === undefined || problems.length > 0
    ? { kind: "invalid", problems }
    : { kind: "planned", plan: { backend, failureModes } };
}

/** Takes the faults that are found. */
interface Faults {
  setting(problem: string): void;
  files(problems: readonly string[]): void;
}

interface PlanTools {
  readonly readText: (path: string) => Promise<string>;
  readonly faults: Faults;
}

async function plannedBackend(
  settings: RateLimitSettings,
  tools: PlanTools,
): Promise<StorePlan["backend"] | undefined> {
  switch (pickBackend(settings)) {
    case "memory":
      findUnusedServers(settings, tools.faults);
      return { kind: "memory" };
    case "kvstore":
      return await plannedKvstore(settings, tools);
    case "altcache":
      return await plannedAltcache(settings, tools);
  }
}

/**
 * Finds servers that would get no counters though no other store was chosen.
 */
function findUnusedServers(settings: RateLimitSettings, faults: Faults): void {
  if (settings.backendType !== undefined) return;
  const unless = "counters would be kept in memory. If they are to be, set " +
    "BACKEND_TYPE=memory";
  const { perSecondUrl, perSecond, altcacheHostPort, altcacheSrv } = settings;
  if (perSecondUrl !== "" || perSecond) {
    const { perSecondUrl: url, perSecond: isOn } = perSecondSettings;
    const main = formatName(kvstoreSettings.kvstoreUrl);
    faults.setting(
      `${formatName(perSecondUrl === "" ? isOn : url)}: it is set without ` +
        `${main}, the Redis of all other limits; set that as well, or ${unless}`,
    );
  }
  if (altcacheHostPort !== "" || altcacheSrv !== "") {
    const { altcacheHostPort: list, altcacheSrv: srv } = altcacheSettings;
    faults.setting(
      `${
        formatName(altcacheHostPort === "" ? srv : list)
      }: it is set without ` +
        `BACKEND_TYPE=altcache; set that as well, or ${unless}`,
    );
  }
}

async function plannedKvstore(
  settings: RateLimitSettings,
  { readText, faults }: PlanTools,
): Promise<StorePlan["backend"] | undefined> {
  const usesTls = settings.kvstoreTls ||
    (settings.perSecond && settings.perSecondTls);
  const files = usesTls
    ? await readTlsFiles({
      ca: settings.kvstoreTlsCaCert,
      cert: settings.kvstoreTlsClientCert,
      key: settings.kvstoreTlsClientKey,
      skipHostnameVerification: settings.kvstoreTlsSkipHostname,
      names: {
        ca: formatName(kvstoreSettings.kvstoreTlsCaCert),
        cert: formatName(kvstoreSettings.kvstoreTlsClientCert),
        key: formatName(kvstoreSettings.kvstoreTlsClientKey),
      },
    }, readText)
    : undefined;
  if (files?.kind === "invalid") faults.files(files.problems);
  const tls = files?.kind === "tls" ? files.tls : undefined;
  const other = plannedServer(mainServer(settings), { tls, faults });
  const perSecond = settings.perSecond
    ? plannedServer(perSecondServer(settings), { tls, faults })
    : undefined;
  return other && { kind: "kvstore", other, perSecond };
}

/**
 * Returns the name of a setting and its older names, as it may have been set
 * under any of them.
 */
function formatName(
  setting: Pick<Option<unknown>, "name" | "aliases">,
): string {
  const { name, aliases } = setting;
  return aliases.length === 0 ? name : `${name} or ${aliases.join(" or ")}`;
}

/** The settings of one server of the KVSTORE. */
interface ServerSettings extends
  Pick<
    PlannedServer,
    | "name"
    | "typeSetting"
    | "pool"
    | "poolSize"
    | "timeoutMs"
    | "pipelineWindowMs"
    | "pipelineLimit"
  > {
  /** Names of the variable that holds the URL, for error texts. */
  readonly variable: string;
  readonly url: string;
  readonly type: RedisTargetType;
  readonly socketType: "tcp" | "unix" | undefined;
  readonly auth: string;
  readonly sentinelAuth: string;
  readonly usesTls: boolean;
}

function plannedServer(
  server: ServerSettings,
  { tls, faults }: {
    readonly tls: StoreTls | undefined;
    readonly faults: Faults;
  },
): PlannedServer | undefined {
  const { variable, url, type, socketType, usesTls, ...rest } = server;
  if (url === "") {
    faults.setting(
      `${variable}: it is not set; set it to host:port or a socket's path`,
    );
    return undefined;
  }
  const parsed = parseRedisTarget(url, type, { usesTls, socketType });
  if (parsed.kind === "invalid") {
    faults.setting(`${variable}: ${parsed.reason}`);
    return undefined;
  }
  return {
    ...rest,
    address: parsed.address,
    auth: parseRedisAuth(server.auth) ?? parsed.auth,
    sentinelAuth: parseRedisAuth(server.sentinelAuth),
    tls: usesTls ? tls : undefined,
    database: parsed.database,
  };
}

function mainServer(settings: RateLimitSettings): ServerSettings {
  return {
    name: "kvstore",
    typeSetting: kvstoreSettings.kvstoreType.name,
    pool: "redis_pool",
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
    typeSetting: perSecondSettings.perSecondType.name,
    pool: "redis_per_second_pool",
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

async function plannedAltcache(
  settings: RateLimitSettings,
  { readText, faults }: PlanTools,
): Promise<StorePlan["backend"] | undefined> {
  const parsed = parseAltcacheSource({
    hostPort: settings.altcacheHostPort,
    srv: settings.altcacheSrv,
    srvRefreshMs: settings.altcacheSrvRefreshMs,
  });
  if (parsed.kind === "invalid") {
    faults.setting(`ALTCACHE_HOST_PORT and ALTCACHE_SRV: ${parsed.reason}`);
  }
  const files = settings.altcacheTls
    ? await readTlsFiles({
      ca: settings.altcacheTlsCaCert,
      cert: settings.altcacheTlsClientCert,
      key: settings.altcacheTlsClientKey,
      skipHostnameVerification: settings.altcacheTlsSkipHostname,
      names: {
        ca: formatName(altcacheSettings.altcacheTlsCaCert),
        cert: formatName(altcacheSettings.altcacheTlsClientCert),
        key: formatName(altcacheSettings.altcacheTlsClientKey),
      },
    }, readText)
    : undefined;
  if (files?.kind === "invalid") faults.files(files.problems);
  if (parsed.kind === "invalid" || files?.kind === "invalid") return undefined;
  return { kind: "altcache", source: parsed.source, tls: files?.tls };
}

const MODES: readonly string[] = Object.keys(FAILURE_MODES);

function readModes(
  { storeFailureModeByDomain }: RateLimitSettings,
  faults: Faults,
): ReadonlyMap<string, StoreFailureMode> {
  const byDomain = new Map<string, StoreFailureMode>();
  for (const [domain, mode] of storeFailureModeByDomain) {
    if (isMode(mode)) byDomain.set(domain, mode);
    else {
      faults.setting(
        `STORE_FAILURE_MODE_BY_DOMAIN has ${quote(mode)} for ` +
          `${quote(domain)}, expected one of ${MODES.join(", ")}`,
      );
    }
  }
  return byDomain;
}

function isMode(text: string): text is StoreFailureMode {
  return MODES.includes(text);
}
