/**
 * Texts from outside as values: what the settings and the command line share.
 *
 * @module
 */

import { formatGoDuration, parseGoDuration } from "./duration.ts";

/** Reads one kind of value. */
export interface ValueParser<T> {
  /** What is accepted, such as `a port number from 0 to 65535`. */
  readonly expected: string;
  /** The value, or `undefined` when `text` is not accepted. */
  parse(text: string): T | undefined;
  /** The text that {@linkcode ValueParser.parse} reads as `value`. */
  format(value: T): string;
}

/** The shape a text must have. */
export interface TextForm {
  /** Matches an accepted text; anchored, without the flag `g`. */
  readonly matches: RegExp;
  /** The form in words, such as `a host name`. */
  readonly expected: string;
}

/** Bounds of a number, both allowed. */
export interface NumberBounds {
  /** Least value; no bound when left out. */
  readonly min?: number;
  /** Greatest value; no bound when left out. */
  readonly max?: number;
}

/** Bounds of a duration as Go durations, both allowed. */
export interface DurationBounds {
  /**
   * Least duration.
   *
   * @default {"0s"}
   */
  readonly min?: string;
  /** Greatest duration; no bound when left out. */
  readonly max?: string;
}

/** Accepted words and what each stands for. */
export type ChoiceValues = Readonly<Record<string, string>>;

/** A key and its value. */
export type Pair = readonly [key: string, value: string];

const WHOLE_NUMBER = /^[+-]?(?:0|[1-9]\d*)$/;
const DECIMAL_NUMBER = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/;
const TRUE_WORDS = ["1", "t", "T", "TRUE", "true", "True"];
const FALSE_WORDS = ["0", "f", "F", "FALSE", "false", "False"];

/** Any text, or text of one form. */
export function textParser(form?: TextForm): ValueParser<string> {
  return {
    expected: form?.expected ?? "text",
    parse: (text) =>
      form === undefined || form.matches.test(text) ? text : undefined,
    format: (value) => value,
  };
}

/**
 * Whole numbers in decimal. Leading zeros are refused: some programs take them
 * for octal.
 */
export function integerParser(bounds: NumberBounds = {}): ValueParser<number> {
  return {
    expected: `a whole number${describeBounds(bounds.min, bounds.max)}`,
    parse(text) {
      const value = WHOLE_NUMBER.test(text) ? Number(text) : NaN;
      return Number.isSafeInteger(value) && isWithin(value, bounds)
        ? value + 0
        : undefined;
    },
    format: String,
  };
}

/** Port numbers; 0 asks the system for a free one. */
export function portParser(): ValueParser<number> {
  const bounds = { min: 0, max: 65535 };
  return {
    ...integerParser(bounds),
    expected: "a port number from 0 to 65535",
  };
}

/** Finite decimal numbers such as `0.8` or `1e6`. */
export function numberParser(bounds: NumberBounds = {}): ValueParser<number> {
  return {
    expected: `a number${describeBounds(bounds.min, bounds.max)}`,
    parse(text) {
      const value = DECIMAL_NUMBER.test(text) ? Number(text) : NaN;
      return Number.isFinite(value) && isWithin(value, bounds)
        ? value + 0
        : undefined;
    },
    format: String,
  };
}

/** The words that Go's `strconv.ParseBool` takes. */
export function booleanParser(): ValueParser<boolean> {
  return {
    expected: "true or false",
    parse(text) {
      if (TRUE_WORDS.includes(text)) return true;
      return FALSE_WORDS.includes(text) ? false : undefined;
    },
    format: String,
  };
}

/**
 * Go durations, as milliseconds.
 *
 * @throws {TypeError} When a bound is no duration.
 */
export function durationParser(
  bounds: DurationBounds = {},
): ValueParser<number> {
  const { min = "0s", max } = bounds;
  const minMs = boundMs(min);
  const limits = max === undefined
    ? { min: minMs }
    : { min: minMs, max: boundMs(max) };
  const shown = bounds.min === undefined && max === undefined
    ? ""
    : `,${describeBounds(min, max)}`;
  return {
    expected: `a duration such as 10s or 1h30m${shown}`,
    parse(text) {
      const ms = parseGoDuration(text);
      return ms !== undefined && isWithin(ms, limits) ? ms : undefined;
    },
    format: formatGoDuration,
  };
}

/** Options of {@linkcode choiceParser}. */
export interface ChoiceOptions {
  /**
   * Whether upper and lower case are the same.
   *
   * @default {false}
   */
  readonly ignoreCase?: boolean;
}

/** One word of a few; several words may stand for one value. */
export function choiceParser<const V extends ChoiceValues>(
  values: V,
  options: ChoiceOptions = {},
): ValueParser<V[keyof V]> {
  const fold = (word: string): string =>
    options.ignoreCase === true ? word.toLowerCase() : word;
  const words = Object.keys(values);
  const byWord = new Map<string, V[keyof V]>();
  for (const word of words) byWord.set(fold(word), values[word as keyof V]);
  return {
    expected: `one of ${words.join(", ")}`,
    parse: (text) => byWord.get(fold(text)),
    format: (value) => words.find((word) => values[word] === value) ?? value,
  };
}

/** Texts between commas; blanks around them are dropped, none may be empty. */
export function listParser(): ValueParser<readonly string[]> {
  return {
    expected: "a list such as first,second",
    parse: splitItems,
    format: (items) => items.join(","),
  };
}

/** Options of {@linkcode pairsParser}. */
export interface PairsOptions {
  /**
   * What stands between key and value; the first one counts.
   *
   * @default {":"}
   */
  readonly separator?: string;
}

/**
 * Keys with values between commas. A value may be empty and may hold the
 * separator; a key may come twice.
 */
export function pairsParser(
  options: PairsOptions = {},
): ValueParser<readonly Pair[]> {
  const separator = options.separator ?? ":";
  return {
    expected: `pairs such as key${separator}value,key2${separator}value2`,
    parse(text) {
      const pairs = splitItems(text)?.map((item) => splitPair(item, separator));
      return pairs?.every((pair) => pair !== undefined) ? pairs : undefined;
    },
    format: (pairs) => pairs.map((pair) => pair.join(separator)).join(","),
  };
}

function splitItems(text: string): readonly string[] | undefined {
  const items = text.split(",").map((item) => item.trim());
  return items.includes("") ? undefined : items;
}

function splitPair(item: string, separator: string): Pair | undefined {
  const position = item.indexOf(separator);
  const key = item.slice(0, Math.max(position, 0)).trim();
  if (key === "") return undefined;
  return [key, item.slice(position + separator.length).trim()];
}

function isWithin(value: number, { min, max }: NumberBounds): boolean {
  return value >= (min ?? -Infinity) && value <= (max ?? Infinity);
}

function describeBounds(min?: number | string, max?: number | string): string {
  if (min !== undefined && max !== undefined) return ` from ${min} to ${max}`;
  if (min !== undefined) return ` of ${min} or more`;
  return max === undefined ? "" : ` of ${max} or less`;
}

function boundMs(text: string): number {
  const ms = parseGoDuration(text);
  if (ms === undefined) {
    throw new TypeError(`Cannot use bound: "${text}" is not a duration`);
  }
  return ms;
}
