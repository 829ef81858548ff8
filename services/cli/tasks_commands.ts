/**
 * The everyday commands that `tercet tasks` has beside those of the service.
 *
 * @module
 */

import type { ProgramIo } from "../shared/program.ts";

/** An everyday command. */
export interface TasksCommand {
  /** The word behind `tercet tasks`. */
  readonly name: string;
  /** What it does, in one line without a full stop. */
  readonly about: string;
  /**
   * Runs it; its modules are loaded here.
   *
   * @returns The exit code.
   */
  readonly run: (args: readonly string[], io: ProgramIo) => Promise<number>;
}

/** The commands, in the order of the help. */
export const TASKS_COMMANDS: readonly TasksCommand[] = [];
