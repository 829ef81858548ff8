/**
 * Measures the relayer over HTTP, as a process with encryption on, against its
 * bars. Exits with 1 when a bar is missed.
 *
 * ```sh
 * deno task bench:relayer --help
 * ```
 *
 * @module
 */

import { parseArgs } from "node:util";
import { Mem } from "../../mod.ts";
import { messageOf, print, tell } from "../terminal.ts";
import {
  type BenchRelayer,
  startBenchRelayer,
} from "./relayer/bench_relayer.ts";
import { measureGrowth } from "./relayer/measure_growth.ts";
import { measureNeighbours } from "./relayer/measure_neighbours.ts";
import { measureStart } from "./relayer/measure_start.ts";
import { measureVault } from "./relayer/measure_vault.ts";
import { memoryText, question } from "./relayer/memory_texts.ts";
import { type Bar, isMet, tableOf } from "./tasks/bar.ts";
import { probeDisk } from "./tasks/disk_probe.ts";
import { quantile } from "./tasks/load_job.ts";

const HELP = `Measures the relayer over HTTP, with encryption on.

usage: deno task bench:relayer [options]

  --only=<names>   only these measures, with commas between: throughput, neighbours, start, growth, vault
  --seconds=<n>    how long memories are sent (10)
  --rate=<n>       memories a second (1050)
  --recalls=<n>    recalls that are timed (200)
  --memories=<list>  memories that there are at the start, one size after the
                   other (10000,100000)
  --json           the result as JSON
  --help           this text
`;

const MEASURES = ["throughput", "neighbours", "start", "growth", "vault"];
/** The measurements that share one relayer process. */
const WITH_RELAYER = ["throughput", "neighbours"];
/**
 * Memories that the growth measurement adds for each second of `--seconds`,
 * however long adding them takes.
 */
