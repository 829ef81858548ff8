/**
 * What all commands do with their arguments.
 *
 * @module
 */

import type { CommandIo } from "./command_io.ts";
import {
  flagsHelp,
  type FlagTable,
  type FlagValues,
  parseFlags,
} from "./flags.ts";

/** Exit code for arguments that cannot be taken. */
const WRONG_ARGUMENTS = 2;

/** What a command is to do, or the exit code when there is nothing left to do. */
export type ReadCommand<T extends FlagTable> =
  | {
    readonly kind: "ok";
    readonly values: FlagValues<T>;
    /** The arguments that are no flags, as many as were asked for. */
    readonly positionals: readonly string[];
  }
  | { readonly kind: "done"; readonly exitCode: number };

/** How a command is called and what it does. */
export interface CommandShape {
  /** The call, such as `tasks preview "30 2 * * *"`. */
  readonly usage: string;
  /** What it does and what its exit codes mean. */
  readonly about: string;
  /**
   * How many arguments it has that are no flags.
   *
   * @default {0}
   */
  readonly positionals?: number;
}

/** Reads arguments; answers `--help`, and tells what is wrong with them. */
export function readCommand<const T extends FlagTable>(
  table: T,
  from: {
    readonly args: readonly string[];
    readonly io: CommandIo;
    readonly command: CommandShape;
  },
): ReadCommand<T> {
  const { args, io, command } = from;
  const { positionals = 0 } = command;
  const parsed = parseFlags(table, args, { maxPositionals: positionals });
  switch (parsed.kind) {
    case "help":
      io.out(flagsHelp(table, command));
      return { kind: "done", exitCode: 0 };
    case "bad":
      return wrongArguments(parsed.problem, { io, command });
    case "ok":
      return parsed.positionals.length < positionals
        ? wrongArguments("Cannot read arguments: one is missing", from)
        : parsed;
  }
}

/** Says what is wrong and how the command is called. */
export function wrongArguments(
  problem: string,
  to: {
    readonly io: CommandIo;
    readonly command: Pick<CommandShape, "usage">;
  },
): { readonly kind: "done"; readonly exitCode: number } {
  to.io.err(problem);
  to.io.err(`usage: ${to.command.usage}`);
  return { kind: "done", exitCode: WRONG_ARGUMENTS };
}
