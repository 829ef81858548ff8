/**
 * The command line: flags as Go programs and GNU programs write them, read
 * into typed values.
 *
 * `-name value`, `-name=value`, `--name value` and `--name=value` are the
 * same; dashes and underscores in a name are the same; flags and other
 * arguments may be mixed; everything after `--` is an argument.
 *
 * ```ts
 * const table = {
 *   dialString: textFlag({ default: "localhost:8081", help: "Address." }),
 *   json: switchFlag({ help: "Write JSON." }),
 * } as const;
 * const outcome = parseFlags(table, Deno.args);
 * ```
 *
 * @module
 */

import { nearest } from "./did_you_mean.ts";
import { type Flag, flagName } from "./flag_kinds.ts";
import { quote } from "./quote.ts";

export {
  choiceFlag,
  durationFlag,
  type Flag,
  flagName,
  integerFlag,
  repeatedFlag,
  switchFlag,
  textFlag,
} from "./flag_kinds.ts";
export { flagsHelp, type FlagsHelpOptions } from "./flags_help.ts";

/** Flags by the name the program knows them under, such as `dialString`. */
export type FlagTable = Readonly<Record<string, Flag<unknown>>>;

/** The values of a table, each with its type. */
export type FlagValues<T extends FlagTable> = {
  readonly [K in keyof T]: T[K] extends Flag<infer V> ? V : never;
};

/** What reading a command line gives. */
export type FlagsOutcome<T extends FlagTable> =
  | {
    readonly kind: "ok";
    /** Every value of the table. */
    readonly values: FlagValues<T>;
    /** The arguments that are no flags, in their order. */
    readonly positionals: readonly string[];
  }
  | {
    /** Help was asked for; nothing else counts then. */
    readonly kind: "help";
  }
  | {
    readonly kind: "bad";
    /** The first fault, in one line. */
    readonly problem: string;
  };

/** Options of {@linkcode parseFlags}. */
export interface ParseFlagsOptions {
  /**
   * How many arguments that are no flags may stand; 0 catches stray words.
   *
   * @default {Infinity}
   */
  readonly maxPositionals?: number;
}

/**
 * Reads a command line. A flag that comes twice takes its last value, unless
 * it is repeatable. `-h`, `-help` and `--help` ask for help, unless the table
 * has such flags of its own.
 *
 * @param table The flags.
 * @param args The arguments, without the program's name.
 */
export function parseFlags<const T extends FlagTable>(
  table: T,
  args: readonly string[],
  options: ParseFlagsOptions = {},
): FlagsOutcome<T> {
  const scan = scanArguments(namedFlags(table), args);
  if (scan.kind !== "ok") return scan;
  const { maxPositionals = Infinity } = options;
  const stray = scan.positionals[maxPositionals];
  if (stray !== undefined) return bad(`unexpected argument ${quote(stray)}`);
  const values: Record<string, unknown> = {};
  for (const [key, flag] of Object.entries(table)) {
    const texts = scan.texts.get(flag) ?? [];
    if (texts.length === 0 && flag.required) {
      return bad(`--${flagName(key)} is missing`);
    }
    const result = flag.read(texts);
    if (result.kind === "bad") {
      const shown = `--${flagName(key)} is ${quote(result.text)}`;
      return bad(`${shown}, expected ${flag.expected}`);
    }
    values[key] = result.value;
  }
  return {
    kind: "ok",
    values: values as FlagValues<T>,
    positionals: scan.positionals,
  };
}

type FlagsByName = ReadonlyMap<string, Flag<unknown>>;

interface Bad {
  readonly kind: "bad";
  readonly problem: string;
}

type Scan =
  | {
    readonly kind: "ok";
    readonly texts: ReadonlyMap<Flag<unknown>, readonly string[]>;
    readonly positionals: readonly string[];
  }
  | { readonly kind: "help" }
  | Bad;

/** Sorts the arguments to their flags; reads no values yet. */
function scanArguments(flags: FlagsByName, args: readonly string[]): Scan {
  const texts = new Map<Flag<unknown>, string[]>();
  const positionals: string[] = [];
  for (let index = 0; index < args.length; index++) {
    const arg = args[index] ?? "";
    if (arg === "--") {
      positionals.push(...args.slice(index + 1));
      break;
    }
    const given = splitFlag(arg);
    if (given === undefined) {
      positionals.push(arg);
      continue;
    }
    const flag = flags.get(given.name);
    if (flag === undefined) {
      if (isHelp(given)) return { kind: "help" };
      return bad(unknownFlag(given.shown, flags));
    }
    let text = given.text ?? flag.bareText;
    if (text === undefined) {
      text = args[++index];
      if (text === undefined) return bad(`${given.shown} has no value`);
      if (isKnown(text, flags)) {
        return bad(
          `${given.shown} has no value before ${quote(text)}; ` +
            `write ${quote(`${given.shown}=${text}`)} if that is the value`,
        );
      }
    }
    const earlier = texts.get(flag);
    if (earlier === undefined) texts.set(flag, [text]);
    else earlier.push(text);
  }
  return { kind: "ok", texts, positionals };
}

interface GivenFlag {
  /** Canonical name. */
  readonly name: string;
  /** As it was written, without the value. */
  readonly shown: string;
  /** The value after `=`. */
  readonly text: string | undefined;
}

/** A lone `-` is an argument: it commonly stands for standard input. */
function splitFlag(arg: string): GivenFlag | undefined {
  const match = /^(--?)([^=]*)(?:=(.*))?$/s.exec(arg);
  if (match === null || arg === "-") return undefined;
  const [, dashes = "", name = "", text] = match;
  return { name: flagName(name), shown: dashes + name, text };
}

function isHelp(given: GivenFlag): boolean {
  return given.text === undefined && ["h", "help"].includes(given.name);
}

function isKnown(arg: string, flags: FlagsByName): boolean {
  const given = splitFlag(arg);
  return arg === "--" || (given !== undefined && flags.has(given.name));
}

function unknownFlag(shown: string, flags: FlagsByName): string {
  const meant = nearest(flagName(shown.replace(/^--?/, "")), [
    ...flags.keys(),
    "help",
  ]);
  const hint = meant === undefined
    ? "--help lists all flags"
    : `did you mean --${meant}?`;
  return `unknown flag ${quote(shown)}; ${hint}`;
}

function namedFlags(table: FlagTable): FlagsByName {
  const flags = new Map<string, Flag<unknown>>();
  for (const [key, flag] of Object.entries(table)) {
    for (const name of [key, ...flag.aliases].map(flagName)) {
      flags.set(name, flag);
    }
  }
  return flags;
}

function bad(reason: string): Bad {
  return { kind: "bad", problem: `Cannot read arguments: ${reason}` };
}