const GROWTH_RATE = 500;
const DRAIN_LIMIT_MS = 300_000;
const POLL_MS = 50;
const TICK_MS = 10;

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
      only: { type: "string", default: MEASURES.join() },
      seconds: { type: "string", default: "10" },
      rate: { type: "string", default: "1050" },
      recalls: { type: "string", default: "200" },
      memories: { type: "string", default: "10000,100000" },
      json: { type: "boolean", default: false },
      help: { type: "boolean", default: false },
    },
  });
  if (values.help) {
    print(HELP);
    return 0;
  }
  const folder = await Deno.makeTempDir({ prefix: "relayer_bench_" });
  try {
    const disk = await probeDisk(folder);
    const bars = await measure(folder, {
      only: onlyOf(values.only),
      seconds: numberOf("seconds", values.seconds),
      rate: numberOf("rate", values.rate),
      recalls: numberOf("recalls", values.recalls),
      memories: values.memories.split(",")
        .map((size) => numberOf("memories", size)),
    });
    if (values.json) print(JSON.stringify({ disk, bars }, null, 2));
    else {
      print(
        `fdatasync of 4 KiB: p50 ${disk.p50Ms.toFixed(2)} ms, ` +
          `p99 ${disk.p99Ms.toFixed(2)} ms\n\n${tableOf(bars)}`,
      );
    }
    return bars.some((bar) => isMet(bar) === false) ? 1 : 0;
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

interface Load {
  readonly only: readonly string[];
  readonly seconds: number;
  readonly rate: number;
  readonly recalls: number;
  readonly memories: readonly number[];
}

async function measure(folder: string, load: Load): Promise<readonly Bar[]> {
  const dataDir = `${folder}/data`;
  await Deno.mkdir(dataDir);
  const bars: Bar[] = [];
  if (load.only.includes("vault")) {
    tell("opening blobs behind key servers");
    bars.push(...await measureVault());
  }
  if (load.only.includes("start")) {
    const { recalls } = load;
    for (const memories of load.memories) {
      tell(`starting and recalling beside ${memories} memories`);
      const startDir = await Deno.makeTempDir({ dir: folder });
      bars.push(...await measureStart(startDir, { memories, recalls }));
      await Deno.remove(startDir, { recursive: true });
    }
  }
  if (load.only.includes("growth")) {
    tell("remembering beside few and beside many memories");
    bars.push(
      ...await measureGrowth(folder, {
        sizes: load.memories,
        count: load.seconds * GROWTH_RATE,
      }),
    );
  }
  if (!load.only.some((name) => WITH_RELAYER.includes(name))) return bars;
  await using relayer = await startBenchRelayer(dataDir);
  if (load.only.includes("neighbours")) {
    tell("sending large texts beside an owner's recalls");
    bars.push(...await measureNeighbours(relayer));
  }
  if (load.only.includes("throughput")) {
    bars.push(...await measureThroughput(relayer, load));
  }
  return bars;
}

async function measureThroughput(
  relayer: BenchRelayer,
  load: Load,
): Promise<readonly Bar[]> {
  await using mem = Mem.create({
    serverUrl: relayer.url,
    key: relayer.key,
    accountId: relayer.accountId,
  });
  await mem.rememberAndWait("The first memory warms everything up.");
  tell(`sending ${load.rate} memories a second for ${load.seconds} s`);
  const accepted = await sendAll(mem, load);
  tell(`${accepted.count} accepted; draining`);
  const drained = await drain(mem, accepted.count + 1);
  tell("recalling");
  const recalls = await recallAll(mem, load.recalls);
  const p = (sorted: Float64Array, share: number) =>
    quantile(sorted, share).toFixed(1);
  return [
    {
      name: `remembers accepted, ${load.rate}/s offered`,
      atLeast: Math.min(1_000, load.rate),
      value: accepted.count / accepted.seconds,
      unit: "/s",
      note: `p50 ${p(accepted.latenciesMs, 0.5)} ms, ` +
        `p99 ${p(accepted.latenciesMs, 0.99)} ms`,
    },
    {
      name: "drained after that",
      atLeast: 300,
      value: drained.perSecond,
      unit: "/s",
      note: `${drained.left} were left when sending ended`,
    },
    {
      name: `recall p50, ${accepted.count + 1} memories`,
      atMost: 15,
      value: quantile(recalls, 0.5),
      unit: "ms",
      digits: 1,
      note: `p95 ${p(recalls, 0.95)} ms`,
    },
  ];
}

/** Sends memories at a steady rate, without waiting for answers. */
async function sendAll(mem: Mem, { seconds, rate }: Load): Promise<{
  readonly count: number;
  readonly seconds: number;
  readonly latenciesMs: Float64Array;
}> {
  const total = seconds * rate;
  const latencies: number[] = [];
  const under: Promise<void>[] = [];
  let failed: unknown;
  const send = async (index: number): Promise<void> => {
    const sentMs = performance.now();
    try {
      await mem.remember(memoryText(index), {
        idempotencyKey: `bench-${index}`,
      });
      latencies.push(performance.now() - sentMs);
    } catch (error) {
      failed ??= error;
    }
  };
  const beginMs = performance.now();
  for (let sent = 0; sent < total;) {
    const due = Math.min(
      total,
      Math.ceil((performance.now() - beginMs + TICK_MS) * rate / 1_000),
    );
    while (sent < due) under.push(send(sent++));
    await new Promise((resolve) => setTimeout(resolve, TICK_MS));
  }
  await Promise.all(under);
  if (failed !== undefined) {
    throw new Error(
      `Cannot measure: ${total - latencies.length} were refused, the first ` +
        `with "${messageOf(failed)}"`,
      { cause: failed },
    );
  }
  return {
    count: latencies.length,
    seconds: (performance.now() - beginMs) / 1_000,
    latenciesMs: Float64Array.from(latencies).sort(),
  };
}

async function drain(
  mem: Mem,
  count: number,
): Promise<{ readonly left: number; readonly perSecond: number }> {
  const beginMs = performance.now();
  const left = count - (await mem.stats()).memory_count;
  while (performance.now() - beginMs < DRAIN_LIMIT_MS) {
    const { memory_count: there } = await mem.stats();
    if (there >= count) {
      const tookMs = Math.max(1, performance.now() - beginMs);
      return {
        left,
        perSecond: left === 0 ? Infinity : left / tookMs * 1_000,
      };
    }
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
  throw new Error("Cannot measure: the memories were not stored in 5 minutes");
}

/**
 * Recalls one after the other and returns the times; the first ten are not
 * counted.
 */
async function recallAll(mem: Mem, count: number): Promise<Float64Array> {
  const times: number[] = [];
  for (let index = -10; index < count; index++) {
    const beginMs = performance.now();
    const { results } = await mem.recall({ query: question(index + 10) });
    if (results.length === 0) {
      throw new Error("Cannot measure: a recall found nothing");
    }
    if (index >= 0) times.push(performance.now() - beginMs);
  }
  return Float64Array.from(times).sort();
}

function onlyOf(text: string): readonly string[] {
  const names = text.split(",");
  const unknown = names.find((name) => !MEASURES.includes(name));
  if (unknown === undefined) return names;
  throw new RangeError(
    `Cannot measure "${unknown}": there are ${MEASURES.join(" and ")}`,
  );
}

function numberOf(name: string, text: string): number {
  const value = Number(text);
  if (Number.isInteger(value) && value >= 1 && value <= 1_000_000) return value;
  throw new RangeError(
    `Cannot measure with --${name}="${text}": it must be a whole number above 0`,
  );
}
