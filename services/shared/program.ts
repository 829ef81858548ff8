/**
 * Runs a program with commands, and prints its help and its version. A command
 * loads its modules when it is called, so that serving starts without them.
 *
 * @module
 */

import type { CommandIo } from "./command_line.ts";
import { nearest } from "./did_you_mean.ts";
import { settingsHelp } from "./option_help.ts";
import type { OptionTable } from "./options.ts";
import { quote } from "./quote.ts";
import { describeError } from "./settled.ts";
import { type Build, versionLine } from "./version.ts";

/** What a program gets from the process it runs in. */
export interface ProgramIo extends CommandIo {
  /** What it was built from; undefined where it runs from source. */
  readonly build?: Build | undefined;
  /**
   * How people call the program, such as `tercet tasks`.
   *
   * @default its own name
   */
  readonly calledAs?: string | undefined;
  /**
   * Commands beside the program's own, of the program that holds it.
   *
   * @default there are none
   */
  readonly moreCommands?: readonly Command[] | undefined;
}

/** One command of a program. */
export interface Command {
  /** The word it is called by. */
  readonly name: string;
  /** What it does, in one line without a full stop. */
  readonly about: string;
  /**
   * Runs it; `args` are those behind its name.
   *
   * @returns The exit code.
   */
  readonly run: (args: readonly string[]) => number | Promise<number>;
}

/** A program that has commands. */
export interface Program {
  /** Its name. */
  readonly name: string;
  /** What it is, in one line without a full stop. */
  readonly about: string;
  /** Its commands, in the order of the help. */
  readonly commands: readonly Command[];
  /** Lines that show how it is used, as they are typed. */
  readonly examples: readonly string[];
  /**
   * What it does without a command.
   *
   * @default the help is shown as a fault
   */
  readonly serve?: (() => Promise<number>) | undefined;
  /** What it reads from the environment. */
  readonly settings?: OptionTable | undefined;
}

/** The exit code of a command that could not be done. */
const FAILED = 1;
/** The exit code for arguments that are not accepted. */
const WRONG_ARGUMENTS = 2;

const HELP_WORDS: readonly string[] = ["help", "-h", "-help", "--help"];
/** What help is asked about for the settings. */
const SETTINGS_TOPIC = "settings";
const VERSION_WORDS: readonly string[] = ["version", "-version", "--version"];
/** Writes the commands for the completion of shells. */
const COMMANDS_WORD = "--commands";

/**
 * Runs what the arguments ask for.
 *
 * @param own The program.
 * @returns The exit code; 2 for a command that there is not.
 */
export async function runProgram(
  own: Program,
  { args, io }: { readonly args: readonly string[]; readonly io: ProgramIo },
): Promise<number> {
  const program: Program = {
    ...own,
    commands: [...own.commands, ...io.moreCommands ?? []],
  };
  const called = io.calledAs ?? program.name;
  const [word, ...rest] = args;
  if (word === undefined) {
    if (program.serve !== undefined) return await program.serve();
    io.err(programHelp(program, called));
    return WRONG_ARGUMENTS;
  }
  const command = program.commands.find(({ name }) => name === word);
  if (command !== undefined) {
    try {
      return await command.run(rest);
    } catch (error) {
      // Any other error is a bug: thrown, it shows its stack.
      if (!(error instanceof Deno.errors.NotCapable)) throw error;
      io.err(
        `Cannot run ${quote(`${called} ${word}`)}: ${describeError(error)}`,
      );
      return FAILED;
    }
  }
  const [helpWord = "", topic] = word.split("=", 2);
  if (HELP_WORDS.includes(helpWord)) {
    const asked = topic ?? rest[0];
    if (asked === undefined) {
      io.out(programHelp(program, called));
      return 0;
    }
    const about = program.commands.find(({ name }) => name === asked);
    if (about !== undefined) {
      return await about.run([...rest.slice(1), "--help"]);
    }
    if (asked === SETTINGS_TOPIC && program.settings !== undefined) {
      io.out(settingsHelp(program.settings));
      return 0;
    }
    return unknownCommand(asked, { program, called, io });
  }
  if (word === COMMANDS_WORD) {
    io.out(program.commands.map(({ name }) => name).join("\n"));
    return 0;
  }
  if (VERSION_WORDS.includes(word)) {
    io.out(versionLine(program.name, io.build));
    return 0;
  }
  return unknownCommand(word, { program, called, io });
}

function unknownCommand(
  word: string,
  { program, called, io }: {
    readonly program: Program;
    readonly called: string;
    readonly io: CommandIo;
  },
): number {
  const meant = nearest(word, [
    ...program.commands.map(({ name }) => name),
    "--help",
    "--version",
  ]);
  const hint = meant === undefined
    ? `see ${called} --help`
    : `did you mean ${quote(`${called} ${meant}`)}?`;
  io.err(`Cannot run ${quote(word)}: there is no such command; ${hint}`);
  return WRONG_ARGUMENTS;
}

/** The help: what it is, its commands, examples. */
function programHelp(program: Program, called: string): string {
  const { commands, examples, serve, settings } = program;
  const rows: (readonly [string, string])[] = [
    ...(serve === undefined
      ? []
      : [[called, "serve; settings come from the environment"] as const]),
    ...commands.map(({ name, about }) =>
      [`${called} ${name} …`, about] as const
    ),
    [`${called} help <command>`, "the help of a command"],
    ...(settings === undefined ? [] : [
      [
        `${called} --help=${SETTINGS_TOPIC}`,
        "all settings, which come from the environment",
      ] as const,
    ]),
    [`${called} --version`, "version, commit and Deno"],
  ];
  const width = Math.max(...rows.map(([call]) => call.length)) + 2;
  const blocks = [
    `${program.name}: ${program.about}`,
    [
      "Usage:",
      ...rows.map(([call, about]) => `  ${call.padEnd(width)}${about}`),
    ]
      .join("\n"),
    ["Examples:", ...examples.map((line) => `  ${line}`)].join("\n"),
  ];
  return `${blocks.join("\n\n")}\n`;
}
