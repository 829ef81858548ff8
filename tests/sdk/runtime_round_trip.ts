/**
 * A round trip in another runtime than Deno.
 *
 * @module
 */

import { assert, assertEquals } from "@std/assert";
import { bundle } from "./bundle.ts";
import { checkRoundTrip, startTriedRelayer } from "./round_trip_check.ts";
import { TempFolder } from "./temp_folder.ts";

/** What the runtime runs: it gets its options and tells the report. */
const PROGRAM = `
import * as sdk from "./sdk.mjs";
import { roundTrip } from "./round_trip.mjs";
const report = await roundTrip(sdk, JSON.parse(process.argv[2]));
const { inspect } = await import("node:util");
const mem = sdk.Mem.create(JSON.parse(process.argv[2]));
const copy = structuredClone(mem);
console.log(JSON.stringify({
  version: process.versions.bun ?? process.versions.node,
  report,
  seen: inspect(mem, { showHidden: true, depth: 9 }) + JSON.stringify(copy),
}));
`;

/** Long enough for a start on a busy machine; waits of the client are shorter. */
const RUN_MS = 60_000;

/** What a runtime said. */
interface Told {
  readonly version: string;
  readonly report: unknown;
  readonly seen: string;
}

/**
 * Makes one file of the SDK and has `command` run a round trip with it against
 * the real relayer. The process must end by itself: no timer and no connection of
 * the client may hold it.
 *
 * @param minMajor the oldest version that is promised to work
 */
export async function checkRuntime(
  command: string,
  minMajor: number,
): Promise<void> {
  await using folder = await TempFolder.make();
  const program = `${folder.path}/program.mjs`;
  await bundle("mod.ts", { into: `${folder.path}/sdk.mjs` });
  await bundle("tests/sdk/round_trip.ts", {
    into: `${folder.path}/round_trip.mjs`,
  });
  await Deno.writeTextFile(program, PROGRAM);
  await using relayer = await startTriedRelayer(`${folder.path}/data`);
  const { options, account } = relayer;
  const told = await run(command, [program, JSON.stringify(options)]);
  const major = Number(told.version.split(".")[0]);
  assert(
    major >= minMajor,
    `${command} ${told.version} is older than promised`,
  );
  checkRoundTrip(told.report, account);
  for (const secret of [options.key, options.key.slice(0, 16)]) {
    assertEquals(told.seen.includes(secret), false, told.seen);
  }
}

async function run(command: string, args: readonly string[]): Promise<Told> {
  const path = Deno.env.get("PATH") ?? "";
  const { code, signal, stdout, stderr } = await new Deno.Command(command, {
    args: [...args],
    clearEnv: true,
    env: { PATH: path },
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
    signal: AbortSignal.timeout(RUN_MS),
  }).output();
  const said = new TextDecoder().decode(stderr);
  assertEquals({ code, signal, said }, { code: 0, signal: null, said: "" });
  return JSON.parse(new TextDecoder().decode(stdout));
}
