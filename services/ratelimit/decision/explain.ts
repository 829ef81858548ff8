/**
 * Explains why a request is decided as it is: which rule applies to each
 * descriptor, why the others do not, and which counter it touches. The matcher
 * and the plan are those of the decision itself, so that the two can't
 * disagree.
 *
 * @module
 */

import type { RequestView } from "../../../proto/request_view.ts";
import { nearest } from "../../shared/did_you_mean.ts";
import { quote } from "../../shared/quote.ts";
import {
  type CounterKeyFormat,
  CounterKeyWriter,
} from "../rules/counter_key.ts";
import {
  formatPath,
  type Limit,
  matchDescriptor,
  type MatchStep,
  type Rule,
  type Snapshot,
} from "../rules/snapshot.ts";
import { statPathText } from "../stats/stats.ts";
import { type ExplainedLevel, explainLevel } from "./explain_level.ts";
import { getCapacity, nearThreshold } from "./judge.ts";
import {
  type InvalidRequest,
  type Plan,
  type PlannedDescriptor,
  type PlannedLimit,
  planRequest,
} from "./plan.ts";
import { fixedStatPath } from "./stat_path.ts";

/**
 * How decisions are made; must have the same values as the decider's options.
 */
export interface DecisionRules {
  /** How counter keys are written. */
  readonly keyFormat: CounterKeyFormat;
  /** Share of a limit above which hits count as near it. */
  readonly nearLimitRatio: number;
  /** True when the overall code is always OK. */
  readonly shadowMode: boolean;
  /** True when every descriptor is a quota. */
  readonly quotaMode: boolean;
  /** True when the other counters are only read once one limit is exceeded. */
  readonly stopWhenOver: boolean;
}

/** A limit that applies to a descriptor, with the counter it asks. */
export interface ExplainedLimit extends Limit {
  /** The most hits that the limit ever admits at once. */
  readonly capacity: number;
  /** Hits above this count are near the limit. */
  readonly nearThreshold: number;
  /** Path of its rule; undefined for a limit that came with the request. */
  readonly rulePath: string | undefined;
  /**
   * What tells it from the other limits of its descriptor; empty for the first.
   */
  readonly label: string;
  /** True when it alone never refuses. */
  readonly isShadow: boolean;
  /** The counter's key as text. */
  readonly counterKey: string;
  /** Index of the counter in the batch of the plan. */
  readonly operation: number;
  /** Beginning of the names of its statistics. */
  readonly statistics: string;
}

/** The explanation of one descriptor, without what its counter holds. */
export interface ExplainedDescriptor {
  /** Keys and values of the request. */
  readonly entries: readonly { readonly key: string; readonly value: string }[];
  /** What is planned for it: no limit, no counter, or a counter. */
  readonly outcome: PlannedDescriptor["kind"];
  /** Why that is planned, in one sentence. */
  readonly why: string;
  /** The rule that matched, even when it isn't the one that applies. */
  readonly rule: Rule | undefined;
  /** The limits, all of which count; empty where none applies. */
  readonly limits: readonly ExplainedLimit[];
  /** Hits of the request. */
  readonly hits: number;
  /**
   * Beginning of the names of its statistics, or of those of its first limit;
   * undefined when it has none.
   */
  readonly statistics: string | undefined;
  /** The levels of rules that the matcher looked at, from the top. */
  readonly levels: readonly ExplainedLevel[];
  /** Notes on what else changes the answer, or looks like a mistake. */
  readonly notes: readonly string[];
}

/** A request, explained. */
export interface Explanation {
  /** Tells an explanation from a request that is wrong. */
  readonly kind: "explained";
  /** The domain of the request. */
  readonly domain: string;
  /** One explanation for each descriptor of the request. */
  readonly descriptors: readonly ExplainedDescriptor[];
  /** The plan of the decision, with the counters to ask. */
  readonly plan: Plan;
}

/** Explains one request by one snapshot, without reading counters. */
export function explainRequest(
  view: RequestView,
  options: { readonly snapshot: Snapshot; readonly rules: DecisionRules },
): Explanation | InvalidRequest {
  const { snapshot, rules } = options;
  const keys = new CounterKeyWriter(rules.keyFormat);
  const plan = planRequest(view, { snapshot, keys });
  if (plan.kind === "invalid") return plan;
  const walks = walkDescriptors(view, snapshot);
  const context: Context = { view, snapshot, rules, plan, walks };
  return {
    kind: "explained",
    domain: readDomain(view),
    descriptors: plan.descriptors.map((planned, index) =>
      explainDescriptor(planned, { ...context, index })
    ),
    plan,
  };
}

