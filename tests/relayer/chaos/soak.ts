/**
 * The long form of the relayer's crash test. `deno task soak:relayer` runs it.
 *
 * @module
 */

import { print, tell, toMessage } from "../../../scripts/terminal.ts";
import {
  readSoakOptions,
  soakHelp,
  summarize,
} from "../../support/chaos/soak_options.ts";
import { runChaos } from "./chaos_run.ts";
import {
  type ChaosRelayers,
  RelayerCluster,
  SingleRelayer,
} from "./chaos_relayers.ts";

const OWN = {
  relayers: { usual: 3, help: "on postgres, how many relayers there are" },
  pairs: {
    usual: 0,
    help: "on postgres, the least number of memories that are remembered\n" +
      "                on one relayer and recalled on another",
  },
};

const HELP = `Harms relayers in the middle of load and looks what is left.

usage: deno task soak:relayer [options]

${soakHelp(OWN)}

Tells its progress on standard error, and prints one line of JSON at the end.
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
  const options = readSoakOptions(args, OWN);
  if (options === undefined) {
    print(HELP);
    return 0;
  }
  const { kills, seed, store, harms, own: { relayers: instances, pairs } } =
    options;
  tell(`seed ${seed}, ${kills} times harmed`);
  const relayers: ChaosRelayers = store === "sqlite"
    ? await SingleRelayer.start()
    : await RelayerCluster.start({
      ...(instances === undefined ? {} : { instances }),
      ...(harms === undefined ? {} : { harms }),
    });
  const outcome = await runChaos({
    ...{ relayers, kills, seed, tell },
    ...(pairs === undefined ? {} : { pairs }),
  });
  const { writesAgainMs } = relayers;
  print(JSON.stringify({
    ...{ store, seed, kills, ...outcome },
    failovers: writesAgainMs.length,
    writesAgainMs: summarize(writesAgainMs),
  }));
  return outcome.faults.length === 0 ? 0 : 1;
}
