/**
 * Settings that have no effect: those of parts that other settings turn off,
 * and those of deployments of envoyproxy/ratelimit that this version cannot
 * honour.
 *
 * @module
 */

import type { Option } from "../shared/options.ts";
import type {
  AbsentPart,
  ReadVariable,
  UnavailableSetting,
} from "../shared/settings.ts";
import {
  discoverySettings,
  discoveryTlsSettings,
} from "./discovery_settings.ts";
import { grpcTlsSettings } from "./grpc_tls_settings.ts";
import { isRuntimeTracing } from "../shared/telemetry/tracing_settings.ts";
import { type RateLimitSettings, rateLimitSettings } from "./settings.ts";
import {
  altcacheSettings,
  kvstoreSettings,
  perSecondSettings,
} from "./store_settings.ts";

interface Part {
  readonly settings: readonly Option<unknown>[];
  /** Why they have no effect; undefined when they have. */
  readonly off: (values: RateLimitSettings) => string | undefined;
}

const { perSecond, perSecondTls, ...ofPerSecond } = perSecondSettings;
const {
  kvstoreTlsCaCert,
  kvstoreTlsClientCert,
  kvstoreTlsClientKey,
  kvstoreTlsSkipHostname,
  ...ofKvstore
} = kvstoreSettings;
const kvstoreTlsFiles = [
  kvstoreTlsCaCert,
  kvstoreTlsClientCert,
  kvstoreTlsClientKey,
  kvstoreTlsSkipHostname,
];
const { grpcTls, ...ofGrpcTls } = grpcTlsSettings;
const { limitHeader, remainingHeader, resetHeader } = rateLimitSettings;
const { statsdHost, statsdPort, statsdProtocol, statsFlushIntervalMs } =
  rateLimitSettings;

const {
  tracingProtocol,
  tracingServiceName,
  tracingServiceNamespace,
  tracingServiceInstanceId,
  tracingSamplingRate,
  runtimeRoot,
  runtimeSubdirectory,
  runtimeAppDirectory,
  runtimeIgnoreDotFiles,
  runtimeWatchRoot,
} = rateLimitSettings;

/** The first part that a setting belongs to and that is off counts. */
const PARTS: readonly Part[] = [
  {
    settings: Object.values(discoverySettings),
    off: (values) =>
      values.configType === "discovery" ? undefined : "CONFIG_TYPE is FILE",
  },
  {
    settings: Object.values(discoveryTlsSettings),
    off: (values) =>
      values.discoveryUseTls
        ? undefined
        : `${discoverySettings.discoveryUseTls.name} is not true`,
  },
  {
    settings: [
      runtimeRoot,
      runtimeSubdirectory,
      runtimeAppDirectory,
      runtimeIgnoreDotFiles,
      runtimeWatchRoot,
    ],
    off: (values) =>
      values.configType === "file" ? undefined : "CONFIG_TYPE is GRPC_XDS_SOTW",
  },
  {
    settings: [
      ...Object.values(ofKvstore),
      ...Object.values(perSecondSettings),
      ...kvstoreTlsFiles,
    ],
    off: (values) => unlessBackend(values, "kvstore"),
  },
  {
    settings: Object.values(altcacheSettings),
    off: (values) => unlessBackend(values, "altcache"),
  },
  {
    settings: [...Object.values(ofPerSecond), perSecondTls],
    off: (values) =>
      values.perSecond ? undefined : `${perSecond.name} is not true`,
  },
  {
    settings: kvstoreTlsFiles,
    off: (values) =>
      values.kvstoreTls || values.perSecondTls
        ? undefined
        : `${kvstoreSettings.kvstoreTls.name} is not true`,
  },
  {
    settings: [rateLimitSettings.grpcUdsMode],
    off: ({ grpcUds }) =>
      grpcUds === ""
        ? `${rateLimitSettings.grpcUds.name} is not set`
        : undefined,
  },
  {
    settings: Object.values(ofGrpcTls),
    off: (values) => values.grpcTls ? undefined : `${grpcTls.name} is not true`,
  },
  {
    settings: [limitHeader, remainingHeader, resetHeader],
    off: (values) =>
      values.headersEnabled
        ? undefined
        : `${rateLimitSettings.headersEnabled.name} is not true`,
  },
  {
    settings: [
      tracingProtocol,
      tracingServiceName,
      tracingServiceNamespace,
      tracingServiceInstanceId,
      tracingSamplingRate,
    ],
    off: tracingOff,
  },
  {
    settings: [statsFlushIntervalMs],
    off: (values) =>
      values.disableStats
        ? `${rateLimitSettings.disableStats.name} is true`
        : undefined,
  },
  {
    settings: [statsdHost, statsdPort, statsdProtocol],
    off: (values) =>
      values.disableStats
        ? `${rateLimitSettings.disableStats.name} is true`
        : values.useStatsd
        ? undefined
        : `${rateLimitSettings.useStatsd.name} is false`,
  },
];

