/**
 * The long form of the crash test. `deno task soak:relayer` runs it.
 *
 * @module
 */

import { parseArgs } from "node:util";
import { messageOf, print, tell } from "../../../scripts/terminal.ts";
import { runChaos } from "./chaos_run.ts";

const HELP = `Kills the relayer in the middle of load and looks what is left.

usage: deno task soak:relayer [options]

  --kills=<n>   how often it is killed (50)
  --seed=<n>    what chance begins with (drawn, and told)
  --help        this text

Ends with 0 when every promise was kept, 1 when one was broken, 2 when it could
not be tried.
`;

if (import.meta.main) {
  try {
    Deno.exit(await main(Deno.args));
  } catch (error) {
    tell(messageOf(error));
    Deno.exit(2);
  }
}

async function main(args: readonly string[]): Promise<number> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      kills: { type: "string", default: "50" },
      seed: { type: "string" },
      help: { type: "boolean", default: false },
    },
  });
  if (values.help) {
    print(HELP);
    return 0;
  }
  const kills = countOf("kills", values.kills);
  const drawn = String(crypto.getRandomValues(new Uint32Array(1))[0]);
  const seed = countOf("seed", values.seed ?? drawn);
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

function countOf(name: string, text: string): number {
  const value = Number(text);
  if (Number.isInteger(value) && value >= 1 && value < 2 ** 32) return value;
  throw new RangeError(`Cannot take --${name} "${text}": it is no count`);
}
