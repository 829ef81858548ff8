/**
 * The kinds of command-line flags.
 *
 * @module
 */

import {
  booleanParser,
  choiceParser,
  type ChoiceValues,
  type DurationBounds,
  durationParser,
  integerParser,
  type NumberBounds,
  textParser,
  type ValueParser,
} from "./value_parsers.ts";

/** What the texts given for a flag mean. */
export type FlagReading<T> =
  | { readonly kind: "ok"; readonly value: T }
  | {
    readonly kind: "bad";
    /** The text that is not accepted. */
    readonly text: string;
  };

/** One flag of a command line. */
export interface Flag<T> {
  /** What it does. */
  readonly help: string;
  /** Other names of it. */
  readonly aliases: readonly string[];
  /** Whether the command line must have it. */
  readonly required: boolean;
  /** Whether it may come several times, each time with another value. */
  readonly repeatable: boolean;
  /** What is accepted, in words. */
  readonly expected: string;
  /** Stands for the value in the help; empty when it takes none. */
  readonly valueName: string;
  /** The value when the flag stands alone; `undefined` when it needs one. */
  readonly bareText: string | undefined;
  /** The default as text; `undefined` when there is none. */
  readonly defaultText: string | undefined;
  /** The value of the texts it was given, in their order; maybe none. */
  read(texts: readonly string[]): FlagReading<T>;
}

/** What every kind of flag takes. */
export interface FlagOptions {
  /** What it does. */
  readonly help: string;
  /**
   * Other names of it, such as `n`.
   *
   * @default {[]}
   */
  readonly aliases?: readonly string[];
  /** Stands for the value in the help; the kind's own word when left out. */
  readonly valueName?: string;
}

/** A flag that has a value when it is not given. */
export interface FlagDefault<D> {
  /** The value when the flag is not given. */
  readonly default: D;
}

/** A flag that must be given. */
export interface FlagRequired {
  /** Whether the command line must have it. */
  readonly required: true;
}

/** Options of {@linkcode choiceFlag}. */
export interface ChoiceFlagOptions<V extends ChoiceValues> extends FlagOptions {
  /** Accepted words and what each stands for. */
  readonly values: V;
}

/** Options of {@linkcode integerFlag}. */
export interface IntegerFlagOptions extends FlagOptions, NumberBounds {}

/** Options of {@linkcode durationFlag}. */
export interface DurationFlagOptions extends FlagOptions, DurationBounds {}

/** A flag that always has a value: by default, or because it must be given. */
export type FlagAlways<D> = FlagDefault<D> | FlagRequired;
type Any<D> = FlagOptions & Partial<FlagDefault<D> & FlagRequired>;

/** A text. */
export function textFlag(
  options: FlagOptions & FlagAlways<string>,
): Flag<string>;
/** A text that may be missing. */
export function textFlag(options: FlagOptions): Flag<string | undefined>;
export function textFlag(options: Any<string>): Flag<string | undefined> {
  return single(textParser(), options, options.default, "text");
}

/** A whole number. */
export function integerFlag(
  options: IntegerFlagOptions & FlagAlways<number>,
): Flag<number>;
/** A whole number that may be missing. */
export function integerFlag(
  options: IntegerFlagOptions,
): Flag<number | undefined>;
export function integerFlag(
  options: IntegerFlagOptions & Any<number>,
): Flag<number | undefined> {
  return single(integerParser(options), options, options.default, "number");
}

/** A Go duration; the value is in milliseconds, the default a duration. */
export function durationFlag(
  options: DurationFlagOptions & FlagAlways<string>,
): Flag<number>;
/** A duration that may be missing. */
export function durationFlag(
  options: DurationFlagOptions,
): Flag<number | undefined>;
export function durationFlag(
  options: DurationFlagOptions & Any<string>,
): Flag<number | undefined> {
  const parser = durationParser(options);
  const text = options.default;
  if (text === undefined) return single(parser, options, undefined, "duration");
  const fallback = parser.parse(text);
  if (fallback === undefined) {
    throw new TypeError(
      `Cannot declare flag: default "${text}" is not ${parser.expected}`,
    );
  }
  return {
    ...single(parser, options, fallback, "duration"),
    defaultText: text,
  };
}

/** One word of a few; the value is what the word stands for. */
export function choiceFlag<const V extends ChoiceValues>(
  options: ChoiceFlagOptions<V> & FlagAlways<NoInfer<V[keyof V]>>,
): Flag<V[keyof V]>;
/** A choice that may be missing. */
export function choiceFlag<const V extends ChoiceValues>(
  options: ChoiceFlagOptions<V>,
): Flag<V[keyof V] | undefined>;
export function choiceFlag<const V extends ChoiceValues>(
  options: ChoiceFlagOptions<V> & Any<V[keyof V]>,
): Flag<V[keyof V] | undefined> {
  const parser = choiceParser(options.values);
  const words = Object.keys(options.values).join("|");
  return single(parser, options, options.default, words);
}

/** A text that may come several times; none gives an empty list. */
export function repeatedFlag(
  options: FlagOptions & Partial<FlagRequired>,
): Flag<readonly string[]> {
  return {
    ...describe(textParser(), options, "text"),
    repeatable: true,
    defaultText: undefined,
    read: (texts) => ({ kind: "ok", value: texts }),
  };
}

/** Off unless given; `--name=false` switches it off again. */
export function switchFlag(options: FlagOptions): Flag<boolean> {
  const flag = single(booleanParser(), options, false, "");
  return { ...flag, bareText: "true", defaultText: undefined };
}

/**
 * The form in which names of flags are compared and shown: `dialString`,
 * `dial_string` and `dial-string` are all `dial-string`.
 */
export function flagName(name: string): string {
  return name.replaceAll("_", "-")
    .replace(/[a-z0-9](?=[A-Z])/g, "$&-")
    .toLowerCase();
}

function single<T, D extends T | undefined>(
  parser: ValueParser<T>,
  options: FlagOptions & Partial<FlagRequired>,
  fallback: D,
  valueName: string,
): Flag<T | D> {
  return {
    ...describe(parser, options, valueName),
    defaultText: fallback === undefined ? undefined : parser.format(fallback),
    read(texts) {
      const text = texts.at(-1);
      if (text === undefined) return { kind: "ok", value: fallback };
      const value = parser.parse(text);
      return value === undefined
        ? { kind: "bad", text }
        : { kind: "ok", value };
    },
  };
}

type Description = Omit<Flag<unknown>, "read" | "defaultText">;

function describe(
  parser: ValueParser<unknown>,
  options: FlagOptions & Partial<FlagRequired>,
  valueName: string,
): Description {
  return {
    help: options.help,
    aliases: options.aliases ?? [],
    required: options.required ?? false,
    repeatable: false,
    expected: parser.expected,
    valueName: options.valueName ?? valueName,
    bareText: undefined,
  };
}
