/**
 * Programs of the SDK in runtimes of the command line.
 *
 * @module
 */

import { assertEquals } from "@std/assert";

/** What a runtime runs, beside `program.mjs`. */
const MAIN = `
import { run } from "./program.mjs";
console.log(JSON.stringify(await run(JSON.parse(process.argv[2]))));
`;

/** Long enough for a start on a busy machine; waits of the client are shorter. */
const RUN_MS = 60_000;

/** Options of {@linkcode runProgram}. */
export interface RunProgramOptions {
  /**
   * The folder with `program.mjs` and what that imports. It exports `run`, which gets
   * the options and gives the report.
   */
  readonly folder: string;
  /**
   * What the program is run with.
   *
   * @default {{}}
   */
  readonly options?: unknown;
  /**
   * Options of the runtime.
   *
   * @default none
   */
  readonly flags?: readonly string[];
}

/**
 * Runs a program and gives its report. It must end by itself, so that no timer and no
 * connection of a client holds it, and say nothing on its way.
 *
 * @param command the runtime, such as `node`
 */
export async function runProgram(
  command: string,
  { folder, options = {}, flags = [] }: RunProgramOptions,
): Promise<unknown> {
  const main = `${folder}/main.mjs`;
  await Deno.writeTextFile(main, MAIN);
  const { code, signal, stdout, stderr } = await new Deno.Command(command, {
    args: [...flags, main, JSON.stringify(options)],
    clearEnv: true,
    env: { PATH: Deno.env.get("PATH") ?? "", NO_COLOR: "1" },
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
    signal: AbortSignal.timeout(RUN_MS),
  }).output();
  const said = new TextDecoder().decode(stderr);
  assertEquals({ code, signal, said }, { code: 0, signal: null, said: "" });
  return JSON.parse(new TextDecoder().decode(stdout));
}
