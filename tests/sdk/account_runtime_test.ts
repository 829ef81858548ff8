/**
 * Tests the account functions in runtimes other than Deno, with the ledger's
 * package and a real ledger.
 *
 * @module
 */

import { assertEquals } from "@std/assert";
import { startRelayer } from "../support/relayer_process.ts";
import { serviceTest } from "../support/services.ts";
import { WANTED_LIFE } from "./account_round_trip.ts";
import { bundle } from "./bundle.ts";
import { openPage } from "./chromium.ts";
import { runProgram } from "./run_program.ts";
import { TempFolder } from "./temp_folder.ts";

const PROGRAM = `
import * as account from "./sdk/account.js";
import * as base from "./mod.js";
import { accountRoundTrip } from "./tests/sdk/account_round_trip.js";
export const run = (options) => accountRoundTrip({ account, base }, options);
`;

interface Trial {
  readonly folder: string;
  readonly options: { readonly serverUrl: string };
}

/** Runs a test with a folder that contains the program, and a relayer. */
async function withProgram(
  use: (trial: Trial) => Promise<unknown>,
): Promise<void> {
  await using folder = await TempFolder.make();
  const { path } = folder;
  await bundle(
    ["sdk/account.ts", "mod.ts", "tests/sdk/account_round_trip.ts"],
    { into: path },
  );
  await Deno.writeTextFile(`${path}/program.mjs`, PROGRAM);
  await using relayer = await startRelayer({ dataDir: `${path}/data` });
  const options = { serverUrl: relayer.url };
  assertEquals(await use({ folder: path, options }), WANTED_LIFE);
}

for (const runtime of ["node", "bun"] as const) {
  serviceTest([runtime], {
    name: `account functions make an account and its delegates in ${runtime}`,
    fn: () =>
      withProgram(({ folder, options }) =>
        runProgram(runtime, { folder, options })
      ),
  });
}

serviceTest(["chromium"], {
  name: "account functions make an account and its delegates in a page",
  fn: () =>
    withProgram(({ folder, options }) =>
      openPage({ folder, optionsAt: () => options })
    ),
});
