/**
 * Settings of parts that are turned off by other settings.
 *
 * @module
 */

import type { ReadVariable, Setting } from "../../shared/settings.ts";
import type { RateLimitSettings } from "../settings.ts";
import { altcacheSettings } from "./altcache_settings.ts";
import { decisionSettings } from "./decision_settings.ts";
import { kvstoreSettings } from "./kvstore_settings.ts";
import { perSecondSettings } from "./per_second_settings.ts";
import { statisticsSettings } from "./statistics_settings.ts";

interface Part {
  readonly settings: readonly Setting<unknown>[];
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
const { limitHeader, remainingHeader, resetHeader } = decisionSettings;
const { statsdHost, statsdPort, statsdProtocol, statsFlushIntervalMs } =
  statisticsSettings;

/** The first part that a setting belongs to and that is off counts. */
const PARTS: readonly Part[] = [
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
    settings: [limitHeader, remainingHeader, resetHeader],
    off: (values) =>
      values.headersEnabled
        ? undefined
        : `${decisionSettings.headersEnabled.name} is not true`,
  },
  {
    settings: [statsFlushIntervalMs],
    off: (values) =>
      values.disableStats
        ? `${statisticsSettings.disableStats.name} is true`
        : undefined,
  },
  {
    settings: [statsdHost, statsdPort, statsdProtocol],
    off: (values) =>
      values.disableStats
        ? `${statisticsSettings.disableStats.name} is true`
        : values.useStatsd
        ? undefined
        : `${statisticsSettings.useStatsd.name} is false`,
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
