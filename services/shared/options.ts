/**
 * The kinds of options of a program. A service declares with them its table of
 * settings, which come from the environment; a command its table of flags,
 * which come from the command line.
 *
 * An option with neither a default nor `required` may be missing: its value is
 * `undefined` then.
 *
 * @module
 */

import { exactMs, formatDuration, parseDuration } from "./duration.ts";
import { parseGoDuration } from "./go_duration.ts";

/** One setting or flag: how its text is parsed, and what it means. */
export interface Option<T> {
  /** Name of the variable of the environment; empty for a flag. */
  readonly name: string;
  /** Other names of it. */
  readonly aliases: readonly string[];
  /** Heading it stands under in help and README. */
  readonly group: string;
  /** What it does, in one or two sentences. */
  readonly help: string;
  /** Whether its value must never be shown. */
  readonly secret: boolean;
  /** Whether the command line must have it. */
  readonly required: boolean;
  /** Whether it may come several times; its values are joined to one list. */
  readonly repeatable: boolean;
  /** What is accepted, in words. */
  readonly expected: string;
  /**
   * Stands for the value in the help of a command; empty when it takes none.
   */
  readonly valueName: string;
  /** The value of a flag that stands alone; `undefined` when it needs one. */
  readonly bareText: string | undefined;
  /** The default as text; `undefined` without one. */
  readonly defaultText: string | undefined;
  /** The value when nothing is given. */
  readonly fallback: T;
  /** The value of a text; `undefined` when it is not accepted. */
  parse(text: string): T | undefined;
}

/** Options by the name the program knows them under, such as `dialString`. */
export type OptionTable = Readonly<Record<string, Option<unknown>>>;

/** The values of a table, each with its type. */
export type OptionValues<T extends OptionTable> = {
  readonly [K in keyof T]: T[K] extends Option<infer V> ? V : never;
};

/** The same options under one heading of help and README. */
export function inGroup<T extends OptionTable>(group: string, table: T): T {
  const entries = Object.entries(table)
    .map(([name, option]) => [name, { ...option, group }]);
  return Object.fromEntries(entries) as T;
}

/** What every kind of option takes. */
interface OptionDescription {
  /**
   * Name of the variable of the environment.
   *
   * @default {""}
   */
  readonly name?: string;
  /**
   * Other names of it.
   *
   * @default {[]}
   */
  readonly aliases?: readonly string[];
  /**
   * Heading it stands under in help and README.
   *
   * @default {"General"}
   */
  readonly group?: string;
  /** What it does, in one or two sentences. */
  readonly help: string;
  /**
   * Whether its value must never be shown: a password, a key.
   *
   * @default {false}
   */
  readonly secret?: boolean;
  /** Stands for the value in the help; the kind's own word when left out. */
  readonly valueName?: string;
}

/** Whether an option always has a value. */
interface Presence<D, R extends boolean> {
  /** The value when nothing is given. */
  readonly default?: D;
  /**
   * Whether the command line must have it.
   *
   * @default {false}
   */
  readonly required?: R;
}

/** The value of an option of type `T` with that {@linkcode Presence}. */
type OptionValue<T, D, R extends boolean> = undefined extends D
  ? R extends true ? T : T | undefined
  : T;

/** The shape a text must have. */
interface TextForm {
  /** Matches an accepted text; anchored, without the flag `g`. */
  readonly matches: RegExp;
  /** The form in words, such as `a host name`. */
  readonly expected: string;
}

/** Bounds of a number, both allowed. */
interface NumberBounds {
  /** Least value; no bound when left out. */
  readonly min?: number;
  /** Greatest value; no bound when left out. */
  readonly max?: number;
}

