/**
 * Looks up the settings that files which deploy the services name.
 *
 * @module
 */

import { keyServerSettings } from "../../services/keyserver/settings.ts";
import { rateLimitSettings } from "../../services/ratelimit/settings.ts";
import { relayerSettings } from "../../services/relayer/settings.ts";
import { parseGoDuration } from "../../services/shared/go_duration.ts";
import type { Option } from "../../services/shared/options.ts";
import { tasksSettings } from "../../services/tasks/settings.ts";

/** The settings of each service, by its name. */
export const SETTINGS = {
  ratelimit: rateLimitSettings,
  tasks: tasksSettings,
  relayer: relayerSettings,
  keyserver: keyServerSettings,
} as const;

/** The name of a service. */
export type ServiceName = keyof typeof SETTINGS;

/** The services, in the order of the documentation. */
export const SERVICES = ["ratelimit", "tasks", "relayer", "keyserver"] as const;

/** Returns the names of all settings that pass a test, their aliases too. */
export function settingNamesWhere(
  test: (option: Option<unknown>) => boolean,
): readonly string[] {
  const all = Object.values(SETTINGS).flatMap((table) =>
    Object.values<Option<unknown>>(table)
  );
  const names = all.filter(test).flatMap(({ name, aliases }) => [
    name,
    ...aliases,
  ]);
  return [...new Set(names)].sort();
}

/**
 * Returns what is wrong with a variable of the environment of a service; an
 * undefined value is not looked at.
 */
export function settingFault(
  service: ServiceName,
  variable: string,
  value?: string,
): string | undefined {
  const option = Object.values<Option<unknown>>(SETTINGS[service])
    .find(({ name, aliases }) => [name, ...aliases].includes(variable));
  if (option === undefined) return `${service} has no ${variable}`;
  return value === undefined || option.parse(value) !== undefined
    ? undefined
    : `${service} does not take ${variable}=${value}`;
}

/**
 * Returns the milliseconds after which a service that is told to stop has ended
 * at the latest, by what is set in its environment.
 */
export function stopMs(
  service: ServiceName,
  set: Readonly<Record<string, unknown>>,
): number {
  const grace = set.SHUTDOWN_GRACE === undefined
    ? SETTINGS[service].shutdownGraceMs.fallback
    : durationMs(set.SHUTDOWN_GRACE);
  // A service exits by itself five seconds after its grace at the latest.
  return grace + durationMs(set.SHUTDOWN_DRAIN_DELAY ?? "0s") + 5_000;
}

/** Returns the milliseconds of a duration such as 45s; NaN when it is none. */
export function durationMs(text: unknown): number {
  return parseGoDuration(String(text)) ?? NaN;
}
