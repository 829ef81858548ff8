/**
 * The kinds of settings: what a service writes its table with.
 *
 * A setting without a default is optional: its value is `undefined` when the
 * variable is not set.
 *
 * @module
 */

import type { Setting } from "./settings_types.ts";
import {
  booleanParser,
  choiceParser,
  type ChoiceValues,
  type DurationBounds,
  durationParser,
  integerParser,
  listParser,
  type NumberBounds,
  numberParser,
  type Pair,
  pairsParser,
  portParser,
  type TextForm,
  textParser,
  type ValueParser,
} from "./value_parsers.ts";

/** What every kind of setting takes. */
export interface SettingOptions {
  /** Name of the variable. */
  readonly name: string;
  /**
   * Other names it is read under.
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
   * Whether its value must never be shown.
   *
   * @default {false}
   */
  readonly secret?: boolean;
}

/** A setting that always has a value. */
export interface WithDefault<D> {
  /** The value when the variable is not set. */
  readonly default: D;
}

/** Options of {@linkcode textSetting}. */
export interface TextSettingOptions extends SettingOptions {
  /** The form the text must have; any text when left out. */
  readonly form?: TextForm;
}

/** Options of {@linkcode integerSetting} and {@linkcode numberSetting}. */
export interface NumberSettingOptions extends SettingOptions, NumberBounds {}

/** Options of {@linkcode durationSetting}. */
export interface DurationSettingOptions
  extends SettingOptions, DurationBounds {}

/** Options of {@linkcode choiceSetting}. */
export interface ChoiceSettingOptions<V extends ChoiceValues>
  extends SettingOptions {
  /** Accepted words and what each stands for. */
  readonly values: V;
  /**
   * Whether upper and lower case are the same.
   *
   * @default {false}
   */
  readonly ignoreCase?: boolean;
}

/** Options of {@linkcode pairsSetting}. */
export interface PairsSettingOptions extends SettingOptions {
  /**
   * What stands between key and value.
   *
   * @default {":"}
   */
  readonly separator?: string;
}

type Maybe<D> = Partial<WithDefault<D>>;

/** A text. */
export function textSetting(
  options: TextSettingOptions & WithDefault<string>,
): Setting<string>;
/** A text that may be missing. */
export function textSetting(
  options: TextSettingOptions,
): Setting<string | undefined>;
export function textSetting(
  options: TextSettingOptions & Maybe<string>,
): Setting<string | undefined> {
  return build(textParser(options.form), options, options.default);
}

/** A text that is never shown: a password, a key. */
export function secretSetting(
  options: TextSettingOptions & WithDefault<string>,
): Setting<string>;
/** A secret that may be missing. */
export function secretSetting(
  options: TextSettingOptions,
): Setting<string | undefined>;
export function secretSetting(
  options: TextSettingOptions & Maybe<string>,
): Setting<string | undefined> {
  return textSetting({ ...options, secret: true });
}

/** A port number from 0 to 65535. */
export function portSetting(
  options: SettingOptions & WithDefault<number>,
): Setting<number>;
/** A port number that may be missing. */
export function portSetting(
  options: SettingOptions,
): Setting<number | undefined>;
export function portSetting(
  options: SettingOptions & Maybe<number>,
): Setting<number | undefined> {
  return build(portParser(), options, options.default);
}

/** A whole number. */
export function integerSetting(
  options: NumberSettingOptions & WithDefault<number>,
): Setting<number>;
/** A whole number that may be missing. */
export function integerSetting(
  options: NumberSettingOptions,
): Setting<number | undefined>;
export function integerSetting(
  options: NumberSettingOptions & Maybe<number>,
): Setting<number | undefined> {
  return build(integerParser(options), options, options.default);
}

/** A decimal number. */
export function numberSetting(
  options: NumberSettingOptions & WithDefault<number>,
): Setting<number>;
/** A decimal number that may be missing. */
export function numberSetting(
  options: NumberSettingOptions,
): Setting<number | undefined>;
export function numberSetting(
  options: NumberSettingOptions & Maybe<number>,
): Setting<number | undefined> {
  return build(numberParser(options), options, options.default);
}

