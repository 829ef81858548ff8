/**
 * Runs programs that use the SDK in runtimes of the command line.
 *
 * @module
 */

import { assertEquals } from "@std/assert";

/** The main module that a runtime starts; it imports `program.mjs`. */
const MAIN = `
import { run } from "./program.mjs";
console.log(JSON.stringify(await run(JSON.parse(process.argv[2]))));
`;

/**
 * Time limit of a run in milliseconds; enough for a start on a busy machine,
 * and longer than any timeout of the client.
 */
const RUN_MS = 60_000;

/** Options of {@linkcode runProgram}. */
export interface RunProgramOptions {
  /**
   * The folder with `program.mjs` and the files that it imports. The module
   * exports `run`, which takes the options and returns the report.
   */
  readonly folder: string;
  /**
   * The options that the program gets.
   *
   * @default {{}}
   */
  readonly options?: unknown;
  /**
   * Command line flags of the runtime.
   *
   * @default none
   */
  readonly flags?: readonly string[];
}

/**
 * Runs a program and returns its report. The process must end by itself, so no
 * timer and no connection of a client may keep it alive, and it must not print
 * anything else.
 *
 * @param command The runtime, such as `node`.
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
