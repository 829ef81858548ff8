/**
 * Paths of statistics: the part of a name between `rate_limit.` and the
 * statistic itself, which tells the rule or the descriptor.
 *
 * @module
 */

import type { RequestView } from "../../../proto/request_view.ts";
import { formatKeyValue, type Rule } from "../rules/snapshot.ts";
import { statPath } from "../stats/stats.ts";

/** A descriptor within its request. */
interface DescriptorOfRequest {
  /** The request. */
  readonly view: RequestView;
  /** Index of the descriptor. */
  readonly descriptor: number;
}

/** Returns the path of a rule that is the same for every request. */
export function fixedStatPath(rule: Rule): string {
  return statPath([
    rule.domain,
    ...rule.levels.map(formatKeyValue),
    ...toLabel(rule),
  ]);
}

/**
 * Returns the last level of a path: of a rule with others beside it, what tells
 * it from them.
 */
function toLabel({ label }: Rule): readonly string[] {
  return label === "" ? [] : [label];
}

/**
 * Returns the path of a rule whose statistics show values of the request: at
 * every level with `detailed_metric`, else at the levels with
 * `value_to_metric`. A level with `share_threshold` shows its pattern in either
 * case.
 */
export function ruleStatPath(rule: Rule, from: DescriptorOfRequest): string {
  const { view, descriptor } = from;
  const first = view.firstEntry(descriptor);
  return statPath([
    rule.domain,
    ...rule.levels.map((level, index) => {
      const showsValue = !level.shareThreshold &&
        (rule.detailedMetric || level.valueToMetric);
      return showsValue
        ? entryText(view, first + index)
        : formatKeyValue(level);
    }),
    ...toLabel(rule),
  ]);
}

/** Returns the path of a limit that came with the request. */
export function overrideStatPath(
  domain: string,
  from: DescriptorOfRequest,
): string {
  const { view, descriptor } = from;
  const segments: string[] = [];
  const last = view.lastEntry(descriptor);
  for (let entry = view.firstEntry(descriptor); entry < last; entry++) {
    segments.push(entryText(view, entry));
  }
  return statPath([domain, ...segments]);
}

function entryText(view: RequestView, entry: number): string {
  const key = view.keyText(entry);
  const value = view.valueText(entry);
  return value === "" ? key : `${key}_${value}`;
}
