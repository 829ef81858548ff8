/**
 * The long form of the crash test: many kills, and a worker that dies with the
 * default lease. `deno task soak:tasks` runs it.
 *
 * @module
 */

import { parseArgs } from "node:util";
import { messageOf, print, tell } from "../../../scripts/terminal.ts";
import { startTasks } from "../../support/tasks_process.ts";
import { DataFolder } from "../data_folder.ts";
import { makeTenant } from "../tenant_client.ts";
import { takeOver } from "../worker_death.ts";
import { runChaos } from "./chaos_run.ts";

const HELP =
  `Kills the tasks service in the middle of load and looks what is left.

usage: deno task soak:tasks [options]

  --kills=<n>   how often it is killed (50)
  --seed=<n>    what chance begins with (drawn, and told)
  --help        this text

Ends with 1 when a promise is broken.
`;

/** A dead worker is noticed within this by default. */
const MAX_NOTICE_MS = 31_000;

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
  const isKept = await soak(kills, seed);
  const isNoticed = await measureDeath();
  return isKept && isNoticed ? 0 : 1;
}

async function soak(kills: number, seed: number): Promise<boolean> {
  print(`seed ${seed}, ${kills} kills`);
  await using folder = await DataFolder.make();
  const outcome = await runChaos({ dataDir: folder.path, kills, seed, tell });
  const { tasks, successes, replays, faults } = outcome;
  for (const fault of faults) print(fault);
  print(
    `${tasks} tasks and ${successes} successes were answered for, ` +
      `${replays} answers were given again; ${faults.length} faults`,
  );
  return faults.length === 0;
}

async function measureDeath(): Promise<boolean> {
  await using folder = await DataFolder.make();
  await using service = await startTasks({ dataDir: folder.path });
  using client = await makeTenant(service);
  await client.expect(201, ["POST", "/api/v1/workers", { name: "mortal" }]);
  const { noticedAfterMs, late } = await takeOver(client, "mortal");
  print(
    `a dead worker was noticed after ${Math.round(noticedAfterMs)} ms, and ` +
      `told ${late.status} ${late.code} when it came back`,
  );
  return noticedAfterMs <= MAX_NOTICE_MS && late.status === 409;
}

function countOf(name: string, text: string): number {
  const value = Number(text);
  if (Number.isInteger(value) && value >= 1 && value < 2 ** 32) return value;
  throw new RangeError(`Cannot take --${name} "${text}": it is no count`);
}
