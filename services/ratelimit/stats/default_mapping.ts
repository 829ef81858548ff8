/**
 * The service's own mapping of statistics to metrics: by the names of
 * envoyproxy/ratelimit, or by names that keep to the conventions of Prometheus
 * (https://prometheus.io/docs/practices/naming/).
 *
 * @module
 */

import { labelName, metricName } from "../../shared/metrics_text.ts";
import {
  type MappedStat,
  type MetricMapping,
  type MetricTarget,
  metricTarget,
  type TimerForm,
  TO_SECONDS,
} from "./metric_mapping.ts";
import { timerBucketsMs } from "./stat_cell.ts";
import { statHelp } from "./stat_help.ts";
import { splitTags } from "./statsd_line.ts";

const USUAL_MILLISECONDS: TimerForm = {
  kind: "histogram",
  bounds: timerBucketsMs,
};

const RULE_PREFIX = "ratelimit.service.rate_limit.";
const CALL_PREFIX = "ratelimit.service.call.should_rate_limit.";
const PROCESS_PREFIX = "ratelimit.process.";
const SERVER = /^ratelimit_server\.(.+)\.(total_requests|response_time)$/;

/** How metrics are named. */
export type MetricNames = "reference" | "clean";

/** Options of {@linkcode defaultMapping}. */
interface DefaultMappingOptions {
  /**
   * True for response times in milliseconds, as in versions of the service that
   * this one replaces from before 2026.
   */
  readonly isResponseTimeMs: boolean;
  /**
   * `reference`: as the replaced service names them. `clean`: with `_total`
   * behind counters and nothing else, and without upper case.
   */
  readonly names: MetricNames;
}

/**
 * Returns the mapping of the specification. The levels of a rule become labels
 * `key1`, `key2`, …; a statistic that the mapping doesn't name keeps its name,
 * with `_` for dots.
 */
export function defaultMapping(
  { isResponseTimeMs, names }: DefaultMappingOptions,
): MetricMapping {
  const mapped = (stat: MappedStat): MetricTarget => {
    const { name } = stat;
    if (name.startsWith(RULE_PREFIX)) return ruleTarget(stat);
    if (name.startsWith(CALL_PREFIX)) {
      return metricTarget("ratelimit_service_should_rate_limit_error", {
        labels: [["err_type", name.slice(CALL_PREFIX.length)]],
        help: statHelp(name),
      });
    }
    if (name.startsWith(PROCESS_PREFIX)) return processTarget(name);
    const [, method, what] = SERVER.exec(name) ?? [];
    if (method === undefined) return plainTarget(name);
    const labels: MetricTarget["labels"] = [["grpc_method", method]];
    const help = statHelp(name);
    if (what === "total_requests") {
      return metricTarget("ratelimit_service_total_requests", { labels, help });
    }
    return isResponseTimeMs
      ? metricTarget("ratelimit_service_response_time", {
        labels,
        help: `${help.slice(0, -1)}, in milliseconds.`,
        timerScale: 1,
        timer: USUAL_MILLISECONDS,
      })
      : metricTarget("ratelimit_service_response_time_seconds", {
        labels,
        help: `${help.slice(0, -1)}, in seconds.`,
        timerScale: TO_SECONDS,
      });
  };
  if (names === "reference") return mapped;
  return (stat) => {
    const target = mapped(stat);
    return { ...target, name: cleanName(target.name, stat.kind) };
  };
}

/** Names that no rule makes clean. */
const CLEAN_NAMES: Readonly<Record<string, string>> = {
  ratelimit_localcache_entryCount: "ratelimit_localcache_entries",
  ratelimit_localcache_hitCount: "ratelimit_localcache_hits",
  ratelimit_localcache_missCount: "ratelimit_localcache_misses",
  ratelimit_localcache_lookupCount: "ratelimit_localcache_lookups",
  ratelimit_localcache_overwriteCount: "ratelimit_localcache_overwrites",
  ratelimit_localcache_expiredCount: "ratelimit_localcache_expirations",
  ratelimit_localcache_evacuateCount: "ratelimit_localcache_evictions",
  ratelimit_stats_overflow_gauge: "ratelimit_stats_overflow_value",
};

/** `total` stands at the end of a counter's name, and nowhere else. */
function cleanName(name: string, kind: MappedStat["kind"]): string {
  if (kind !== "counter") return CLEAN_NAMES[name] ?? name;
  return `${name.replace(/_total(?=_|$)/g, "")}_total`;
}

/**
 * Maps a statistic of the process to the name that Prometheus's own libraries
 * use for any process.
 */
function processTarget(name: string): MetricTarget {
  const what = name.slice(PROCESS_PREFIX.length);
  return metricTarget(
    `process_${what}${what === "event_loop_lag" ? "_seconds" : ""}`,
    { help: statHelp(name) },
  );
}

/**
 * Maps any other statistic; tags of its name (`.__key=value`) become labels.
 */
function plainTarget(name: string): MetricTarget {
  const { bare, tags } = splitTags(name);
  return metricTarget(metricName(bare), {
    labels: tags.map(([key, value]) => [labelName(key), value] as const),
    help: statHelp(bare),
  });
}

function ruleTarget({ name, segments }: MappedStat): MetricTarget {
  const [domain = "", ...levels] = segments ??
    name.slice(RULE_PREFIX.length).split(".");
  const what = levels.pop() ?? "";
  return metricTarget(`ratelimit_service_rate_limit_${metricName(what)}`, {
    labels: [
      ["domain", domain],
      ...levels.map((level, index) => [`key${index + 1}`, level] as const),
    ],
    help: statHelp(name),
  });
}
