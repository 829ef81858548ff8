/**
 * Runs the round trip of the SDK in a runtime other than Deno.
 *
 * @module
 */

import { assert, assertEquals } from "@std/assert";
import { serviceTest } from "../support/services.ts";
import { bundle } from "./bundle.ts";
import { checkRoundTrip, startTriedRelayer } from "./round_trip_check.ts";
import { runProgram } from "./run_program.ts";
import { TempFolder } from "./temp_folder.ts";

serviceTest(["node"], {
  name: "the SDK remembers, waits, recalls and deletes in Node",
  fn: () => checkRuntime("node", 20),
});

serviceTest(["bun"], {
  name: "the SDK remembers, waits, recalls and deletes in Bun",
  fn: () => checkRuntime("bun", 1),
});

/** The program that the runtime runs. */
const PROGRAM = `
import { inspect } from "node:util";
import * as sdk from "./mod.js";
import { roundTrip } from "./tests/sdk/round_trip.js";
export async function run(options) {
  const report = await roundTrip(sdk, options);
  const mem = sdk.Mem.create(options);
  const copy = structuredClone(mem);
  return {
    version: process.versions.bun ?? process.versions.node,
    report,
    seen: inspect(mem, { showHidden: true, depth: 9 }) + JSON.stringify(copy),
  };
}
`;

/** The output of the program. */
interface Told {
  readonly version: string;
  readonly report: unknown;
  readonly seen: string;
}

/**
 * Bundles the SDK into one file and runs a round trip with it in `command`,
 * against the real relayer. The process must end by itself: no timer and no
 * connection of the client may keep it alive.
 *
 * @param minMajor The oldest major version of the runtime that is supported.
 */
async function checkRuntime(
  command: string,
  minMajor: number,
): Promise<void> {
  await using folder = await TempFolder.make();
  await bundle(["mod.ts", "tests/sdk/round_trip.ts"], { into: folder.path });
  await Deno.writeTextFile(`${folder.path}/program.mjs`, PROGRAM);
  await using relayer = await startTriedRelayer(`${folder.path}/data`);
  const { options, account } = relayer;
  const told = await runProgram(command, { folder: folder.path, options });
  assert(isTold(told));
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

function isTold(value: unknown): value is Told {
  const { version, seen } = Object(value);
  return typeof version === "string" && typeof seen === "string";
}
