/**
 * Opens the sink that statistics are sent to, as the settings say.
 *
 * @module
 */

import { type Clock, steadyClock } from "../../shared/clock.ts";
import { metricsPart } from "../../shared/http/metrics_port.ts";
import type { Logger } from "../../shared/logger.ts";
import { quote } from "../../shared/quote.ts";
import type { ReadVariable } from "../../shared/settings.ts";
import { describeError } from "../../shared/settled.ts";
import { Slices } from "../../shared/slices.ts";
import type { Part } from "../../shared/stopper.ts";
import type { RateLimitSettings } from "../settings.ts";
import { LogSink } from "./log_sink.ts";
import { defaultMapping } from "./default_mapping.ts";
import { type MetricMapping, readMapping } from "./metric_mapping.ts";
import { mogrified, readMogrifiers } from "./mogrifiers.ts";
import { PullMetrics } from "./pull_metrics.ts";
import type { StatsRegistry } from "./registry.ts";
import { nameTagger } from "./statsd_line.ts";
import { StatsdSink } from "./statsd_sink.ts";

/** The parts that a sink needs. */
interface OpenSinksOptions {
  /** All statistics. */
  readonly registry: StatsRegistry;
  /** Gives the time. */
  readonly clock: Clock;
  /** Gets log lines about faults. */
  readonly logger: Logger;
  /** Writes to standard output. */
  readonly write: (line: string) => void;
  /** Reads the variables of mogrifiers, whose names depend on settings. */
  readonly readVariable: ReadVariable;
  /** Reads a file. */
  readonly readText: (path: string) => Promise<string>;
}

/** The outcome of {@linkcode openSink}. */
type SinkOutcome =
  /** `part` is undefined when statistics are not sent. */
  | { readonly kind: "ok"; readonly part: Part | undefined }
  | {
    readonly kind: "invalid";
    /** What is wrong with the settings. */
    readonly problems: readonly string[];
  };

/**
 * Returns what is wrong with the settings of statistics together, one line
 * each.
 */
export async function sinkFaults(
  settings: RateLimitSettings,
  options: Pick<OpenSinksOptions, "readVariable" | "readText">,
): Promise<readonly string[]> {
  if (settings.disableStats) return [];
  const on = listSinks(settings);
  const problems = on.length > 1
    ? [`${on.join(" and ")} are true, and only one may be`]
    : [];
  if (settings.usePullmetrics) {
    const mapping = await loadMapping(settings, options);
    if (typeof mapping !== "function") problems.push(...mapping);
  }
  if (settings.useTaggedStatsd) {
    const read = await readMogrifiers(
      settings.mogrifiers,
      options.readVariable,
    );
    if (read.kind === "invalid") problems.push(...read.problems);
  }
  return told(problems);
}

/** Returns the names of those settings that are on and each ask for a sink. */
function listSinks(settings: RateLimitSettings): readonly string[] {
  const asked = [
    ["USE_STATSD", settings.useStatsd === true],
    ["USE_TAGGED_STATSD", settings.useTaggedStatsd],
    ["USE_PULLMETRICS", settings.usePullmetrics],
  ] as const;
  return asked.flatMap(([name, isOn]) => isOn ? [name] : []);
}

/** Makes the sink that the settings ask for; nothing is open before its start. */
export async function openSink(
  settings: RateLimitSettings,
  options: OpenSinksOptions,
): Promise<SinkOutcome> {
  if (settings.disableStats) return { kind: "ok", part: undefined };
  if (settings.usePullmetrics) return await pullSink(settings, options);
  if (settings.useTaggedStatsd) return await taggedSink(settings, options);
  const { registry, clock, logger, write } = options;
  const tags = Object.fromEntries(settings.extraTags);
  const flushIntervalMs = settings.statsFlushIntervalMs;
  if (settings.useStatsd === false) {
    return ok(
      new LogSink({ flushIntervalMs, tags, registry, clock, logger, write }),
    );
  }
  const tagged = nameTagger(tags);
  return ok(
    new StatsdSink({
      host: settings.statsdHost,
      port: settings.statsdPort,
      protocol: settings.statsdProtocol ?? "tcp",
      shown: (name) => ({ name: tagged(name), ending: "" }),
      ...{ flushIntervalMs, registry, clock, logger },
    }),
  );
}

async function taggedSink(
  settings: RateLimitSettings,
  { readVariable, registry, clock, logger }: OpenSinksOptions,
): Promise<SinkOutcome> {
  const read = await readMogrifiers(settings.mogrifiers, readVariable);
  if (read.kind === "invalid") return invalid(read.problems);
  const tags = Object.fromEntries(settings.extraTags);
  return ok(
    new StatsdSink({
      host: settings.statsdHost,
      port: settings.statsdPort,
      protocol: settings.statsdProtocol ?? "udp",
      shown: mogrified(read.mogrifiers, tags),
      flushIntervalMs: settings.statsFlushIntervalMs,
      ...{ registry, clock, logger },
    }),
  );
}

async function pullSink(
  settings: RateLimitSettings,
  options: OpenSinksOptions,
): Promise<SinkOutcome> {
  const mapping = await loadMapping(settings, options);
  if (typeof mapping !== "function") return invalid(mapping);
  const { registry, clock, logger } = options;
  const steady = steadyClock(clock);
  const metrics = new PullMetrics({
    registry,
    mapping,
    tags: settings.extraTags,
    pausing: new Slices().open(),
    monotonicMs: () => steady.nowMs(),
    logger,
  });
  const [, host = "", port = ""] =
    /^\[?([^\]]*?)\]?:(\d+)$/.exec(settings.pullmetricsAddr) ?? [];
  return ok(metricsPart({
    service: "ratelimit",
    host: host === "" ? "0.0.0.0" : host,
    port: Number(port),
    settings: { host: "PULLMETRICS_ADDR", port: "PULLMETRICS_ADDR" },
    path: settings.pullmetricsPath,
    text: () => metrics.text(),
    ...{ clock, logger },
  }));
}

/** Returns the mapping, or what is wrong with its file. */
async function loadMapping(
  settings: RateLimitSettings,
  { readText }: Pick<OpenSinksOptions, "readText">,
): Promise<MetricMapping | readonly string[]> {
  const path = settings.pullmetricsMapperYaml;
  if (path === "") {
    return defaultMapping({
      isResponseTimeMs: settings.pullmetricsResponseTimeMs,
      names: settings.pullmetricsNames,
    });
  }
  const file = `Cannot use PULLMETRICS_MAPPER_YAML ${quote(path)}: `;
  let text: string;
  try {
    text = await readText(path);
  } catch (error) {
    return [file + describeError(error)];
  }
  const read = await readMapping(text);
  return read.kind === "ok"
    ? read.mapping
    : read.problems.map((problem) => file + problem);
}

function invalid(problems: readonly string[]): SinkOutcome {
  return { kind: "invalid", problems: told(problems) };
}

function told(problems: readonly string[]): readonly string[] {
  return problems.map((problem) =>
    problem.startsWith("Cannot") ? problem : `Cannot read settings: ${problem}`
  );
}

function ok(part: Part): SinkOutcome {
  return { kind: "ok", part };
}
