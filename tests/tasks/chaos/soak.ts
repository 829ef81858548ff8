/**
 * The long form of the crash test of the tasks service: many kills, and a
 * worker that dies while it holds a lease of the default duration; or, on
 * PostgreSQL, three instances and three servers, which are killed, stopped and
 * stalled. `deno task soak:tasks` runs it.
 *
 * @module
 */

import { print, tell, toMessage } from "../../../scripts/terminal.ts";
import {
  readSoakOptions,
  soakHelp,
  type SoakOptions,
  summarize,
} from "../../support/chaos/soak_options.ts";
import { startTasks } from "../../support/tasks_process.ts";
import { DataFolder } from "../data_folder.ts";
import { makeTenant } from "../tenant_client.ts";
import { takeOver } from "../worker_death.ts";
import { runChaos } from "./chaos_run.ts";
import { SingleService, startCluster } from "./chaos_service.ts";

const OWN = {
  instances: { usual: 3, help: "on postgres, how many instances there are" },
};

const HELP =
  `Harms the tasks service in the middle of load and looks what is left.

usage: deno task soak:tasks [options]

${soakHelp(OWN)}

Ends with 0 when every promise was kept, 1 when one was broken, 2 when it could
not be tried.
`;

/**
 * The longest time until a dead worker's task is leased again, with default
 * settings, in milliseconds.
 */
const MAX_NOTICE_MS = 31_000;

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
  const isKept = await soak(options);
  if (options.store === "postgres") return isKept ? 0 : 1;
  const isNoticed = await measureDeath();
  return isKept && isNoticed ? 0 : 1;
}

async function soak(
  { kills, seed, store, harms, own }: SoakOptions,
): Promise<boolean> {
  print(`seed ${seed}, ${kills} times harmed`);
  await using folder = await DataFolder.make();
  const cluster = store === "sqlite" ? undefined : await startCluster({
    folder: folder.path,
    instances: own["instances"] ?? OWN.instances.usual,
    ...(harms === undefined ? {} : { harms }),
  });
  const service = cluster ?? await SingleService.start(folder.path);
  const outcome = await runChaos({ service, kills, seed, tell });
  const { tasks, successes, replays, faults } = outcome;
  for (const fault of faults) print(fault);
  print(
    `${tasks} tasks and ${successes} successes were answered for, ` +
      `${replays} answers were given again; ${faults.length} faults`,
  );
  const waits = summarize(cluster?.writesAgainMs ?? []);
  if (waits !== undefined) {
    print(
      `${cluster?.writesAgainMs.length} failovers: writes again after ` +
        `${waits.median} ms (median), ${waits.longest} ms (longest)`,
    );
  }
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
