/**
 * Maps dotted names of statistics to metrics with labels, by a mapping file in
 * the form of statsd_exporter
 * (https://github.com/prometheus/statsd_exporter#metric-mapping-and-configuration).
 *
 * @module
 */

import { parse } from "@std/yaml";
import { labelName, metricName } from "../../shared/metrics_text.ts";
import { quote } from "../../shared/quote.ts";
import { list, record } from "../../shared/schema/composite.ts";
import {
  object,
  type ObjectOf,
  optional,
  withDefault,
} from "../../shared/schema/object.ts";
import { readWhole } from "../../shared/schema/schema.ts";
import {
  boolean,
  choice,
  integer,
  number,
  text,
} from "../../shared/schema/values.ts";
import { describeError } from "../../shared/settled.ts";
import { expanded, goPattern, type NamePattern } from "./go_pattern.ts";
import { timerBucketsMs } from "./stat_cell.ts";
import { statHelp } from "./stat_help.ts";

/** How the durations of a timer are written. */
export type TimerForm =
  | {
    readonly kind: "histogram";
    /** Upper bounds in the unit of the metric, ascending. */
    readonly bounds: readonly number[];
  }
  | {
    readonly kind: "summary";
    /** Shares, 0 to 1, ascending. */
    readonly quantiles: readonly number[];
    /** Seconds over which the quantiles are computed. */
    readonly maxAgeSeconds: number;
  };

/** The metric that a statistic becomes. */
export interface MetricTarget {
  /** Name of the metric. */
  readonly name: string;
  /** Help text of the metric. */
  readonly help: string;
  /** Labels of the series, in the order in which they are written. */
  readonly labels: readonly (readonly [string, string])[];
  /** Factor for counters and gauges. */
  readonly scale: number;
  /** Factor for durations in milliseconds, which gives them their unit. */
  readonly timerScale: number;
  /** How a timer is written. */
  readonly timer: TimerForm;
}

/** A statistic that is to be mapped. */
export interface MappedStat {
  /** Full dotted name. */
  readonly name: string;
  /** Its kind. */
  readonly kind: "counter" | "gauge" | "timer";
  /**
   * For a statistic of a rule, the parts of its name: domain, levels, and what
   * is counted. The name alone can't tell these when one of them has a dot.
   */
  readonly segments?: readonly string[] | undefined;
}

/** Maps a statistic to its metric; undefined leaves the statistic out. */
export type MetricMapping = (stat: MappedStat) => MetricTarget | undefined;

/** Factor from milliseconds to seconds. */
export const TO_SECONDS = 1 / 1_000;

/** How response times are written: in seconds, in the usual buckets. */
const USUAL_SECONDS: TimerForm = {
  kind: "histogram",
  bounds: timerBucketsMs.map((ms) => ms * TO_SECONDS),
};

/**
 * Returns the metric of a name: without labels, a timer in seconds, and what
 * `rest` says instead.
 */
export function metricTarget(
  name: string,
  rest: Partial<Omit<MetricTarget, "name">> = {},
): MetricTarget {
  return {
    name,
    help: "",
    labels: [],
    scale: 1,
    timerScale: TO_SECONDS,
    timer: USUAL_SECONDS,
    ...rest,
  };
}

const NUMBERS = list(number({ minimum: -1e300, maximum: 1e300 }), {
  minItems: 1,
  maxItems: 200,
});
const QUANTILES = list(
  object({
    quantile: number({ minimum: 0, maximum: 1 }),
    error: withDefault(number({ minimum: 0, maximum: 1 }), 0.01),
  }),
  { minItems: 1, maxItems: 100 },
);
const OBSERVERS = choice(["histogram", "summary"]);
const MATCH_TYPES = choice(["glob", "regex"]);

const OPTIONS = {
  match_type: optional(MATCH_TYPES),
  observer_type: optional(OBSERVERS),
  timer_type: optional(OBSERVERS),
  buckets: optional(NUMBERS),
  quantiles: optional(QUANTILES),
  histogram_options: optional(object({ buckets: optional(NUMBERS) })),
  summary_options: optional(object({
    quantiles: optional(QUANTILES),
    max_age: optional(text({ pattern: /^\d+(?:ms|s|m|h)$/ })),
    age_buckets: optional(integer({ minimum: 1, maximum: 100 })),
    buf_cap: optional(integer({ minimum: 1, maximum: 100_000 })),
  })),
};

const MAPPING_FIELDS = {
  ...OPTIONS,
  match: text({ minLength: 1 }),
  match_metric_type: optional(
    choice(["counter", "gauge", "observer", "timer"]),
  ),
  name: optional(text({ minLength: 1 })),
  help: optional(text()),
  labels: withDefault(
    record(text({ maxLength: 1_000 }), { maxEntries: 50 }),
    {},
  ),
  action: withDefault(choice(["map", "drop"]), "map"),
  scale: optional(number({ minimum: -1e300, maximum: 1e300 })),
};

const FILE = object({
  defaults: withDefault(
    object({
      ...OPTIONS,
      glob_disable_ordering: withDefault(boolean(), false),
    }),
    {},
  ),
  mappings: withDefault(list(object(MAPPING_FIELDS), { maxItems: 1_000 }), []),
});

/** Options of how observers are written, of the file or of a mapping. */
type ObserverOptions = ObjectOf<typeof OPTIONS>;

/** The outcome of reading a mapping. */
type MappingOutcome =
  | { readonly kind: "ok"; readonly mapping: MetricMapping }
  | {
    readonly kind: "invalid";
    /** Faults of the file, each with its place. */
    readonly problems: readonly string[];
  };

