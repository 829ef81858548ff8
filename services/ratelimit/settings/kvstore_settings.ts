/**
 * Counters on Redis.
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

const GROUP = "KVSTORE (Redis)";

/** The settings of this group, by the name the service knows them under. */
export const kvstoreSettings = {
  kvstoreUrl: textSetting({
    name: "KVSTORE_URL",
    aliases: ["REDIS_URL"],
    default: "",
    group: GROUP,
    help: "host:port, redis://host:port or the path of a unix socket.",
  }),
  kvstoreSocketType: choiceSetting({
    name: "KVSTORE_SOCKET_TYPE",
    aliases: ["REDIS_SOCKET_TYPE"],
    values: { tcp: "tcp", unix: "unix" },
    ignoreCase: true,
    group: GROUP,
    help: "Unset follows the form of the URL.",
  }),
  kvstoreAuth: secretSetting({
    name: "KVSTORE_AUTH",
    aliases: ["REDIS_AUTH"],
    default: "",
    group: GROUP,
    help: "PASSWORD or USERNAME:PASSWORD.",
  }),
  kvstorePoolSize: integerSetting({
    name: "KVSTORE_POOL_SIZE",
    aliases: ["REDIS_POOL_SIZE"],
    default: 10,
    min: 1,
    max: 1_000,
    group: GROUP,
    help: "Connections to the store.",
  }),
  kvstoreTimeoutMs: durationSetting({
    name: "KVSTORE_TIMEOUT",
    aliases: ["REDIS_TIMEOUT"],
    default: "1s",
    min: "1ms",
    group: GROUP,
    help: "Bound on dialling and on every command.",
  }),
  kvstoreHealthNeedsConnection: booleanSetting({
    name: "KVSTORE_HEALTH_CHECK_ACTIVE_CONNECTION",
    aliases: ["REDIS_HEALTH_CHECK_ACTIVE_CONNECTION"],
    default: false,
    group: GROUP,
    help: "Unhealthy while no connection to the store is up.",
  }),
} as const;