/** Yes or no, in the words of Go's `strconv.ParseBool`. */
export function booleanSetting(
  options: SettingOptions & WithDefault<boolean>,
): Setting<boolean>;
/** Yes or no, or nothing said. */
export function booleanSetting(
  options: SettingOptions,
): Setting<boolean | undefined>;
export function booleanSetting(
  options: SettingOptions & Maybe<boolean>,
): Setting<boolean | undefined> {
  return build(booleanParser(), options, options.default);
}

/**
 * A Go duration; the value is in milliseconds, the default and the bounds are
 * written as durations.
 */
export function durationSetting(
  options: DurationSettingOptions & WithDefault<string>,
): Setting<number>;
/** A duration that may be missing. */
export function durationSetting(
  options: DurationSettingOptions,
): Setting<number | undefined>;
export function durationSetting(
  options: DurationSettingOptions & Maybe<string>,
): Setting<number | undefined> {
  const parser = durationParser(options);
  if (options.default === undefined) return build(parser, options, undefined);
  const fallback = parser.parse(options.default);
  const defaultText = options.default;
  if (fallback === undefined) refuseDefault(options.name, defaultText, parser);
  return { ...build(parser, options, fallback), defaultText };
}

/** One word of a few; the value is what the word stands for. */
export function choiceSetting<const V extends ChoiceValues>(
  options: ChoiceSettingOptions<V> & WithDefault<NoInfer<V[keyof V]>>,
): Setting<V[keyof V]>;
/** A choice with an empty default: `""` when nothing was chosen. */
export function choiceSetting<const V extends ChoiceValues>(
  options: ChoiceSettingOptions<V> & WithDefault<"">,
): Setting<V[keyof V] | "">;
/** A choice that may be missing. */
export function choiceSetting<const V extends ChoiceValues>(
  options: ChoiceSettingOptions<V>,
): Setting<V[keyof V] | undefined>;
export function choiceSetting<const V extends ChoiceValues>(
  options: ChoiceSettingOptions<V> & Maybe<V[keyof V] | "">,
): Setting<V[keyof V] | "" | undefined> {
  const { values, ignoreCase = false } = options;
  return build<V[keyof V] | "">(
    choiceParser(values, { ignoreCase }) as ValueParser<V[keyof V] | "">,
    options,
    options.default,
  );
}

/** Texts between commas. */
export function listSetting(
  options: SettingOptions & WithDefault<readonly string[]>,
): Setting<readonly string[]>;
/** A list that may be missing. */
export function listSetting(
  options: SettingOptions,
): Setting<readonly string[] | undefined>;
export function listSetting(
  options: SettingOptions & Maybe<readonly string[]>,
): Setting<readonly string[] | undefined> {
  return build(listParser(), options, options.default);
}

/** Keys with values between commas: `k1:v1,k2:v2`. */
export function pairsSetting(
  options: PairsSettingOptions & WithDefault<readonly Pair[]>,
): Setting<readonly Pair[]>;
/** Pairs that may be missing. */
export function pairsSetting(
  options: PairsSettingOptions,
): Setting<readonly Pair[] | undefined>;
export function pairsSetting(
  options: PairsSettingOptions & Maybe<readonly Pair[]>,
): Setting<readonly Pair[] | undefined> {
  return build(pairsParser(options), options, options.default);
}

function build<T>(
  parser: ValueParser<T>,
  options: SettingOptions,
  fallback: T | undefined,
): Setting<T | undefined> {
  const defaultText = fallback === undefined
    ? undefined
    : parser.format(fallback);
  // An empty text counts as unset, so as a default it stands for itself.
  const isReadable = defaultText === undefined || defaultText === "" ||
    parser.parse(defaultText) !== undefined;
  if (!isReadable) refuseDefault(options.name, defaultText, parser);
  return {
    name: options.name,
    aliases: options.aliases ?? [],
    group: options.group ?? "General",
    help: options.help,
    secret: options.secret ?? false,
    expected: parser.expected,
    defaultText,
    fallback,
    parse: (text) => parser.parse(text),
  };
}

function refuseDefault(
  name: string,
  text: string,
  parser: ValueParser<unknown>,
): never {
  throw new TypeError(
    `Cannot declare setting ${name}: default "${text}" is not ${parser.expected}`,
  );
}
