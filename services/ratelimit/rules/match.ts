/**
 * Which rule a descriptor of a request falls under.
 *
 * @module
 */

import type { RequestView } from "../../../proto/request_view.ts";
import type { DomainRules, KeyRules, RuleNode, RuleTable } from "./snapshot.ts";

/**
 * Walks the entries of `descriptor` down the levels: at each one the exact
 * value is tried first, then the wildcards in the order of the file, then the
 * key alone. There is no way back to another branch.
 *
 * @returns The node at the last entry; undefined when there is none, or when
 * the descriptor is longer than the configuration.
 */
export function matchDescriptor(
  domain: DomainRules,
  view: RequestView,
  descriptor: number,
): RuleNode | undefined {
  const bytes = view.bytes;
  const last = view.lastEntry(descriptor);
  let table: RuleTable | undefined = domain.table;
  let node: RuleNode | undefined;
  for (let entry = view.firstEntry(descriptor); entry < last; entry++) {
    const rules: KeyRules | undefined = table?.keys.get(
      bytes,
      view.keyStart(entry),
      view.keyEnd(entry),
    );
    if (rules === undefined) return undefined;
    node = matchValue(rules, {
      bytes,
      start: view.valueStart(entry),
      end: view.valueEnd(entry),
    });
    if (node === undefined) return undefined;
    table = node.children;
  }
  return node;
}

interface ByteRange {
  readonly bytes: Uint8Array;
  readonly start: number;
  readonly end: number;
}

function matchValue(rules: KeyRules, value: ByteRange): RuleNode | undefined {
  const { bytes, start, end } = value;
  const exact = rules.exact.get(bytes, start, end);
  if (exact !== undefined) return exact;
  for (const { wildcard, node } of rules.wildcards) {
    if (wildcard.matches(bytes, start, end)) return node;
  }
  return rules.any;
}
