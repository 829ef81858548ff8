/**
 * The command line: flags as Go programs and GNU programs write them, read into
 * typed values, and what all commands do with their arguments and outputs.
 *
 * `-name value`, `-name=value`, `--name value` and `--name=value` are the
 * same; dashes and underscores in a name are the same; flags and other
 * arguments may be mixed; everything after `--` is an argument. The parser of
 * `node:util` reads `-name` as four flags of one letter each, so it does not
 * fit.
 *
 * ```ts
 * const table = {
 *   dialString: textOption({ default: "localhost:8081", help: "Address." }),
 *   json: switchOption({ help: "Write JSON." }),
 * } as const;
 * const outcome = parseFlags(table, Deno.args);
 * ```
 *
 * @module
 */

import { nearest } from "./did_you_mean.ts";
import { type CommandText, flagName, flagsHelp } from "./option_help.ts";
import type { Option, OptionTable, OptionValues } from "./options.ts";
import { quote } from "./quote.ts";

/** The outputs of a command; each call is one or more whole lines. */
export interface CommandIo {
  /** Writes results to standard output. */
  readonly out: (text: string) => void;
  /** Writes errors to standard error. */
  readonly err: (text: string) => void;
  /**
   * Shows the progress of the command in place of the text shown before; an
   * empty text clears it.
   *
   * @default no progress is shown, as when standard error is no terminal
   */
  readonly progress?: ((text: string) => void) | undefined;
}

/** Writes to standard output and standard error, at once and whole. */
export function processIo(): CommandIo {
  const encoder = new TextEncoder();
  const line = (text: string): Uint8Array =>
    encoder.encode(text.endsWith("\n") ? text : `${text}\n`);
  const write = (
    sink: { writeSync(bytes: Uint8Array): number },
    bytes: Uint8Array,
  ): void => {
    let rest = bytes;
    while (rest.length > 0) rest = rest.subarray(sink.writeSync(rest));
  };
  return {
    out: (text) => write(Deno.stdout, line(text)),
    err: (text) => write(Deno.stderr, line(text)),
    progress: Deno.stderr.isTerminal()
      ? (text) => write(Deno.stderr, encoder.encode(`\r\x1b[K${text}`))
      : undefined,
  };
}

/** Why the arguments give no flags to run with. */
type NoFlags =
  /** Help was asked for; nothing else counts then. */
  | { readonly kind: "help" }
  | {
    readonly kind: "invalid";
    /** The first fault, in one line. */
    readonly problem: string;
  };

/** The flags and arguments that were read from a command line. */
interface Flags<T extends OptionTable> {
  /** Tells it from a fault. */
  readonly kind: "ok";
  /** Every value of the table. */
  readonly values: OptionValues<T>;
  /** The arguments that are not flags, in their order. */
  readonly positionals: readonly string[];
}

/**
 * Reads a command line. A flag that is given twice takes its last value, unless
 * it is repeatable. `-h`, `-help` and `--help` ask for help, unless the table
 * has such flags of its own. More than `maxPositionals` arguments that are not
 * flags are refused.
 *
 * @param table The flags.
 * @param args The arguments, without the program's name.
 */
export function parseFlags<const T extends OptionTable>(
  table: T,
  args: readonly string[],
  { maxPositionals = Infinity }: { readonly maxPositionals?: number } = {},
): Flags<T> | NoFlags {
  const scan = scanArguments(namedFlags(table), args);
  if (scan.kind !== "ok") return scan;
  const stray = scan.positionals[maxPositionals];
  if (stray !== undefined) {
    return invalid(`unexpected argument ${quote(stray)}`);
  }
  const values: Record<string, unknown> = {};
  for (const [key, flag] of Object.entries(table)) {
    const texts = scan.texts.get(flag) ?? [];
    if (texts.length === 0 && flag.required) {
      return invalid(`--${flagName(key)} is missing`);
    }
    // The last one counts, unless all do.
    const read = (flag.repeatable ? texts : texts.slice(-1))
      .map((text) => ({ text, value: flag.parse(text) }));
    const wrong = read.find(({ value }) => value === undefined);
    if (wrong !== undefined) {
      const shown = `--${flagName(key)} is ${quote(wrong.text)}`;
      return invalid(`${shown}, expected ${flag.expected}`);
    }
    values[key] = flag.repeatable
      ? read.flatMap(({ value }) => value)
      : read.length > 0
      ? read[0]?.value
      : flag.fallback;
  }
  return {
    kind: "ok",
    values: values as OptionValues<T>,
    positionals: scan.positionals,
  };
}

type FlagsByName = ReadonlyMap<string, Option<unknown>>;

interface Scan {
  readonly kind: "ok";
  readonly texts: ReadonlyMap<Option<unknown>, readonly string[]>;
  readonly positionals: readonly string[];
}

/** Assigns the arguments to their flags; parses no values yet. */
function scanArguments(
  flags: FlagsByName,
  args: readonly string[],
): Scan | NoFlags {
  const texts = new Map<Option<unknown>, string[]>();
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
      return invalid(unknownFlag(given.shown, flags));
    }
    let text = given.text ?? flag.bareText;
    if (text === undefined) {
      text = args[++index];
      if (text === undefined) return invalid(`${given.shown} has no value`);
      if (isKnown(text, flags)) {
        return invalid(
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

function namedFlags(table: OptionTable): FlagsByName {
  const flags = new Map<string, Option<unknown>>();
  for (const [key, flag] of Object.entries(table)) {
    for (const name of [key, ...flag.aliases].map(flagName)) {
      flags.set(name, flag);
    }
  }
  return flags;
}

function invalid(reason: string): NoFlags {
  return { kind: "invalid", problem: `Cannot read arguments: ${reason}` };
}

/** Exit code for arguments that are not accepted. */
const WRONG_ARGUMENTS = 2;

/** A command that has nothing left to do. */
interface Done {
  /** Tells it from what was read. */
  readonly kind: "done";
  /** What the process should exit with. */
  readonly exitCode: number;
}

/** How a command is called and what it does. */
export interface CommandShape extends CommandText {
  /**
   * How many arguments it has that are not flags.
   *
   * @default {0}
   */
  readonly positionals?: number;
  /**
   * How many of these it needs.
   *
   * @default {all of them}
   */
  readonly leastPositionals?: number;
}

/** Reads arguments; prints the help, or what is wrong with them. */
export function readCommand<const T extends OptionTable>(
  table: T,
  from: {
    readonly args: readonly string[];
    readonly io: CommandIo;
    readonly command: CommandShape;
  },
): Flags<T> | Done {
  const { args, io, command } = from;
  const { positionals = 0, leastPositionals = positionals } = command;
  const parsed = parseFlags(table, args, { maxPositionals: positionals });
  switch (parsed.kind) {
    case "help":
      io.out(flagsHelp(table, command));
      return { kind: "done", exitCode: 0 };
    case "invalid":
      return wrongArguments(parsed.problem, { io, command });
    case "ok":
      return parsed.positionals.length < leastPositionals
        ? wrongArguments("Cannot read arguments: one is missing", from)
        : parsed;
  }
}

/** Prints what is wrong and how the command is called. */
export function wrongArguments(
  problem: string,
  to: {
    readonly io: CommandIo;
    readonly command: Pick<CommandText, "usage">;
  },
): Done {
  to.io.err(problem);
  to.io.err(`usage: ${to.command.usage}`);
  return { kind: "done", exitCode: WRONG_ARGUMENTS };
}