/** The steps of the matcher on one descriptor, and the rule it found. */
interface Walk {
  readonly steps: readonly MatchStep[];
  readonly rule: Rule | undefined;
}

interface Context {
  readonly view: RequestView;
  readonly snapshot: Snapshot;
  readonly rules: DecisionRules;
  readonly plan: Plan;
  readonly walks: readonly Walk[];
}

interface DescriptorContext extends Context {
  readonly index: number;
}

function readDomain(view: RequestView): string {
  return view.text(view.domainStart, view.domainEnd);
}

function walkDescriptors(view: RequestView, { domains }: Snapshot): Walk[] {
  const domain = domains.get(view.bytes, view.domainStart, view.domainEnd);
  return Array.from({ length: view.descriptorCount }, (_, descriptor) => {
    const steps: MatchStep[] = [];
    const node = domain && matchDescriptor(domain, view, descriptor, steps);
    return { steps, rule: node?.rule };
  });
}

function explainDescriptor(
  planned: PlannedDescriptor,
  context: DescriptorContext,
): ExplainedDescriptor {
  const { view, index, walks } = context;
  const { steps, rule } = walks[index]!;
  const entries = [];
  const last = view.lastEntry(index);
  for (let entry = view.firstEntry(index); entry < last; entry++) {
    entries.push({ key: view.keyText(entry), value: view.valueText(entry) });
  }
  return {
    entries,
    outcome: planned.kind,
    why: describeReason(planned, context),
    rule,
    limits: planned.kind === "limited"
      ? [planned, ...planned.others ?? []].map((limit) =>
        explainLimit(limit, context)
      )
      : [],
    hits: planned.kind === "free" ? 0 : planned.hits,
    statistics: formatStatistics(planned, context),
    levels: steps.map((step) => explainLevel(step, view)),
    notes: listNotes(planned, context),
  };
}

function explainLimit(
  planned: PlannedLimit,
  { rules, plan }: DescriptorContext,
): ExplainedLimit {
  const { limit, rule, operation } = planned;
  const { keyStart, keyEnd } = plan.operations[operation]!;
  const capacity = getCapacity(limit);
  return {
    ...limit,
    capacity,
    nearThreshold: nearThreshold(capacity, rules.nearLimitRatio),
    rulePath: rule && formatPath(rule),
    label: rule?.label ?? "",
    isShadow: rule?.shadowMode ?? false,
    counterKey: new TextDecoder().decode(plan.keys.subarray(keyStart, keyEnd)),
    operation,
    statistics: pathName(planned),
  };
}

const PREFIX = "ratelimit.service.rate_limit.";

function pathName(
  { statPath, rule }: Exclude<PlannedDescriptor, { readonly kind: "free" }>,
): string {
  return PREFIX + statPathText(statPath ?? (rule && fixedStatPath(rule)) ?? "");
}

function formatStatistics(
  planned: PlannedDescriptor,
  { plan, view }: DescriptorContext,
): string | undefined {
  if (plan.domain === undefined) {
    return `${PREFIX}${readDomain(view)}.domain_not_found`;
  }
  return planned.kind === "free" ? undefined : pathName(planned);
}

function describeReason(
  planned: PlannedDescriptor,
  context: DescriptorContext,
): string {
  switch (planned.kind) {
    case "limited":
      return planned.rule === undefined
        ? "the request brings a limit of its own, which wins over all rules"
        : `${describeRule(planned.rule)} applies`;
    case "unlimited":
      return `${
        describeRule(planned.rule)
      } applies and is unlimited: no counter ` +
        "is asked";
    case "free":
      return whyFree(context);
  }
}