/** Bounds of a duration, written as durations, both allowed. */
interface DurationBounds {
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
type ChoiceValues = Readonly<Record<string, string>>;

/** A key and its value. */
type Pair = readonly [key: string, value: string];

/**
 * Makes options of one kind; whether their value may be missing follows from
 * what they are made of.
 */
type OptionMaker<T, Extra = unknown> = <
  D extends T | undefined = undefined,
  R extends boolean = false,
>(
  options: OptionDescription & Presence<D, R> & Extra,
) => Option<OptionValue<T, D, R>>;

const WHOLE_NUMBER = /^[+-]?(?:0|[1-9]\d*)$/;
const DECIMAL_NUMBER = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/;
const TRUE_WORDS = ["1", "t", "T", "TRUE", "true", "True"];
const FALSE_WORDS = ["0", "f", "F", "FALSE", "false", "False"];

/** A text: any, or only text of one form. */
export const textOption: OptionMaker<string, { readonly form?: TextForm }> =
  createMaker(({ form }) => ({
    expected: form?.expected ?? "text",
    valueName: "text",
    parse: (text) =>
      form === undefined || form.matches.test(text) ? text : undefined,
  }));

/** A text that may come several times; none gives an empty list. */
export function repeatedOption(
  options: OptionDescription & { readonly required?: boolean },
): Option<readonly string[]> {
  return {
    ...textOption({ ...options, required: true }),
    required: options.required ?? false,
    repeatable: true,
    fallback: [],
    parse: (text) => [text],
  };
}

/** A port number; 0 asks the system for a free one. */
export const portOption: OptionMaker<number> = createMaker<number, unknown>(
  () => ({
    expected: "a port number from 0 to 65535",
    valueName: "port",
    parse: (text) => parseInteger(text, { min: 0, max: 65_535 }),
  }),
);

/**
 * A whole number in decimal. Leading zeros are refused: some programs take them
 * for octal.
 */
export const integerOption: OptionMaker<number, NumberBounds> = createMaker(
  (bounds) => ({
    expected: `a whole number${describeBounds(bounds.min, bounds.max)}`,
    valueName: "number",
    parse: (text) => parseInteger(text, bounds),
  }),
);

/** A finite decimal number such as `0.8` or `1e6`. */
export const numberOption: OptionMaker<number, NumberBounds> = createMaker(
  (bounds) => ({
    expected: `a number${describeBounds(bounds.min, bounds.max)}`,
    valueName: "number",
    parse(text) {
      const value = DECIMAL_NUMBER.test(text) ? Number(text) : NaN;
      return Number.isFinite(value) && isWithin(value, bounds)
        ? value + 0
        : undefined;
    },
  }),
);

/** Yes or no, in the words of Go's `strconv.ParseBool`. */
export const booleanOption: OptionMaker<boolean> = createMaker<
  boolean,
  unknown
>(
  () => ({
    expected: "true or false",
    valueName: "boolean",
    parse(text) {
      if (TRUE_WORDS.includes(text)) return true;
      return FALSE_WORDS.includes(text) ? false : undefined;
    },
  }),
);

/** A flag that is off unless given; `--name=false` switches it off again. */
export function switchOption(options: OptionDescription): Option<boolean> {
  return {
    ...booleanOption({ ...options, default: false }),
    valueName: "",
    bareText: "true",
    defaultText: undefined,
  };
}

/**
 * A duration, as Go or {@linkcode parseDuration} reads it; a day has 24 hours,
 * and months have no certain length and are refused. The value is in
 * milliseconds, the default and the bounds are written as durations.
 *
 * @throws {TypeError} When the default or a bound is not a duration.
 */
export function durationOption<
  D extends string | undefined = undefined,
  R extends boolean = false,
>(
  options: OptionDescription & DurationBounds & Presence<D, R>,
): Option<OptionValue<number, D, R>> {
  const { default: text, min, max, ...rest } = options;
  const bounds = {
    min: durationMs(min ?? "0s"),
    max: max === undefined ? Infinity : durationMs(max),
  };
  const shown = min === undefined && max === undefined
    ? ""
    : `,${describeBounds(min ?? "0s", max)}`;
  const parse = (given: string): number | undefined => {
    const ms = parseMs(given);
    return ms !== undefined && isWithin(ms, bounds) ? ms : undefined;
  };
  const fallback = text === undefined ? undefined : durationMs(text);
  return build({ ...rest, default: fallback }, {
    expected: `a duration such as 10s or 1h30m${shown}`,
    valueName: "duration",
    // The default is shown as it is written.
    format: () => text ?? "",
    parse,
  }) as Option<OptionValue<number, D, R>>;
}

/**
 * A duration that may have days and months of the calendar, as
 * {@linkcode parseDuration} reads it; the value is its ISO 8601 text.
 */
export function calendarDurationOption(
  options: OptionDescription,
): Option<string | undefined> {
  const parse = (given: string): string | undefined => {
    const outcome = parseDuration(given);
    return outcome.kind === "ok" ? formatDuration(outcome.duration) : undefined;
  };
  return build({ ...options, default: undefined }, {
    expected: "a duration such as 30s, 1h30m, 1d or P1M",
    valueName: "duration",
    format: (text) => text,
    parse,
  }) as Option<string | undefined>;
}

/**
 * One word of a few; the value is what the word stands for, and several words
 * may stand for one value. With the default `""` it is empty when nothing was
 * chosen.
 */
export function choiceOption<
  const V extends ChoiceValues,
  D extends NoInfer<V[keyof V]> | "" | undefined = undefined,
  R extends boolean = false,
>(
  options: OptionDescription & Presence<D, R> & {
    /** Accepted words and what each stands for. */
    readonly values: V;
    /** Whether upper and lower case are the same. */
    readonly ignoreCase?: boolean;
  },
): Option<OptionValue<V[keyof V] | (D extends "" ? "" : never), D, R>> {
  const { values, ignoreCase = false } = options;
  const fold = (word: string): string => ignoreCase ? word.toLowerCase() : word;
  const words = Object.keys(values);
  const byWord = new Map<string, string>();
  for (const word of words) byWord.set(fold(word), values[word]!);
  type Value = V[keyof V] | (D extends "" ? "" : never);
  return build<Value, D & Value, R>(
    options as typeof options & Presence<D & Value, R>,
    {
      expected: `one of ${words.join(", ")}`,
      valueName: words.join("|"),
      parse: (text) => byWord.get(fold(text)) as Value | undefined,
      format: (value) => words.find((word) => values[word] === value) ?? value,
    },
  ) as Option<OptionValue<Value, D, R>>;
}

/** Texts between commas; blanks around them are dropped, none may be empty. */
export const listOption: OptionMaker<readonly string[]> = createMaker<
  readonly string[],
  unknown
>(() => ({
  expected: "a list such as first,second",
  valueName: "list",
  parse: splitItems,
  format: (items) => items.join(","),
}));

/**
 * Keys with values between commas: `k1:v1,k2:v2`. A value may be empty and may
 * hold the separator, of which the first counts; a key may come twice.
 */
export const pairsOption: OptionMaker<
  readonly Pair[],
  {
    /** What stands between key and value; a colon when left out. */
    readonly separator?: string;
  }
> = createMaker(({ separator = ":" }) => ({
  expected: `pairs such as key${separator}value,key2${separator}value2`,
  valueName: "pairs",
  parse(text) {
    const pairs = splitItems(text)?.map((item) => splitPair(item, separator));
    return pairs?.every((pair) => pair !== undefined) ? pairs : undefined;
  },
  format: (pairs) => pairs.map((pair) => pair.join(separator)).join(","),
}));

/** What differs between kinds of options. */
interface Kind<T> {
  readonly expected: string;
  readonly valueName: string;
  readonly parse: (text: string) => T | undefined;
  /** The text that is read as `value`; `String` when left out. */
  readonly format?: (value: T) => string;
}

function createMaker<T, Extra>(
  toKind: (options: Extra) => Kind<T>,
): OptionMaker<T, Extra> {
  return (options) => build(options, toKind(options));
}

function build<T, D, R extends boolean>(
  options: OptionDescription & Presence<D, R>,
  kind: Kind<T>,
): Option<OptionValue<T, D, R>> {
  const { format = String, parse, expected } = kind;
  const fallback = options.default as T | undefined;
  const defaultText = fallback === undefined ? undefined : format(fallback);
  const option: Option<T | undefined> = {
    name: options.name ?? "",
    aliases: options.aliases ?? [],
    group: options.group ?? "General",
    help: options.help,
    secret: options.secret ?? false,
    required: options.required ?? false,
    repeatable: false,
    expected,
    valueName: options.valueName ?? kind.valueName,
    bareText: undefined,
    defaultText,
    fallback,
    parse,
  };
  // An empty text counts as unset, so as a default it stands for itself.
  const isReadable = defaultText === undefined || defaultText === "" ||
    parse(defaultText) !== undefined;
  if (!isReadable) {
    const name = option.name === "" ? "" : ` ${option.name}`;
    throw new TypeError(
      `Cannot declare option${name}: ` +
        `default "${defaultText}" is not ${expected}`,
    );
  }
  return option as Option<OptionValue<T, D, R>>;
}

function parseInteger(text: string, bounds: NumberBounds): number | undefined {
  const value = WHOLE_NUMBER.test(text) ? Number(text) : NaN;
  return Number.isSafeInteger(value) && isWithin(value, bounds)
    ? value + 0
    : undefined;
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

/** Go's own reading comes first, since it is exact below a millisecond. */
function parseMs(text: string): number | undefined {
  const ms = parseGoDuration(text);
  if (ms !== undefined) return ms;
  const outcome = parseDuration(text);
  return outcome.kind === "ok" ? exactMs(outcome.duration) : undefined;
}

function durationMs(text: string): number {
  const ms = parseMs(text);
  if (ms === undefined) {
    throw new TypeError(`Cannot declare option: "${text}" is not a duration`);
  }
  return ms;
}
