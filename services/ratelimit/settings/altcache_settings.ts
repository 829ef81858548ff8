/**
 * Counters on memcached.
 *
 * @module
 */

import {
  booleanSetting,
  durationSetting,
  integerSetting,
  textSetting,
} from "../../shared/settings.ts";

const GROUP = "ALTCACHE (memcached)";

/** The settings of this group, by the name the service knows them under. */
export const altcacheSettings = {
  altcacheHostPort: textSetting({
    name: "ALTCACHE_HOST_PORT",
    aliases: ["MEMCACHE_HOST_PORT"],
    default: "",
    group: GROUP,
    help: "memcached servers, host:port,host:port; the same for every " +
      "instance of the service.",
  }),
  altcacheSrv: textSetting({
    name: "ALTCACHE_SRV",
    aliases: ["MEMCACHE_SRV"],
    default: "",
    group: GROUP,
    help: "SRV record that names the memcached servers, in place of a list.",
  }),
  altcacheSrvRefreshMs: durationSetting({
    name: "ALTCACHE_SRV_REFRESH",
    aliases: ["MEMCACHE_SRV_REFRESH"],
    default: "0s",
    min: "0s",
    group: GROUP,
    help: "Time between two lookups of the record; 0 looks it up once.",
  }),
  altcacheMaxIdleConnections: integerSetting({
    name: "ALTCACHE_MAX_IDLE_CONNS",
    aliases: ["MEMCACHE_MAX_IDLE_CONNS"],
    default: 2,
    min: 1,
    max: 1_000,
    group: GROUP,
    help: "Idle connections kept to each memcached server.",
  }),
  altcacheTimeoutMs: durationSetting({
    name: "ALTCACHE_TIMEOUT",
    default: "1s",
    min: "1ms",
    group: GROUP,
    help: "Bound on dialling memcached and on every command.",
  }),
  altcacheTls: booleanSetting({
    name: "ALTCACHE_TLS",
    aliases: ["MEMCACHE_TLS"],
    default: false,
    group: GROUP,
    help: "Connect to memcached with TLS.",
  }),
  altcacheTlsClientCert: textSetting({
    name: "ALTCACHE_TLS_CLIENT_CERT",
    aliases: ["MEMCACHE_TLS_CLIENT_CERT"],
    default: "",
    group: GROUP,
    help: "File of the client certificate.",
  }),
  altcacheTlsClientKey: textSetting({
    name: "ALTCACHE_TLS_CLIENT_KEY",
    aliases: ["MEMCACHE_TLS_CLIENT_KEY"],
    default: "",
    group: GROUP,
    help: "File of its key.",
  }),
  altcacheTlsCaCert: textSetting({
    name: "ALTCACHE_TLS_CACERT",
    aliases: ["MEMCACHE_TLS_CACERT"],
    default: "",
    group: GROUP,
    help: "File of the certificates that sign the servers'; the system's " +
      "without.",
  }),
  altcacheTlsSkipHostname: booleanSetting({
    name: "ALTCACHE_TLS_SKIP_HOSTNAME_VERIFICATION",
    aliases: ["MEMCACHE_TLS_SKIP_HOSTNAME_VERIFICATION"],
    default: false,
    group: GROUP,
    help: "Do not compare the name in the certificate; its signature is " +
      "still checked.",
  }),
} as const;
