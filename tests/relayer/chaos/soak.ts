/**
 * The long form of the relayer's crash test. `deno task soak:relayer` runs it.
 *
 * @module
 */

import { print, tell, toMessage } from "../../../scripts/terminal.ts";
import { readSoakOptions, SOAK_OPTIONS } from "../../support/soak_options.ts";
import { runChaos } from "./chaos_run.ts";

const HELP = `Kills the relayer in the middle of load and looks what is left.

usage: deno task soak:relayer [options]

${SOAK_OPTIONS}

Ends with 0 when every promise was kept, 1 when one was broken, 2 when it could
not be tried.
`;

if (import.meta.main) {
  try {
    Deno.exit(await main(Deno.args));
  } catch (error) {
    tell(toMessage(error));
    Deno.exit(2);
  }
}

async function main(args: readonly string[]): Promise<number> {
  const options = readSoakOptions(args);
  if (options === undefined) {
    print(HELP);
    return 0;
  }
  const { kills, seed } = options;
  print(`seed ${seed}, ${kills} kills`);
  const outcome = await runChaos({ kills, seed, tell });
  const { memories, deleted, superseded, resent, faults } = outcome;
  for (const fault of faults) print(fault);
  print(
    `${memories} memories were accepted, ${deleted} of them deleted and ` +
      `${superseded} superseded; ${resent} requests were sent again; ` +
      `${faults.length} faults`,
  );
  return faults.length === 0 ? 0 : 1;
}
