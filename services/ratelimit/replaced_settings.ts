/**
 * Settings of envoyproxy/ratelimit in whose place something else stands here.
 * They are accepted, and who sets them is told what stands there.
 *
 * @module
 */

import {
  booleanOption,
  choiceOption,
  durationOption,
  integerOption,
  type Option,
} from "../shared/options.ts";
import { perSecond } from "./store_settings.ts";

const REPLACED = "Accepted without an effect";

const WHY = {
  parallelism: "commands are sent to all masters of a cluster in parallel",
  pool: "calls share connections, so the pool cannot run empty",
  startup: "the service starts without the server, and keeps reconnecting " +
    "after waits that grow to 2 s",
  readOnly: "a connection whose server refuses writes is always closed and " +
    "reopened",
} as const;

const parallelism = integerOption({
  name: "KVSTORE_CLUSTER_PIPELINE_PARALLELISM",
  aliases: ["REDIS_CLUSTER_PIPELINE_PARALLELISM"],
  default: 0,
  min: 0,
  max: 1_000,
  group: REPLACED,
  help: formatHelp(WHY.parallelism),
});
const poolOnEmpty = choiceOption({
  name: "KVSTORE_POOL_ON_EMPTY_BEHAVIOR",
  aliases: ["REDIS_POOL_ON_EMPTY_BEHAVIOR"],
  values: { WAIT: "wait", CREATE: "create", ERROR: "error" },
  ignoreCase: true,
  group: REPLACED,
  help: formatHelp(WHY.pool),
});

/**
 * The settings, by the name the service knows them under. A default is what is
 * done here: who asks for that is told nothing.
 */
export const replacedSettings = {
  kvstoreParallelism: parallelism,
  perSecondParallelism: { ...perSecond(parallelism), group: REPLACED },
  kvstorePoolOnEmpty: poolOnEmpty,
  perSecondPoolOnEmpty: { ...perSecond(poolOnEmpty), group: REPLACED },
  kvstoreStartupInitialMs: durationOption({
    name: "KVSTORE_STARTUP_INITIAL_INTERVAL",
    aliases: ["REDIS_STARTUP_INITIAL_INTERVAL"],
    group: REPLACED,
    help: formatHelp(WHY.startup),
  }),
  kvstoreStartupMaxMs: durationOption({
    name: "KVSTORE_STARTUP_MAX_INTERVAL",
    aliases: ["REDIS_STARTUP_MAX_INTERVAL"],
    group: REPLACED,
    help: formatHelp(WHY.startup),
  }),
  kvstoreStartupMaxElapsedMs: durationOption({
    name: "KVSTORE_STARTUP_MAX_ELAPSED_TIME",
    aliases: ["REDIS_STARTUP_MAX_ELAPSED_TIME"],
    default: "0s",
    group: REPLACED,
    help: formatHelp(WHY.startup),
  }),
  kvstoreCloseOnReadOnly: booleanOption({
    name: "KVSTORE_CLOSE_CONNECTION_ON_READONLY_ERROR",
    aliases: ["REDIS_CLOSE_CONNECTION_ON_READONLY_ERROR"],
    default: true,
    group: REPLACED,
    help: formatHelp(WHY.readOnly),
  }),
} as const;

/** The settings that share a reason, and what stands in their place. */
export const REPLACEMENTS: readonly {
  /** The settings. */
  readonly settings: readonly Option<unknown>[];
  /** What stands in their place, as the end of a sentence. */
  readonly why: string;
}[] = [
  {
    settings: [parallelism, replacedSettings.perSecondParallelism],
    why: WHY.parallelism,
  },
  {
    settings: [poolOnEmpty, replacedSettings.perSecondPoolOnEmpty],
    why: WHY.pool,
  },
  {
    settings: [
      replacedSettings.kvstoreStartupInitialMs,
      replacedSettings.kvstoreStartupMaxMs,
      replacedSettings.kvstoreStartupMaxElapsedMs,
    ],
    why: WHY.startup,
  },
  {
    settings: [replacedSettings.kvstoreCloseOnReadOnly],
    why: WHY.readOnly,
  },
];

function formatHelp(why: string): string {
  return `${why[0]!.toUpperCase()}${why.slice(1)}.`;
}
