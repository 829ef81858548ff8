/**
 * Statistics and logs.
 *
 * @module
 */

import {
  booleanSetting,
  choiceSetting,
  durationSetting,
  integerSetting,
  pairsSetting,
  portSetting,
  textSetting,
} from "../../shared/settings.ts";

const GROUP = "Statistics and logs";

/** The settings of this group, by the name the service knows them under. */
export const statisticsSettings = {
  logLevel: choiceSetting({
    name: "LOG_LEVEL",
    values: {
      trace: "debug",
      debug: "debug",
      info: "info",
      warn: "warning",
      warning: "warning",
      error: "error",
      fatal: "error",
      panic: "error",
    },
    ignoreCase: true,
    default: "warning",
    group: GROUP,
    help: "Least level that is logged.",
  }),
  logFormat: choiceSetting({
    name: "LOG_FORMAT",
    values: { text: "text", json: "json" },
    ignoreCase: true,
    default: "text",
    group: GROUP,
    help: "Form of log lines.",
  }),
  disableStats: booleanSetting({
    name: "DISABLE_STATS",
    default: false,
    group: GROUP,
    help: "Send statistics nowhere; the debug port still shows them.",
  }),
  useStatsd: booleanSetting({
    name: "USE_STATSD",
    default: true,
    group: GROUP,
    help: "Send statistics to a statsd server; false writes them to standard " +
      "output.",
  }),
  statsdHost: textSetting({
    name: "STATSD_HOST",
    default: "localhost",
    group: GROUP,
    help: "Host of the statsd server.",
  }),
  statsdPort: portSetting({
    name: "STATSD_PORT",
    default: 8125,
    group: GROUP,
    help: "Port of the statsd server.",
  }),
  statsdProtocol: choiceSetting({
    name: "STATSD_PROTOCOL",
    values: { tcp: "tcp", udp: "udp" },
    ignoreCase: true,
    default: "tcp",
    group: GROUP,
    help: "How lines travel to it.",
  }),
  statsFlushIntervalMs: durationSetting({
    name: "STATS_FLUSH_INTERVAL",
    default: "10s",
    min: "100ms",
    group: GROUP,
    help: "Time between two flushes of statistics.",
  }),
  extraTags: pairsSetting({
    name: "EXTRA_TAGS",
    default: [],
    group: GROUP,
    help: "Tags on all statistics.",
  }),
  statsMaxNames: integerSetting({
    name: "STATS_MAX_NAMES",
    default: 100_000,
    min: 1_000,
    max: 10_000_000,
    group: GROUP,
    help: "Most names of statistics; what comes after is counted under one.",
  }),
} as const;
