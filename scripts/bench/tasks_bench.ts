/**
 * Measures the tasks service over HTTP, as a process, against its bars. Exits
 * with 1 when a bar is missed.
 *
 * ```sh
 * deno task bench:tasks --help
 * ```
 *
 * @module
 */

import { parseArgs } from "node:util";
import { messageOf, print, tell } from "../terminal.ts";
import { type Bar, isMet, tableOf } from "./tasks/bar.ts";
import { BenchService } from "./tasks/bench_service.ts";
import { makeTenant } from "./tasks/bench_tenant.ts";
import type { BenchRun } from "./tasks/bench_run.ts";
import { type DiskSpeed, probeDisk } from "./tasks/disk_probe.ts";
import { LoadThread } from "./tasks/load_thread.ts";
import { measureBodies } from "./tasks/measure_bodies.ts";
import { measureBatch, measureCreate } from "./tasks/measure_create.ts";
import { measureDrain, measureSdk } from "./tasks/measure_drain.ts";
import { measureLists } from "./tasks/measure_lists.ts";
import { type FairnessRun, measureFairness } from "./tasks/measure_fairness.ts";
import { measureStart } from "./tasks/measure_start.ts";
import { measureStored } from "./tasks/measure_stored.ts";
import { measurePeers, PEER_NAMES } from "./tasks/peers.ts";

const MEASURES = [
  "create",
  "batch",
  "drain",
  "sdk",
  "bodies",
  "start",
  "fairness",
  "claims",
  "restart",
  "lists",
  "peers",
] as const;

const HELP =
  `Measures the tasks service over HTTP, durable, with credentials and history.

usage: deno task bench:tasks [options]

  --only=<names>   only these measures, with commas between:
                   ${MEASURES.join(", ")}
  --seconds=<n>    how long each goes (5)
  --big            10,000,000 tasks stored for the claim rate, not 1,000,000
  --json           the result as JSON
  --help           this text

Peers (${PEER_NAMES.join(", ")}) are measured when their servers are
there: redis-server on the path, Postgres by the variables PGHOST, PGPORT, PGUSER,
PGPASSWORD and PGDATABASE. Their packages are fetched when they are measured.
`;

interface Options {
  readonly only: readonly string[];
  readonly ms: number;
  readonly big: boolean;
  readonly json: boolean;
}

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
      only: { type: "string" },
      seconds: { type: "string", default: "5" },
      big: { type: "boolean", default: false },
      json: { type: "boolean", default: false },
      help: { type: "boolean", default: false },
    },
  });
  if (values.help) {
    print(HELP);
    return 0;
  }
  const options = {
    only: onlyOf(values.only),
    ms: secondsOf(values.seconds) * 1_000,
    big: values.big,
    json: values.json,
  };
  const folder = await Deno.makeTempDir({ prefix: "tasks_bench_" });
  try {
    const disk = await probeDisk(folder);
    const bars = await measureAll(options, { folder, disk });
    report(bars, { disk, json: options.json });
    return bars.some((bar) => isMet(bar) === false) ? 1 : 0;
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

function onlyOf(text: string | undefined): readonly string[] {
  if (text === undefined) return MEASURES;
  const names = text.split(",");
  const unknown = names.find((name) => !MEASURES.some((one) => one === name));
  if (unknown === undefined) return names;
  throw new RangeError(
    `Cannot measure "${unknown}": the measures are ${MEASURES.join(", ")}`,
  );
}

function secondsOf(text: string): number {
  const seconds = Number(text);
  if (seconds >= 1 && seconds <= 600) return seconds;
  throw new RangeError(
    `Cannot measure for "${text}" seconds: it must be from 1 to 600`,
  );
}

async function measureAll(
  options: Options,
  { folder, disk }: { readonly folder: string; readonly disk: DiskSpeed },
): Promise<readonly Bar[]> {
  const { only, ms, big } = options;
  using load = new LoadThread();
  const bars: Bar[] = [];
  const measures: readonly [
    string,
    (run: FairnessRun) => Promise<readonly Bar[]>,
  ][] = [
    ["create", measureCreate],
    ["batch", measureBatch],
    ["drain", measureDrain],
    ["sdk", measureSdk],
    ["bodies", measureBodies],
    ["start", (run) => measureStart(run, disk)],
    ["fairness", measureFairness],
  ];
  for (const [name, measure] of measures) {
    if (!only.includes(name)) continue;
    tell(`measuring ${name}`);
    bars.push(...await withService(folder, { load, ms }, measure));
  }
  const claims = only.includes("claims");
  const starts = only.includes("restart");
  if (claims || starts) {
    tell("measuring with many tasks stored");
    const tasks = big ? 10_000_000 : 1_000_000;
    bars.push(...await measureStored({ folder, load, tasks, claims, starts }));
  }
  if (only.includes("lists")) {
    tell("measuring lists");
    bars.push(...await measureLists({ folder, load }));
  }
  if (only.includes("peers")) {
    bars.push(...await measurePeers({ folder, load, ms }));
  }
  return bars;
}

/**
 * Runs `use` with a service and a store of its own, so that measurements do not
 * affect each other.
 */
async function withService(
  folder: string,
  { load, ms }: Pick<BenchRun, "load" | "ms">,
  use: (run: FairnessRun) => Promise<readonly Bar[]>,
): Promise<readonly Bar[]> {
  const dataDir = await Deno.makeTempDir({ dir: folder });
  const service = await BenchService.start(dataDir);
  try {
    const { port, pid, metricsPort } = service;
    const bars = await use({
      port,
      metricsPort,
      pid,
      tenant: await makeTenant(port),
      load,
      ms,
    });
    await service.stop();
    return bars;
  } catch (error) {
    tell(await service.kill());
    throw error;
  } finally {
    await service.kill();
    await Deno.remove(dataDir, { recursive: true });
  }
}

function report(
  bars: readonly Bar[],
  { disk, json }: { readonly disk: DiskSpeed; readonly json: boolean },
): void {
  if (json) {
    const judged = bars.map((bar) => ({ ...bar, met: isMet(bar) ?? null }));
    print(JSON.stringify({ fdatasync: disk, bars: judged }, null, 2));
    return;
  }
  const { p50Ms, p99Ms } = disk;
  print(
    `fdatasync of 4 KiB: p50 ${p50Ms.toFixed(2)} ms, p99 ` +
      `${p99Ms.toFixed(2)} ms\n`,
  );
  print(tableOf(bars));
}
