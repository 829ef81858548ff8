/**
 * A second Redis for limits by the second.
 *
 * @module
 */

import {
  booleanSetting,
  choiceSetting,
  durationSetting,
  integerSetting,
  secretSetting,
  textSetting,
} from "../../shared/settings.ts";

const GROUP = "KVSTORE for limits by the second";

/** The settings of this group, by the name the service knows them under. */
export const perSecondSettings = {
  perSecond: booleanSetting({
    name: "KVSTORE_PERSECOND",
    aliases: ["REDIS_PERSECOND"],
    default: false,
    group: GROUP,
    help: "Keep limits by the second on a server of their own.",
  }),
  perSecondUrl: textSetting({
    name: "KVSTORE_PERSECOND_URL",
    aliases: ["REDIS_PERSECOND_URL"],
    default: "",
    secret: true,
    group: GROUP,
    help: "As KVSTORE_URL.",
  }),
  perSecondType: choiceSetting({
    name: "KVSTORE_PERSECOND_TYPE",
    aliases: ["REDIS_PERSECOND_TYPE"],
    values: { single: "single", sentinel: "sentinel", cluster: "cluster" },
    ignoreCase: true,
    default: "single",
    group: GROUP,
    help: "As KVSTORE_TYPE.",
  }),
  perSecondSocketType: choiceSetting({
    name: "KVSTORE_PERSECOND_SOCKET_TYPE",
    aliases: ["REDIS_PERSECOND_SOCKET_TYPE"],
    values: { tcp: "tcp", tls: "tcp", unix: "unix" },
    ignoreCase: true,
    group: GROUP,
    help: "As KVSTORE_SOCKET_TYPE.",
  }),
  perSecondAuth: secretSetting({
    name: "KVSTORE_PERSECOND_AUTH",
    aliases: ["REDIS_PERSECOND_AUTH"],
    default: "",
    group: GROUP,
    help: "As KVSTORE_AUTH.",
  }),
  perSecondSentinelAuth: secretSetting({
    name: "KVSTORE_PERSECOND_SENTINEL_AUTH",
    aliases: ["REDIS_PERSECOND_SENTINEL_AUTH"],
    default: "",
    group: GROUP,
    help: "As KVSTORE_SENTINEL_AUTH.",
  }),
  perSecondTls: booleanSetting({
    name: "KVSTORE_PERSECOND_TLS",
    aliases: ["REDIS_PERSECOND_TLS"],
    default: false,
    group: GROUP,
    help: "As KVSTORE_TLS; the files are the same.",
  }),
  perSecondPoolSize: integerSetting({
    name: "KVSTORE_PERSECOND_POOL_SIZE",
    aliases: ["REDIS_PERSECOND_POOL_SIZE"],
    default: 10,
    min: 1,
    max: 1_000,
    group: GROUP,
    help: "As KVSTORE_POOL_SIZE.",
  }),
  perSecondTimeoutMs: durationSetting({
    name: "KVSTORE_PERSECOND_TIMEOUT",
    aliases: ["REDIS_PERSECOND_TIMEOUT"],
    default: "1s",
    min: "1ms",
    group: GROUP,
    help: "As KVSTORE_TIMEOUT.",
  }),
  perSecondPipelineWindowMs: durationSetting({
    name: "KVSTORE_PERSECOND_PIPELINE_WINDOW",
    aliases: ["REDIS_PERSECOND_PIPELINE_WINDOW"],
    default: "0s",
    min: "0s",
    group: GROUP,
    help: "As KVSTORE_PIPELINE_WINDOW.",
  }),
  perSecondPipelineLimit: integerSetting({
    name: "KVSTORE_PERSECOND_PIPELINE_LIMIT",
    aliases: ["REDIS_PERSECOND_PIPELINE_LIMIT"],
    default: 0,
    min: 0,
    max: 1_000_000,
    group: GROUP,
    help: "As KVSTORE_PIPELINE_LIMIT.",
  }),
} as const;
