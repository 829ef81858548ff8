/**
 * Reads a counter key back: the entries of the descriptor that it counts.
 *
 * @module
 */

import type { CounterKeyFormat } from "./counter_key.ts";
import type { Rule } from "./snapshot.ts";
import { UNIT_WORDS } from "./unit.ts";

/**
 * Returns the entries of a descriptor that counts by a key, as key and value. A
 * level with `share_threshold` has its pattern for a value. Undefined for a key
 * that no descriptor of the rule has.
 *
 * Keys in the format `reference` may be read in several ways, of which this is
 * one.
 *
 * @param key The key, without the start of its window.
 */
export function counterKeyEntries(
  key: string,
  { rule, format }: {
    /** The rule that counts by the key. */
    readonly rule: Pick<Rule, "domain" | "levels" | "limit" | "label">;
    /** How the key is written. */
    readonly format: CounterKeyFormat;
  },
): readonly (readonly [key: string, value: string])[] | undefined {
  const { levels, limit, label } = rule;
  const escape = (text: string): string =>
    format === "escaped" ? text.replace(/[_\\]/g, "\\$&") : text;
  const isNamed = limit !== undefined &&
    (format === "escaped" || label !== "" ||
      !UNIT_WORDS.includes(limit.window));
  const ending = isNamed ? `_${limit.window}_` : "_";
  // The prefix of all keys may hold anything.
  const head = `${escape(rule.domain)}_${escape(levels[0]?.key ?? "")}_`;
  const start = key.indexOf(head);
  if (start === -1 || !key.endsWith(ending)) return undefined;
  let rest = key.slice(start + head.length, key.length - ending.length);
  const entries: [string, string][] = [];
  for (const [index, level] of levels.entries()) {
    const next = levels[index + 1];
    const until = next === undefined
      ? rest.length
      : findSeparator(rest, `_${escape(next.key)}_`);
    if (until === -1) return undefined;
    const value = rest.slice(0, until);
    entries.push([
      level.key,
      format === "escaped" ? value.replace(/\\([_\\])/g, "$1") : value,
    ]);
    if (next !== undefined) {
      rest = rest.slice(until + escape(next.key).length + 2);
    }
  }
  return entries;
}

/** Finds a text that begins with an underscore which is not escaped. */
function findSeparator(text: string, part: string): number {
  let at = text.indexOf(part);
  while (at !== -1 && isEscaped(text, at)) at = text.indexOf(part, at + 1);
  return at;
}

function isEscaped(text: string, at: number): boolean {
  let backslashes = 0;
  while (text[at - 1 - backslashes] === "\\") backslashes++;
  return backslashes % 2 === 1;
}
