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
const TYPES = {
  single: "single",
  sentinel: "sentinel",
  cluster: "cluster",
} as const;
const SOCKET_TYPES = { tcp: "tcp", tls: "tcp", unix: "unix" } as const;

/** The settings of this group, by the name the service knows them under. */
export const kvstoreSettings = {
  kvstoreUrl: textSetting({
    name: "KVSTORE_URL",
    aliases: ["REDIS_URL"],
    default: "",
    secret: true,
    group: GROUP,
    help: "single: host:port, redis://host:port or the path of a unix " +
      "socket; sentinel: the master's name and the sentinels, " +
      "name,host:port,host:port; cluster: its nodes, host:port,host:port.",
  }),
  kvstoreType: choiceSetting({
    name: "KVSTORE_TYPE",
    aliases: ["REDIS_TYPE"],
    values: TYPES,
    ignoreCase: true,
    default: "single",
    group: GROUP,
    help: "How the servers work together.",
  }),
  kvstoreSocketType: choiceSetting({
    name: "KVSTORE_SOCKET_TYPE",
    aliases: ["REDIS_SOCKET_TYPE"],
    values: SOCKET_TYPES,
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
  kvstoreSentinelAuth: secretSetting({
    name: "KVSTORE_SENTINEL_AUTH",
    aliases: ["REDIS_SENTINEL_AUTH"],
    default: "",
    group: GROUP,
    help: "The same for the sentinels.",
  }),
  kvstoreTls: booleanSetting({
    name: "KVSTORE_TLS",
    aliases: ["REDIS_TLS"],
    default: false,
    group: GROUP,
    help: "Connect with TLS.",
  }),
  kvstoreTlsClientCert: textSetting({
    name: "KVSTORE_TLS_CLIENT_CERT",
    aliases: ["REDIS_TLS_CLIENT_CERT"],
    default: "",
    group: GROUP,
    help: "File of the client certificate, for both servers.",
  }),
  kvstoreTlsClientKey: textSetting({
    name: "KVSTORE_TLS_CLIENT_KEY",
    aliases: ["REDIS_TLS_CLIENT_KEY"],
    default: "",
    group: GROUP,
    help: "File of its key.",
  }),
  kvstoreTlsCaCert: textSetting({
    name: "KVSTORE_TLS_CACERT",
    aliases: ["REDIS_TLS_CACERT"],
    default: "",
    group: GROUP,
    help: "File of the certificates that sign the servers'; the system's " +
      "without.",
  }),
  kvstoreTlsSkipHostname: booleanSetting({
    name: "KVSTORE_TLS_SKIP_HOSTNAME_VERIFICATION",
    aliases: ["REDIS_TLS_SKIP_HOSTNAME_VERIFICATION"],
    default: false,
    group: GROUP,
    help: "Do not compare the name in the certificate; its signature is " +
      "still checked.",
  }),
  kvstorePoolSize: integerSetting({
    name: "KVSTORE_POOL_SIZE",
    aliases: ["REDIS_POOL_SIZE"],
    default: 10,
    min: 1,
    max: 1_000,
    group: GROUP,
    help: "Connections to the server, for a cluster to each of its masters.",
  }),
  kvstoreTimeoutMs: durationSetting({
    name: "KVSTORE_TIMEOUT",
    aliases: ["REDIS_TIMEOUT"],
    default: "1s",
    min: "1ms",
    group: GROUP,
    help: "Bound on dialling and on every call.",
  }),
  kvstorePipelineWindowMs: durationSetting({
    name: "KVSTORE_PIPELINE_WINDOW",
    aliases: ["REDIS_PIPELINE_WINDOW"],
    default: "0s",
    min: "0s",
    group: GROUP,
    help: "How long a call may wait for others to share a write with. 0 " +
      "waits for none.",
  }),
  kvstorePipelineLimit: integerSetting({
    name: "KVSTORE_PIPELINE_LIMIT",
    aliases: ["REDIS_PIPELINE_LIMIT"],
    default: 0,
    min: 0,
    max: 1_000_000,
    group: GROUP,
    help: "Commands that end that wait; 0 is no limit.",
  }),
  kvstoreHealthNeedsConnection: booleanSetting({
    name: "KVSTORE_HEALTH_CHECK_ACTIVE_CONNECTION",
    aliases: ["REDIS_HEALTH_CHECK_ACTIVE_CONNECTION"],
    default: false,
    group: GROUP,
    help: "Unhealthy while no connection to the store is up.",
  }),
} as const;
