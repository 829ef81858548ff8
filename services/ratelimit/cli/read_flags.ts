/**
 * What all commands do with their flags.
 *
 * @module
 */

import {
  flagsHelp,
  type FlagTable,
  type FlagValues,
  parseFlags,
} from "../../shared/flags.ts";
import type { CommandIo } from "../../shared/command_io.ts";

/** Exit code for arguments that can't be taken. */
export const WRONG_ARGUMENTS = 2;

/** The flags of a command, or the exit code when there is nothing left to do. */
export type ReadFlags<T extends FlagTable> =
  | { readonly kind: "flags"; readonly values: FlagValues<T> }
  | { readonly kind: "done"; readonly exitCode: number };

/** How a command is called and what it does, for its help. */
export interface CommandHelp {
  /** The call, such as `ratelimit check -config_dir DIRECTORY`. */
  readonly usage: string;
  /** What it does and what its exit codes mean. */
  readonly about: string;
}

/** Reads flags; answers `--help`, and tells what is wrong with them. */
export function readFlags<const T extends FlagTable>(
  table: T,
  from: {
    readonly args: readonly string[];
    readonly io: CommandIo;
    readonly help: CommandHelp;
  },
): ReadFlags<T> {
  const { args, io, help } = from;
  const parsed = parseFlags(table, args, { maxPositionals: 0 });
  switch (parsed.kind) {
    case "ok":
      return { kind: "flags", values: parsed.values };
    case "help":
      io.out(flagsHelp(table, help));
      return { kind: "done", exitCode: 0 };
    case "bad":
      return wrongArguments(parsed.problem, { io, help });
  }
}

/** Says what is wrong and how the command is called. */
export function wrongArguments(
  problem: string,
  to: { readonly io: CommandIo; readonly help: CommandHelp },
): { readonly kind: "done"; readonly exitCode: number } {
  to.io.err(problem);
  to.io.err(`usage: ${to.help.usage}`);
  return { kind: "done", exitCode: WRONG_ARGUMENTS };
}
