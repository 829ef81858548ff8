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
  SOAK_OPTIONS,
  type SoakOptions,
} from "../../support/soak_options.ts";
import { startTasks } from "../../support/tasks_process.ts";
import { DataFolder } from "../data_folder.ts";
import { makeTenant } from "../tenant_client.ts";
import { takeOver } from "../worker_death.ts";
import { runChaos } from "./chaos_run.ts";
import { SingleService } from "./chaos_service.ts";
import { type Harm, PostgresCluster } from "./postgres_cluster.ts";

const HARM_NAMES: readonly Harm[] = [
  "kill instance",
  "stop instance",
  "stall instance",
  "kill primary",
  "kill standby",
];

const HELP =
  `Kills the tasks service in the middle of load and looks what is left.

usage: deno task soak:tasks [options]

${SOAK_OPTIONS}
  --store=<s>   sqlite, or postgres: three instances, and a primary with two
                standbys that fails over (sqlite)
  --harm=<h>    of postgres, only this harm: ${HARM_NAMES.join(", ")} (all)

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
  const options = readOptions(args);
  if (options === undefined) {
    print(HELP);
    return 0;
  }
  const isKept = await soak(options);
  if (options.store === "postgres") return isKept ? 0 : 1;
  const isNoticed = await measureDeath();
  return isKept && isNoticed ? 0 : 1;
}

interface Options extends SoakOptions {
  readonly store: "sqlite" | "postgres";
  readonly harms: readonly Harm[] | undefined;
}

function readOptions(args: readonly string[]): Options | undefined {
  const own = new Map<string, string>();
  const others = args.filter((arg) => {
    const [, name, value] = /^--(store|harm)=(.*)$/.exec(arg) ?? [];
    if (name === undefined || value === undefined) return true;
    own.set(name, value);
    return false;
  });
  const read = readSoakOptions(others);
  if (read === undefined) return undefined;
  const store = own.get("store") ?? "sqlite";
  if (store !== "sqlite" && store !== "postgres") {
    throw new RangeError(
      `Cannot take --store "${store}": there is no such one`,
    );
  }
  const named = own.get("harm");
  const harm = HARM_NAMES.find((name) => name === named);
  if (named !== undefined && harm === undefined) {
    throw new RangeError(`Cannot take --harm "${named}": there is no such one`);
  }
  return { ...read, store, harms: harm && [harm] };
}

async function soak(
  { kills, seed, store, harms }: Options,
): Promise<boolean> {
  print(`seed ${seed}, ${kills} times harmed`);
  await using folder = await DataFolder.make();
  const cluster = store === "sqlite" ? undefined : await PostgresCluster.start({
    folder: folder.path,
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
  const waits = cluster?.writesAgainMs.toSorted((one, other) => one - other);
  if (waits !== undefined && waits.length > 0) {
    print(
      `${waits.length} failovers: writes again after ` +
        `${
          Math.round(waits[Math.floor(waits.length / 2)] ?? 0)
        } ms (median), ` +
        `${Math.round(waits.at(-1) ?? 0)} ms (longest)`,
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
