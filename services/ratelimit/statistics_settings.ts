/**
 * The settings of statistics: what they are called and where they go.
 *
 * @module
 */

import {
  booleanOption,
  choiceOption,
  durationOption,
  integerOption,
  listOption,
  pairsOption,
  portOption,
  textOption,
} from "../shared/options.ts";

const STATISTICS = "Statistics";
const STATSD = "statsd and TAGGED_STATSD";
const PULLMETRICS = "PULLMETRICS (Prometheus)";

/**
 * Prefixes of the variables that define mogrifiers; another setting gives the
 * rest of their names. The specification has the first two prefixes.
 */
export const MOGRIFIER_PREFIXES = [
  "TAGGED_STATSD_MOGRIFIERS_",
  "TAGGED_STATSD_MOGRIFIER_",
  "DOG_STATSD_MOGRIFIERS_",
  "DOG_STATSD_MOGRIFIER_",
] as const;

/** The settings, by the name the service knows them under. */
export const statisticsSettings = {
  disableStats: booleanOption({
    name: "DISABLE_STATS",
    default: false,
    group: STATISTICS,
    help: "Do not send statistics; the debug port still shows them.",
  }),
  statsFlushIntervalMs: durationOption({
    name: "STATS_FLUSH_INTERVAL",
    default: "10s",
    min: "100ms",
    group: STATISTICS,
    help: "Time between two flushes of statistics.",
  }),
  extraTags: pairsOption({
    name: "EXTRA_TAGS",
    default: [],
    group: STATISTICS,
    help: "Tags on all statistics.",
  }),
  statsMaxNames: integerOption({
    name: "STATS_MAX_NAMES",
    default: 100_000,
    min: 1_000,
    max: 10_000_000,
    group: STATISTICS,
    help: "Maximum number of statistics; further names are counted under one.",
  }),
  topKeys: booleanOption({
    name: "TOP_KEYS",
    default: true,
    group: STATISTICS,
    help: "Find the counters that refuse most often; /debug/keys and the " +
      "console show them, with the values of callers.",
  }),
  useStatsd: booleanOption({
    name: "USE_STATSD",
    group: STATSD,
    help: "Send statistics to a statsd server; false writes them to standard " +
      "output. Unset: true unless USE_TAGGED_STATSD or USE_PULLMETRICS is.",
  }),
  useTaggedStatsd: booleanOption({
    name: "USE_TAGGED_STATSD",
    aliases: ["USE_DOG_STATSD"],
    default: false,
    group: STATSD,
    help: "Send statistics with tags, in the form of DogStatsD.",
  }),
  mogrifiers: listOption({
    name: "USE_TAGGED_STATSD_MOGRIFIERS",
    aliases: ["TAGGED_STATSD_MOGRIFIERS", "USE_DOG_STATSD_MOGRIFIERS"],
    default: [],
    group: STATSD,
    help: "Names of patterns that turn parts of names into tags, tried in " +
      "this order. For each name, TAGGED_STATSD_MOGRIFIERS_<NAME>_PATTERN is " +
      "a regular expression, _NAME its replacement, and _TAGS a list of " +
      "key:value; $1 is the first group.",
  }),
  statsdHost: textOption({
    name: "STATSD_HOST",
    default: "localhost",
    group: STATSD,
    help: "Host of the statsd server.",
  }),
  statsdPort: portOption({
    name: "STATSD_PORT",
    default: 8125,
    group: STATSD,
    help: "Port of the statsd server.",
  }),
  statsdProtocol: choiceOption({
    name: "STATSD_PROTOCOL",
    values: { tcp: "tcp", udp: "udp" },
    ignoreCase: true,
    group: STATSD,
    help: "The protocol to the server. Unset: tcp, and udp with tags.",
  }),
  usePullmetrics: booleanOption({
    name: "USE_PULLMETRICS",
    aliases: ["USE_PROMETHEUS"],
    default: false,
    group: PULLMETRICS,
    help: "Serve statistics in the text format of Prometheus.",
  }),
  pullmetricsAddr: textOption({
    name: "PULLMETRICS_ADDR",
    aliases: ["PROMETHEUS_ADDR"],
    default: ":9090",
    valueName: "[host]:port",
    group: PULLMETRICS,
    help: "The address that serves them; without a host, on all addresses.",
    form: {
      matches:
        /^(?:\[[^\]\s]+\]|[^:\s]*):(?:\d{1,4}|[1-5]\d{4}|6[0-4]\d{3}|65[0-4]\d\d|655[0-2]\d|6553[0-5])$/,
      expected: "[host]:port, with a port up to 65535",
    },
  }),
  pullmetricsPath: textOption({
    name: "PULLMETRICS_PATH",
    aliases: ["PROMETHEUS_PATH"],
    default: "/metrics",
    group: PULLMETRICS,
    help: "The path of the metrics.",
    form: { matches: /^\/[^\s?#]*$/, expected: "a path that begins with /" },
  }),
  pullmetricsMapperYaml: textOption({
    name: "PULLMETRICS_MAPPER_YAML",
    aliases: ["PROMETHEUS_MAPPER_YAML"],
    default: "",
    group: PULLMETRICS,
    help: "File with the mapping of names to metrics, in the form of " +
      "statsd_exporter. Unset: the mapping in the README of ratelimit.",
  }),
  pullmetricsNames: choiceOption({
    name: "PULLMETRICS_NAMES",
    values: { reference: "reference", clean: "clean" },
    default: "reference",
    group: PULLMETRICS,
    help: "Names of metrics: those of envoyproxy/ratelimit, or clean ones, " +
      "by the conventions of Prometheus, such as _total for counters.",
  }),
  pullmetricsResponseTimeMs: booleanOption({
    name: "PULLMETRICS_RESPONSE_TIME_AS_MILLISECONDS",
    aliases: ["PROMETHEUS_RESPONSE_TIME_AS_MILLISECONDS"],
    default: false,
    group: PULLMETRICS,
    help: "Report response times in milliseconds, not seconds.",
  }),
} as const;
