/**
 * What a statistic may be called. Parts of a name come from callers (the value
 * of a descriptor, an unknown domain), so a name must not be able to break out
 * of its line, forge a tag or grow without end.
 *
 * @module
 */

import { createHash } from "node:crypto";

/** The longest name of a statistic, in UTF-16 code units. */
export const maxStatNameLength = 512;

const hashLength = 16;

// `:` and `|` separate the fields of a statsd line; a control character or a
// line separator would end it.
const separators = /[:|\p{Cc}\p{Zl}\p{Zp}]/gu;

// Four or more short numbers in a row. Longer runs are taken whole, so that a
// second pass finds nothing more to change.
const dottedNumbers = /(?<!\d)\d{1,3}(?:\.\d{1,3}){3,}(?!\d)/g;

const tagMark = /(^|\.)_{2,}/g;

/**
 * Makes `text` fit to be a part of a name: `:`, `|`, control characters and
 * line separators become `_`, and so do the dots of IPv4 addresses; other dots
 * stay. What would read as a tag (`.__key=value`) loses its underscores, so
 * that a caller's value cannot add tags. Does not limit the length: the
 * registry does that for the whole name.
 */
export function statSegment(text: string): string {
  const clean = cleanText(text);
  return clean.includes("=") ? clean.replace(tagMark, "$1") : clean;
}

/**
 * Makes a whole dotted name fit: as {@linkcode statSegment}, but tags
 * (`.__key=value`) stay, and a name over `maxLength` code units is cut and
 * ends in a hash of the whole, so that two long names stay two.
 *
 * @param maxLength Longest result, at least 32.
 */
export function statName(
  name: string,
  maxLength: number = maxStatNameLength,
): string {
  const clean = cleanText(name);
  if (clean.length <= maxLength) return clean;
  const hash = createHash("sha256").update(clean).digest("hex")
    .slice(0, hashLength);
  const head = clean.slice(0, maxLength - hashLength - 1);
  return `${dropHalfPair(head)}_${hash}`;
}

function cleanText(text: string): string {
  return text.replace(separators, "_").replace(
    dottedNumbers,
    (run) => run.replaceAll(".", "_"),
  );
}

function dropHalfPair(text: string): string {
  const last = text.charCodeAt(text.length - 1);
  return last >= 0xd800 && last <= 0xdbff ? text.slice(0, -1) : text;
}
