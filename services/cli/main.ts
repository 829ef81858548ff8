/**
 * `tercet`: all services and commands in one program.
 *
 * @module
 */

import { processIo } from "../shared/command_line.ts";
import type { ProgramIo } from "../shared/program.ts";
import { runTercet } from "./programs.ts";
import { readStandardInput } from "./tasks/commands.ts";

/**
 * Runs what the arguments ask for.
 *
 * @returns The exit code.
 */
export function run(args: readonly string[], io: ProgramIo): Promise<number> {
  return runTercet(args, {
    ...io,
    readVariable: (name) => Deno.env.get(name),
    readText: Deno.readTextFile,
    readInput: readStandardInput,
  });
}

if (import.meta.main) Deno.exit(await run(Deno.args, processIo()));