/**
 * Lines that name settings which are set, to something else than their default,
 * and have no effect, since another setting turns their part off.
 */
export function idleSettings(
  values: RateLimitSettings,
  readVariable: ReadVariable,
): readonly string[] {
  const told = new Set<string>();
  return PARTS.flatMap(({ settings, off }) => {
    const why = off(values);
    if (why === undefined) return [];
    const names = settings.flatMap((setting) =>
      [setting.name, ...setting.aliases].filter((name) => {
        const text = readVariable(name) ?? "";
        return text !== "" && setting.parse(text) !== setting.fallback &&
          !told.has(name);
      })
    );
    if (names.length === 0) return [];
    for (const name of names) told.add(name);
    const verbs = names.length === 1 ? "is set and has" : "are set and have";
    return [`${names.join(", ")} ${verbs} no effect: ${why}`];
  });
}

function unlessBackend(
  { backendType, kvstoreUrl }: RateLimitSettings,
  wanted: "kvstore" | "altcache",
): string | undefined {
  const backend = backendType ?? (kvstoreUrl === "" ? "memory" : "kvstore");
  return backend === wanted ? undefined : `BACKEND_TYPE is ${backend}`;
}

function tracingOff(values: RateLimitSettings): string | undefined {
  if (!values.tracingEnabled) {
    return `${rateLimitSettings.tracingEnabled.name} is not true`;
  }
  return isRuntimeTracing(values)
    ? `the runtime sends the spans, as ${rateLimitSettings.otelDeno.name} is set`
    : undefined;
}

const OFF = ["false", "0", "f", "0s"];

/**
 * Settings that deployments of envoyproxy/ratelimit carry and that this
 * version can't honour. Where to go on without would weaken what the operator
 * relies on, the start is refused.
 */
export const unavailableSettings: readonly UnavailableSetting[] = [
  {
    name: "USE_TAGGED_STATSD",
    aliases: ["USE_DOG_STATSD"],
    why: "this version speaks plain statsd only",
    severity: "warn",
    neutralValues: OFF,
  },
  {
    name: "USE_PULLMETRICS",
    aliases: ["USE_PROMETHEUS"],
    why: "this version has no endpoint for pull metrics; see /stats on the " +
      "debug port",
    severity: "warn",
    neutralValues: OFF,
  },
];

/** The parts that those settings turn on, with settings of their own. */
export const absentParts: readonly AbsentPart[] = [
  {
    prefixes: [
      "TAGGED_STATSD_",
      "USE_TAGGED_STATSD_",
      "DOG_STATSD_",
      "USE_DOG_STATSD_",
    ],
    why: "this version speaks plain statsd only",
  },
  {
    prefixes: ["PULLMETRICS_", "PROMETHEUS_"],
    why: "this version has no endpoint for pull metrics",
  },
];
