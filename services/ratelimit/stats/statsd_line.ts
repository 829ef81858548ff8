/**
 * Writes the statsd line protocol: `name:value|type`, one statistic a line.
 *
 * @module
 */

import type { TimerIntervalValues } from "./stat_cell.ts";
import { statSegment } from "./stats.ts";
import type { StatChange } from "./stats_reader.ts";

/** Tags by key. */
export type StatTags = Readonly<Record<string, string>>;

/** A name in the form in which it is sent. */
export interface StatsdName {
  /** The text before the value. */
  readonly name: string;
  /** The text at the end of the line, such as tags. */
  readonly ending: string;
}

const tagMark = ".__";

/**
 * Splits a name from the tags at its end, each `.__key=value`. A part that
 * begins with `__` and is no tag, as one of a caller may be, stays in the name.
 */
export function splitTags(name: string): {
  readonly bare: string;
  readonly tags: readonly (readonly [key: string, value: string])[];
} {
  if (!name.includes(tagMark)) return { bare: name, tags: [] };
  const [bare = "", ...tags] = name.split(/\.__(?=[^.=]+=)/);
  return {
    bare,
    tags: tags.map((tag) => {
      const equals = tag.indexOf("=");
      return [tag.slice(0, equals), tag.slice(equals + 1)];
    }),
  };
}

/**
 * Returns a function that appends tags to a name as `.__key=value`, sorted by
 * key. A tag the name has already stays and is sorted in; of two with the same
 * key the name's own wins. Dots and `=` in keys and dots in values become `_`.
 */
export function nameTagger(tags: StatTags): (name: string) => string {
  const common = new Map<string, string>();
  for (const [rawKey, rawValue] of Object.entries(tags)) {
    const key = statSegment(rawKey).replace(/[.=]/g, "_");
    const value = statSegment(rawValue).replaceAll(".", "_");
    common.set(key, `${key}=${value}`);
  }
  if (common.size === 0) return (name) => name;
  const tagText = joinTags(common);
  return (name) => {
    const { bare, tags } = splitTags(name);
    if (tags.length === 0) return name + tagText;
    const all = new Map(common);
    for (const [key, value] of tags) all.set(key, `${key}=${value}`);
    return bare + joinTags(all);
  };
}

/**
 * Returns the lines for one change, without line ends: a counter by how much it
 * grew (`c`), a gauge (`g`), and each sample of a timer in milliseconds (`ms`,
 * with `|@rate` when the samples stand for more).
 *
 * @param shown The name to write, with its tags.
 */
export function statsdLines(
  shown: StatsdName,
  change: StatChange,
): readonly string[] {
  const { name, ending } = shown;
  if (change.kind === "timer") return timerLines(shown, change.interval);
  if (change.kind === "counter") {
    return [`${name}:${decimalText(change.increase)}|c${ending}`];
  }
  const line = `${name}:${decimalText(change.value)}|g${ending}`;
  // A sign would make the gauge relative, so a negative value takes two lines:
  // 0, and then the value.
  return change.value < 0 ? [`${name}:0|g${ending}`, line] : [line];
}

function timerLines(
  { name, ending }: StatsdName,
  { count, samplesMs }: TimerIntervalValues,
): readonly string[] {
  const rate = samplesMs.length < count
    ? `|@${decimalText(Math.max(samplesMs.length / count, 0.000001))}`
    : "";
  return samplesMs.map((ms) => `${name}:${decimalText(ms)}|ms${rate}${ending}`);
}

function joinTags(tags: ReadonlyMap<string, string>): string {
  return [...tags.keys()].sort().map((key) => tagMark + tags.get(key)).join("");
}

/** Packs lines, each with a line end, into a payload until it is full. */
export class LinePacker {
  readonly #encoder = new TextEncoder();
  readonly #buffer: Uint8Array;
  #length = 0;

  /** Makes a packer whose payloads have at most `maxBytes`. */
  constructor(maxBytes: number) {
    this.#buffer = new Uint8Array(maxBytes);
  }

  /** Adds a line; false, without a change, when it does not fit. */
  add(line: string): boolean {
    const text = `${line}\n`;
    const free = this.#buffer.subarray(this.#length);
    const { read, written } = this.#encoder.encodeInto(text, free);
    if (read < text.length) return false;
    this.#length += written;
    return true;
  }

  /**
   * Returns what is packed so far and empties the packer; undefined when empty.
   */
  take(): Uint8Array | undefined {
    if (this.#length === 0) return undefined;
    const payload = this.#buffer.slice(0, this.#length);
    this.#length = 0;
    return payload;
  }
}

/**
 * Writes a finite number in plain decimal form with at most six places after
 * the point (`1e21` becomes `1000000000000000000000`, `-0` becomes `0`).
 */
export function decimalText(value: number): string {
  if (Math.abs(value) >= 1e21) return BigInt(Math.round(value)).toString();
  return String(Number.isInteger(value) ? value : Number(value.toFixed(6)));
}
