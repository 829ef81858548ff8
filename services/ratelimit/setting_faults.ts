/**
 * What is wrong with the settings together, found before anything is opened.
 *
 * @module
 */

import type { ReadVariable } from "../shared/settings.ts";
import { planStore } from "./counters/store_plan.ts";
import { grpcTlsFaults } from "./grpc_tls.ts";
import type { RateLimitSettings } from "./settings.ts";
import { sourceFaults } from "./sources/open_source.ts";
import { sinkFaults } from "./stats/open_sinks.ts";
import { threadFaults } from "./threads/open_threads.ts";

/** What faults are looked for with. */
interface SettingFaultsTools {
  /** Reads the variables of mogrifiers, whose names settings make. */
  readonly readVariable: ReadVariable;
  /** Reads the files that settings name. */
  readonly readText: (path: string) => Promise<string>;
}

/**
 * Everything that is wrong with the settings as a whole and with the files that
 * they name, a line each; tracing is looked at by every service alike.
 */
export async function settingFaults(
  settings: RateLimitSettings,
  { readVariable, readText }: SettingFaultsTools,
): Promise<readonly string[]> {
  const store = await planStore(settings, readText);
  return [
    ...threadFaults(settings),
    ...await grpcTlsFaults(settings),
    ...(store.kind === "invalid" ? store.problems : []),
    ...await sourceFaults(settings, readText),
    ...await sinkFaults(settings, { readVariable, readText }),
  ];
}