function whyFree(context: DescriptorContext): string {
  const { view, snapshot, plan, walks, index } = context;
  if (plan.domain === undefined) {
    const domain = readDomain(view);
    return `no configuration has the domain ${quote(domain)}` +
      didYouMean(domain, snapshot.domainNames);
  }
  const { steps, rule } = walks[index]!;
  const count = view.lastEntry(index) - view.firstEntry(index);
  if (rule !== undefined) {
    return `${describeRule(rule)} matches, but ${replacedBy(rule, context)}`;
  }
  const step = steps.at(-1);
  if (step === undefined) return "it has no entries, so no rule can match";
  const depth = steps.length;
  if (step.table === undefined) {
    return `the rules that match have ${levels(depth - 1)} only, and the ` +
      `descriptor has ${count} entries`;
  }
  if (step.node === undefined) return whyNoMatch(step, { view, depth });
  return step.node.children === undefined
    ? "what matches has neither a limit nor deeper levels: it is exempt"
    : `what matches at level ${depth} sets no limit itself; limits are ` +
      "deeper, and the descriptor has no further entry";
}

function whyNoMatch(
  { entry, table, rules }: MatchStep,
  { view, depth }: { readonly view: RequestView; readonly depth: number },
): string {
  const key = view.keyText(entry);
  const value = view.valueText(entry);
  if (rules === undefined) {
    return `no rule at level ${depth} has the key ${quote(key)}` +
      didYouMean(key, textKeys(table?.keys.entries()));
  }
  return `no rule with the key ${quote(key)} at level ${depth} matches the ` +
    `value ${quote(value)}` +
    didYouMean(value, textKeys(rules.exact.entries()));
}

function replacedBy(rule: Rule, { walks }: DescriptorContext): string {
  const at = walks.findIndex((walk) => walk.rule?.replaces.includes(rule.name));
  return `its name ${quote(rule.name)} is replaced by ` +
    `${describeRule(walks[at]!.rule!)}, which descriptor ${at + 1} matches`;
}

function listNotes(
  planned: PlannedDescriptor,
  { rules, snapshot, plan, view, index, walks }: DescriptorContext,
): string[] {
  const notes: string[] = [];
  if (planned.kind === "limited" && planned.others !== undefined) {
    notes.push(
      `${planned.others.length + 1} limits count, and the strictest answers`,
    );
  }
  if (planned.kind === "limited" && !plan.countWhenLimited) {
    notes.push(
      "count_when_limited: false: while another limit of the request refuses, " +
        "the counter is only read",
    );
  }
  const matched = walks[index]!.rule;
  if (view.hasLimit(index) && matched !== undefined) {
    notes.push(
      `without the request's own limit ${describeRule(matched)} applies`,
    );
  }
  const rule = planned.kind === "free" ? undefined : planned.rule;
  const others = planned.kind === "limited" ? planned.others ?? [] : [];
  for (const one of [rule, ...others.map((other) => other.rule)]) {
    if (one?.shadowMode !== true) continue;
    const which = one.label === "" ? "" : ` of ${one.label}`;
    notes.push(
      `shadow_mode${which}: over the limit the code is OK all the same`,
    );
  }
  if (
    rule?.quotaMode === true || (rules.quotaMode && planned.kind !== "free")
  ) {
    const by = rule?.quotaMode === true ? "quota_mode" : "QUOTA_MODE";
    notes.push(
      `${by}: refuses only when all quotas of the request are used up`,
    );
  }
  if (planned.kind === "limited" && planned.hits < 0) {
    notes.push("the hits are given back");
  }
  for (const name of rule?.replaces ?? []) {
    const known = snapshot.rules.filter((other) =>
      other.domain === rule?.domain
    )
      .map((other) => other.name);
    if (known.includes(name)) continue;
    notes.push(
      `replaces ${quote(name)}, but no rule of the domain has that name` +
        didYouMean(name, known),
    );
  }
  return notes;
}

/** Returns a rule's path, with the file and line it comes from. */
export function describeRule(rule: Rule): string {
  const { file, line } = rule;
  const place = line === undefined ? file : `${file}:${line}`;
  return `${formatPath(rule)} (${place})`;
}

/** Most names that a misspelt one is compared with. */
const MAX_NAMES = 10_000;

function didYouMean(word: string, names: Iterable<string>): string {
  const some: string[] = [];
  for (const name of names) {
    if (name !== "" && some.push(name) >= MAX_NAMES) break;
  }
  const meant = nearest(word, some);
  return meant === undefined ? "" : `; did you mean ${quote(meant)}?`;
}

function* textKeys(
  entries: Iterable<[key: Uint8Array, value: unknown]> | undefined,
): Generator<string> {
  const decoder = new TextDecoder();
  for (const [key] of entries ?? []) yield decoder.decode(key);
}

function levels(count: number): string {
  return count === 1 ? "1 level" : `${count} levels`;
}
