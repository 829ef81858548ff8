/**
 * Where counters are kept, whichever the store.
 *
 * @module
 */

import {
  booleanSetting,
  choiceSetting,
  durationSetting,
  integerSetting,
  pairsSetting,
  textSetting,
} from "../../shared/settings.ts";

const GROUP = "Counter store";

const FAILURE_MODES = {
  error: "error",
  allow: "allow",
  deny: "deny",
  local: "local",
} as const;

/** The settings of this group, by the name the service knows them under. */
export const storeSettings = {
  backendType: choiceSetting({
    name: "BACKEND_TYPE",
    values: {
      memory: "memory",
      kvstore: "kvstore",
      redis: "kvstore",
      altcache: "altcache",
      memcache: "altcache",
    },
    ignoreCase: true,
    group: GROUP,
    help: "Where counters are kept. Unset: kvstore if KVSTORE_URL is set, " +
      "else memory, whose limits hold for this process alone.",
  }),
  cacheKeyPrefix: textSetting({
    name: "CACHE_KEY_PREFIX",
    default: "",
    group: GROUP,
    help: "Text before every counter key.",
  }),
  cacheKeyFormat: choiceSetting({
    name: "CACHE_KEY_FORMAT",
    values: { escaped: "escaped", reference: "reference" },
    default: "escaped",
    group: GROUP,
    help: "How counter keys are written; reference gives the bytes of " +
      "envoyproxy/ratelimit, for fleets that share a store with it.",
  }),
  expirationJitterMaxSeconds: integerSetting({
    name: "EXPIRATION_JITTER_MAX_SECONDS",
    default: 300,
    min: 0,
    max: 86_400,
    group: GROUP,
    help: "Counters live up to this much longer than their window, so that " +
      "they don't all end at once.",
  }),
  stopWhenOver: booleanSetting({
    name: "STOP_CACHE_KEY_INCREMENT_WHEN_OVERLIMIT",
    default: false,
    group: GROUP,
    help: "When one limit of a request is exceeded, its other counters are " +
      "not incremented.",
  }),
  localCacheBytes: integerSetting({
    name: "LOCAL_CACHE_SIZE_IN_BYTES",
    aliases: ["LocalCacheSizeInBytes"],
    default: 0,
    min: 0,
    max: 17_179_869_184,
    group: GROUP,
    help: "Memory for a cache of counters that are over their limit, which " +
      "spares the store; 0 for none, and at least 524288 otherwise.",
  }),
  localCacheMaxAgeMs: durationSetting({
    name: "LOCAL_CACHE_MAX_AGE",
    default: "1s",
    min: "1s",
    group: GROUP,
    help: "How long the cache remembers a counter without asking again; so " +
      "long may hits given back through another instance go unseen.",
  }),
  storeFailureMode: choiceSetting({
    name: "STORE_FAILURE_MODE",
    values: FAILURE_MODES,
    ignoreCase: true,
    default: "error",
    group: GROUP,
    help: "While the store doesn't answer: error tells the caller, allow " +
      "lets everything pass, deny refuses what has a limit, local counts in " +
      "this process.",
  }),
  storeFailureModeByDomain: pairsSetting({
    name: "STORE_FAILURE_MODE_BY_DOMAIN",
    default: [],
    group: GROUP,
    help: "The same for some domains, such as edge:allow,login:deny.",
  }),
  memoryMaxKeys: integerSetting({
    name: "MEMORY_MAX_KEYS",
    default: 1_000_000,
    min: 1_000,
    max: 100_000_000,
    group: GROUP,
    help: "Most counters in memory.",
  }),
  memoryFullMode: choiceSetting({
    name: "MEMORY_FULL_MODE",
    values: { allow: "allow", refuse: "refuse" },
    default: "allow",
    group: GROUP,
    help: "What becomes of a new counter when memory is full of counters " +
      "near their limits.",
  }),
} as const;
