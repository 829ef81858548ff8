/**
 * The program `tercet-worker`: runs a command for each task of a worker. It is
 * apart from `tercet` because only this program may run other programs.
 *
 * @module
 */

import { processIo } from "../shared/command_line.ts";
import { processSignals } from "../shared/lifecycle.ts";
import { type ProgramIo, runProgram } from "../shared/program.ts";

/**
 * Runs the command that the arguments name. The entry of a built executable
 * calls this function, too.
 *
 * @returns The exit code.
 */
export function run(args: readonly string[], io: ProgramIo): Promise<number> {
  return runProgram({
    name: "tercet-worker",
    about: "does tasks of the tasks service by running a command for each",
    commands: [{
      name: "run",
      about: "take tasks of a worker, and run a command for each",
      async run(rest) {
        const { runWorker } = await import("./worker/run.ts");
        return await runWorker(rest, {
          io,
          readVariable: (name) => Deno.env.get(name),
          readText: Deno.readTextFile,
          signals: processSignals,
        });
      },
    }],
    examples: [
      "TASKS_URL=https://acme.tasks.example.com TASKS_KEY=wk_… \\\n" +
      "    tercet-worker run --worker mailer -- ./send_mail.sh",
      "tercet-worker run --worker images --concurrency 4 -- convert - png:-",
    ],
  }, { args, io });
}

if (import.meta.main) Deno.exit(await run(Deno.args, processIo()));
