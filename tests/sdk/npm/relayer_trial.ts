/**
 * Uses the installed npm package with a real relayer: memories, and accounts on
 * its ledger.
 *
 * @module
 */

import { assertEquals } from "@std/assert";
import { WANTED_LIFE } from "../account_round_trip.ts";
import { bundle } from "../bundle.ts";
import { checkRoundTrip, startTriedRelayer } from "../round_trip_check.ts";
import { runProgram } from "../run_program.ts";
import { TempFolder } from "../temp_folder.ts";
import type { NpmProject } from "./npm_project.ts";

const PROGRAM = `
import * as base from "@tercet/sdk";
import * as account from "@tercet/sdk/account";
import { accountRoundTrip } from "./account_round_trip.mjs";
import { roundTrip } from "./round_trip.mjs";
export const run = async (options) => ({
  memories: await roundTrip(base, options),
  accounts: await accountRoundTrip({ account, base }, options),
});
`;

/**
 * Runs programs in Node that remember, recall and forget, create an account and
 * change its keys.
 *
 * @param project A project in which the package and the ledger's package are
 * installed.
 */
export async function tryRelayer(project: NpmProject): Promise<void> {
  for (const name of ["account_round_trip", "round_trip"]) {
    await bundle(`tests/sdk/${name}.ts`, {
      into: `${project.folder}/${name}.mjs`,
    });
  }
  await project.write("program.mjs", PROGRAM);
  await using data = await TempFolder.make();
  await using relayer = await startTriedRelayer(data.path);
  const { options, account } = relayer;
  const report = await runProgram("node", { folder: project.folder, options });
  const { memories, accounts } = Object(report);
  checkRoundTrip(memories, account);
  assertEquals(accounts, WANTED_LIFE);
}
