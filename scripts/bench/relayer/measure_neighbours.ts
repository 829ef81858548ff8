/**
 * Measures how long one owner waits for recalls while another owner remembers
 * and recalls large texts.
 *
 * @module
 */

import { Mem } from "../../../mod.ts";
import type { Bar } from "../tasks/bar.ts";
import { quantile } from "../tasks/load_job.ts";
import type { BenchRelayer } from "./bench_relayer.ts";
import type {
  LargeTextsJob,
  LargeTextsReply,
  LargeTextsResult,
} from "./large_texts.ts";
import { memoryText, question } from "./memory_texts.ts";

const MEMORIES = 50;
const QUIET_MS = 2_000;
const FLOOD_MS = 3_000;
const PROBE_EVERY_MS = 10;
const BAR_MS = 100;
/**
 * When recalls without any neighbour take longer than this, the machine is busy
 * with other work and the bars are not judged.
 */
const QUIET_BAR_MS = 20;

/**
 * Measures the recall times of the owner `other` while the first owner sends
 * large texts.
 */
export async function measureNeighbours(
  relayer: BenchRelayer,
): Promise<readonly Bar[]> {
  const { url, key, accountId, other } = relayer;
  using flood = new Flood();
  const mem = Mem.create({ serverUrl: url, ...other });
  for (let at = 0; at < MEMORIES; at += 10) {
    await mem.rememberBulkAndWait(
      Array.from(
        { length: 10 },
        (_, item) => ({ text: memoryText(at + item) }),
      ),
    );
  }
  const quiet = await probe(mem, pause(QUIET_MS));
  const quietMs = quantile(quiet, 0.99);
  const unjudged = quietMs <= QUIET_BAR_MS
    ? {}
    : { unjudged: "the machine has other work: see the row without a bar" };
  const bars: Bar[] = [{
    name: "recall p99 of an owner, alone",
    value: quietMs,
    unit: "ms",
    digits: 1,
    note: `p50 ${quantile(quiet, 0.5).toFixed(1)} ms`,
  }];
  const floods = [
    ["5 remembers of 1 MB", { call: "remember", parallel: 5, forMs: 0 }],
    ["7 recalls of 1 MB memories", { call: "recall", parallel: 7, forMs: 0 }],
    ["20 such recalls at a time", {
      call: "recall",
      parallel: 20,
      forMs: FLOOD_MS,
    }],
  ] as const;
  for (const [name, job] of floods) {
    const done = flood.run({ url, key, accountId, ...job });
    const times = await probe(mem, done);
    const { calls, chars, tookMs } = await done;
    bars.push({
      name: `recall p99 beside another's ${name}`,
      atMost: BAR_MS,
      ...unjudged,
      value: quantile(times, 0.99),
      unit: "ms",
      digits: 1,
      note: `p50 ${quantile(times, 0.5).toFixed(1)} ms, ${times.length} of ` +
        `them; ${calls} calls with ${(chars / 1e6).toFixed(0)} MB ` +
        `in ${tookMs.toFixed(0)} ms`,
    });
    await mem.recall({ query: question(0) });
    await pause(QUIET_MS / 4);
  }
  mem.destroy();
  return bars;
}

/**
 * Recalls at a steady rate, without waiting for answers, until `over` settles;
 * returns the latencies, sorted.
 */
async function probe(
  mem: Mem,
  over: Promise<unknown>,
): Promise<Float64Array> {
  const times: number[] = [];
  const under: Promise<void>[] = [];
  let isOver = false;
  void over.finally(() => isOver = true);
  const recall = async (): Promise<void> => {
    const sentMs = performance.now();
    await mem.recall({ query: question(under.length), limit: 3 });
    times.push(performance.now() - sentMs);
  };
  while (!isOver) {
    under.push(recall());
    await pause(PROBE_EVERY_MS);
  }
  await Promise.all(under);
  return Float64Array.from(times).sort();
}

/** Controls the thread that sends large texts. */
class Flood implements Disposable {
  readonly #worker = new Worker(new URL("./large_texts.ts", import.meta.url), {
    type: "module",
  });

  /** Runs a job and returns its result; only one job at a time. */
  run(job: LargeTextsJob): Promise<LargeTextsResult> {
    const done = Promise.withResolvers<LargeTextsResult>();
    this.#worker.onmessage = (
      { data: reply }: MessageEvent<LargeTextsReply>,
    ) => {
      if (reply.kind === "ok") done.resolve(reply.result);
      else done.reject(new Error(reply.message));
    };
    this.#worker.onerror = (event) => {
      event.preventDefault();
      done.reject(new Error(`Cannot send large texts: ${event.message}`));
    };
    this.#worker.postMessage(job);
    return done.promise;
  }

  [Symbol.dispose](): void {
    this.#worker.terminate();
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