/** The help of a metric for which the file has none. */
const MAPPED_HELP = "Statistics that the mapping file gives this name.";

/** A mapping of the file, ready to be matched with names. */
interface Rule {
  readonly pattern: NamePattern;
  readonly kind: MappedStat["kind"] | undefined;
  /**
   * Makes the metric from the groups of the match; undefined drops the
   * statistic.
   */
  readonly make: ((groups: readonly string[]) => MetricTarget) | undefined;
}

/**
 * Reads a mapping file of statsd_exporter. The first mapping that matches a
 * name counts, and a name that no mapping matches keeps its own, with `_` for
 * dots. An option that this service does not have is a problem, as is a pattern
 * that can't be read.
 */
export async function readMapping(yaml: string): Promise<MappingOutcome> {
  let value: unknown;
  try {
    value = parse(yaml, { schema: "core" });
  } catch (error) {
    const [first = ""] = describeError(error).split("\n");
    return { kind: "invalid", problems: [`it is not YAML: ${first}`] };
  }
  const read = readWhole(FILE, value ?? {});
  if (read.kind === "invalid") {
    const problems = read.faults.map(({ pointer, detail }) =>
      pointer === "" ? detail : `${pointer}: ${detail}`
    );
    return { kind: "invalid", problems };
  }
  const { defaults, mappings } = read.value;
  const problems: string[] = [];
  if (defaults.glob_disable_ordering) {
    problems.push(
      "/defaults/glob_disable_ordering: the first match always counts here",
    );
  }
  const rules: Rule[] = [];
  for (const [index, mapping] of mappings.entries()) {
    const rule = await createRule(mapping, defaults);
    if (typeof rule === "string") problems.push(`/mappings/${index}: ${rule}`);
    else rules.push(rule);
  }
  if (problems.length > 0) return { kind: "invalid", problems };
  const timer = pickTimerForm(defaults, {});
  return {
    kind: "ok",
    mapping: ({ name, kind }) => {
      for (const rule of rules) {
        if (rule.kind !== undefined && rule.kind !== kind) continue;
        const groups = rule.pattern.exec(name);
        if (groups !== null) return rule.make?.(groups);
      }
      return metricTarget(metricName(name), { help: statHelp(name), timer });
    },
  };
}

/** Returns a mapping as a rule, or why it can't be used. */
async function createRule(
  mapping: ObjectOf<typeof MAPPING_FIELDS>,
  defaults: ObserverOptions,
): Promise<Rule | string> {
  const { match, match_type, match_metric_type, action, name } = mapping;
  const type = match_type ?? defaults.match_type ?? "glob";
  const pattern = type === "glob" ? globPattern(match) : await goPattern(match);
  if (typeof pattern === "string") return pattern;
  const kind = match_metric_type === "observer" ? "timer" : match_metric_type;
  if (action === "drop") return { pattern, kind, make: undefined };
  if (name === undefined) return "a mapping that is not dropped needs a name";
  const labels = Object.entries(mapping.labels);
  const timer = pickTimerForm(mapping, defaults);
  const { help = MAPPED_HELP, scale = 1 } = mapping;
  return {
    pattern,
    kind,
    make: (groups) => ({
      name: metricName(expanded(name, groups)),
      help,
      labels: labels.map(([label, value]) =>
        [labelName(label), expanded(value, groups)] as const
      ),
      scale,
      timerScale: scale * TO_SECONDS,
      timer,
    }),
  };
}

/**
 * Returns the pattern of a glob: each `*` stands for one part between dots, and
 * is a group.
 */
function globPattern(glob: string): NamePattern | string {
  const parts = glob.split(".");
  const odd = parts.find((part) => part !== "*" && /[\s*]/.test(part));
  if (odd !== undefined) {
    return `the glob has the part ${
      quote(odd)
    }, expected * or a text without ` +
      "it; match_type: regex can do more";
  }
  const each = parts.map((part) =>
    part === "*" ? "([^.]*)" : escapeRegExp(part)
  );
  return new RegExp(`^${each.join("\\.")}$`);
}

function escapeRegExp(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&");
}

const USUAL_QUANTILES = [0.5, 0.9, 0.99];
const USUAL_MAX_AGE_SECONDS = 600;
const SECONDS: Readonly<Record<string, number>> = {
  ms: 0.001,
  s: 1,
  m: 60,
  h: 3_600,
};

/**
 * Returns how timers are written; options of a mapping precede those of the
 * defaults.
 */
function pickTimerForm(
  own: ObserverOptions,
  defaults: ObserverOptions,
): TimerForm {
  const type = own.observer_type ?? own.timer_type ?? defaults.observer_type ??
    defaults.timer_type ?? "summary";
  if (type === "histogram") {
    const bounds = own.histogram_options?.buckets ?? own.buckets ??
      defaults.histogram_options?.buckets ?? defaults.buckets;
    return bounds === undefined
      ? USUAL_SECONDS
      : { kind: "histogram", bounds: [...bounds].sort((a, b) => a - b) };
  }
  const quantiles = own.summary_options?.quantiles ?? own.quantiles ??
    defaults.summary_options?.quantiles ?? defaults.quantiles;
  const age = own.summary_options?.max_age ?? defaults.summary_options?.max_age;
  const [, amount, unit = ""] = /^(\d+)(\w+)$/.exec(age ?? "") ?? [];
  return {
    kind: "summary",
    quantiles: quantiles?.map(({ quantile }) => quantile)
      .sort((a, b) => a - b) ?? USUAL_QUANTILES,
    maxAgeSeconds: amount === undefined
      ? USUAL_MAX_AGE_SECONDS
      : Number(amount) * (SECONDS[unit] ?? 1),
  };
}
