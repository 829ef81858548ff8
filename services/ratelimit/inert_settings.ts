/**
 * Settings that have no effect, since other settings turn their part off, or
 * since something else stands in their place.
 *
 * @module
 */

import type { Option } from "../shared/options.ts";
import type { ReadVariable } from "../shared/settings.ts";
import { pickBackend } from "./counters/store_plan.ts";
import {
  discoverySettings,
  discoveryTlsSettings,
} from "./discovery_settings.ts";
import { candidateSettings } from "./candidate_settings.ts";
import { grpcTlsSettings } from "./grpc_tls_settings.ts";
import { replacedSettings, REPLACEMENTS } from "./replaced_settings.ts";
import { type RateLimitSettings, rateLimitSettings } from "./settings.ts";
import {
  altcacheSettings,
  kvstoreSettings,
  perSecondSettings,
} from "./store_settings.ts";
import { statisticsSettings } from "./statistics_settings.ts";

interface Part {
  readonly settings: readonly Option<unknown>[];
  /** Why the settings have no effect; undefined when they have one. */
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
const { candidateDirectory, ...ofCandidate } = candidateSettings;
const { limitHeader, remainingHeader, resetHeader } = rateLimitSettings;
const { statsdHost, statsdPort, statsdProtocol } = statisticsSettings;
const { statsFlushIntervalMs, extraTags, mogrifiers } = statisticsSettings;
const { pullmetricsNames, pullmetricsResponseTimeMs } = statisticsSettings;
const pullmetrics = [
  statisticsSettings.pullmetricsAddr,
  statisticsSettings.pullmetricsPath,
  statisticsSettings.pullmetricsMapperYaml,
  pullmetricsNames,
  pullmetricsResponseTimeMs,
];

const {
  runtimeRoot,
  runtimeSubdirectory,
  runtimeAppDirectory,
  runtimeIgnoreDotFiles,
  runtimeWatchRoot,
} = rateLimitSettings;

/**
 * Parts of the service that can be off, with their settings. When a setting
 * belongs to several parts that are off, the first one is reported.
 */
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
      ...Object.values(replacedSettings),
      ...kvstoreTlsFiles,
    ],
    off: (values) => unlessBackend(values, "kvstore"),
  },
  {
    settings: Object.values(altcacheSettings),
    off: (values) => unlessBackend(values, "altcache"),
  },
  {
    settings: [
      ...[...Object.values(ofPerSecond), perSecondTls],
      replacedSettings.perSecondParallelism,
      replacedSettings.perSecondPoolOnEmpty,
    ],
    off: (values) =>
      values.perSecond ? undefined : `${perSecond.name} is not true`,
  },
  ...REPLACEMENTS.map(({ settings, why }) => ({ settings, off: () => why })),
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
    settings: Object.values(ofCandidate),
    off: (values) =>
      values.candidateDirectory === ""
        ? `${candidateDirectory.name} is not set`
        : undefined,
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
      ...[statsFlushIntervalMs, mogrifiers, extraTags],
      ...[statsdHost, statsdPort, statsdProtocol],
      ...pullmetrics,
    ],
    off: (values) =>
      values.disableStats
        ? `${statisticsSettings.disableStats.name} is true`
        : undefined,
  },
  {
    settings: [statsdHost, statsdPort, statsdProtocol, statsFlushIntervalMs],
    off: (values) =>
      values.usePullmetrics
        ? `${statisticsSettings.usePullmetrics.name} is true`
        : undefined,
  },
  {
    settings: [statsdHost, statsdPort, statsdProtocol],
    off: (values) =>
      values.useStatsd !== false || values.useTaggedStatsd
        ? undefined
        : `${statisticsSettings.useStatsd.name} is false`,
  },
  {
    settings: [mogrifiers],
    off: (values) =>
      values.useTaggedStatsd
        ? undefined
        : `${statisticsSettings.useTaggedStatsd.name} is not true`,
  },
  {
    settings: pullmetrics,
    off: (values) =>
      values.usePullmetrics
        ? undefined
        : `${statisticsSettings.usePullmetrics.name} is not true`,
  },
  {
    settings: [pullmetricsNames, pullmetricsResponseTimeMs],
    off: (values) =>
      values.pullmetricsMapperYaml === ""
        ? undefined
        : `${statisticsSettings.pullmetricsMapperYaml.name} is set`,
  },
];

/**
 * Returns lines that name settings which have no effect, and why. Settings with
 * their default are left out.
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
  values: RateLimitSettings,
  wanted: "kvstore" | "altcache",
): string | undefined {
  const backend = pickBackend(values);
  return backend === wanted ? undefined : `BACKEND_TYPE is ${backend}`;
}
