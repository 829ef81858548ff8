/**
 * Measures what many memories cost: how long the relayer takes to start with
 * them, how much memory it needs, and how long recalls take, from the request
 * to the decrypted texts.
 *
 * @module
 */

import { Mem, type Ranking } from "../../../mod.ts";
import type { Bar } from "../tasks/bar.ts";
import { quantile } from "../tasks/load_job.ts";
import {
  type BenchAccount,
  type BenchAccounts,
  type BenchRelayer,
  createAccount,
  startBenchRelayer,
} from "./bench_relayer.ts";
import { storeMemories } from "./stored_memories.ts";
import { talkQuestion, talkText } from "./talk_texts.ts";

/** Number of memories of the second owner, who has few. */
const FEW = 20;
/**
 * Recalls that are not timed: meanwhile code is compiled and files are read
 * into the page cache.
 */
const WARM_UP = 500;
/**
 * Distance between the memories that successive questions are about, so that
 * the questions are spread over all memories.
 */
const QUESTION_STRIDE = 7_919;
/**
 * The least share of questions for which the memory that the question was made
 * from is among the ten results.
 */
const FOUND_SHARE = 0.8;
const MEGABYTE = 1e6;

/**
 * The bars for recalls, in milliseconds, each valid up to a number of memories.
 */
const RECALL_BARS = [
  { memories: 10_000, p50Ms: 4, p99Ms: 15 },
  { memories: 100_000, p50Ms: 15, p99Ms: 40 },
];
/** With more memories than this no bar is judged. */
const MOST_WITH_BARS = 100_000;

/** The amount of data and of recalls to measure with. */
export interface StartLoad {
  /** Number of memories of the owner with many. */
  readonly memories: number;
  /** Number of timed recalls for each ranking. */
  readonly recalls: number;
}

/**
 * Fills a data folder with many memories of one owner in one namespace and a
 * few of another owner, starts the relayer on it, and times recalls.
 *
 * @throws {Error} When the relayer does not start, or too few recalls find the
 * memory that they ask for.
 */
export async function measureStart(
  dataDir: string,
  { memories, recalls }: StartLoad,
): Promise<readonly Bar[]> {
  const accounts = {
    ...await createAccount(dataDir),
    other: await createAccount(dataDir),
  };
  await storeMemories(dataDir, [
    { owner: accounts.other.owner, count: FEW, textOf: talkText },
    { owner: accounts.owner, count: memories, textOf: talkText },
  ]);
  const shown = memories.toLocaleString("en");
  const rowsMs = await firstStartMs(dataDir, accounts);
  await using relayer = await startBenchRelayer(dataDir, { accounts });
  const [fewMs, manyMs] = await Promise.all([
    firstRecallMs(relayer, accounts.other),
    firstRecallMs(relayer, accounts),
  ]);
  const hasBars = memories <= MOST_WITH_BARS;
  const bars: Bar[] = [
    {
      name: `first recall ever, owner with ${shown}`,
      value: rowsMs,
      unit: "ms",
      note: "all rows are read; a snapshot is written at the end",
    },
    {
      name: `start to ready, ${shown} memories`,
      ...hasBars ? { atMost: 3_000 } : {},
      value: relayer.readyMs,
      unit: "ms",
    },
    {
      name: `first recall once ready, owner with ${FEW}`,
      atMost: 100,
      value: fewMs,
      unit: "ms",
    },
    {
      name: `first recall once ready, owner with ${shown}`,
      ...hasBars ? { atMost: 100 } : {},
      value: manyMs,
      unit: "ms",
      note: "the snapshot is read before it is ready",
    },
  ];
  for (const ranking of ["fused", "semantic"] as const) {
    bars.push(
      ...await recallBars(relayer, { accounts, ranking, memories, recalls }),
    );
  }
  const bytes = await relayer.residentBytes();
  if (bytes === undefined) return bars;
  return [...bars, {
    name: `memory of the process, ${shown} memories`,
    ...hasBars ? { atMost: 450 } : {},
    value: bytes / MEGABYTE,
    unit: "MB",
  }];
}

/**
 * Starts the relayer without an index snapshot, so that it reads the stored
 * rows and writes a snapshot for the next start; returns the time of the first
 * recall.
 */
async function firstStartMs(
  dataDir: string,
  accounts: BenchAccounts,
): Promise<number> {
  await using relayer = await startBenchRelayer(dataDir, { accounts });
  return await firstRecallMs(relayer, accounts);
}

async function recallBars(
  { url }: BenchRelayer,
  { accounts, ranking, memories, recalls }: StartLoad & {
    readonly accounts: BenchAccount;
    readonly ranking: Ranking;
  },
): Promise<readonly Bar[]> {
  await using mem = memOf(url, accounts);
  const times: number[] = [];
  let found = 0;
  for (let index = -WARM_UP; index < recalls; index++) {
    const number = (index + WARM_UP) * QUESTION_STRIDE % memories;
    const query = talkQuestion(number);
    const beginMs = performance.now();
    const { results } = await mem.recall({ query, ranking });
    if (index < 0) continue;
    times.push(performance.now() - beginMs);
    const text = talkText(number);
    if (results.some((memory) => memory.text === text)) found++;
  }
  if (ranking === "fused" && found < FOUND_SHARE * recalls) {
    throw new Error(
      `Cannot measure: ${found} of ${recalls} questions found their memory`,
    );
  }
  const sorted = Float64Array.from(times).sort();
  // The semantic ranking (by vector distance alone) is what other products
  // offer: it is reported for comparison, without a bar.
  const limits = ranking === "fused"
    ? RECALL_BARS.find((limits) => memories <= limits.memories)
    : undefined;
  const shown = memories.toLocaleString("en");
  const p = (share: number): number => quantile(sorted, share);
  return [
    {
      name: `recall ${ranking} p50, ${shown} memories`,
      ...limits === undefined ? {} : { atMost: limits.p50Ms },
      value: p(0.5),
      unit: "ms",
      digits: 1,
      note: `${found} of ${recalls} found what they were made of`,
    },
    {
      name: `recall ${ranking} p99, ${shown} memories`,
      ...limits === undefined ? {} : { atMost: limits.p99Ms },
      value: p(0.99),
      unit: "ms",
      digits: 1,
      note: `p95 ${p(0.95).toFixed(1)} ms`,
    },
  ];
}

async function firstRecallMs(
  { url }: BenchRelayer,
  account: BenchAccount,
): Promise<number> {
  await using mem = memOf(url, account);
  const beginMs = performance.now();
  const { results } = await mem.recall({
    query: talkQuestion(3),
    ranking: "fused",
  });
  if (results.length === 0) {
    throw new Error("Cannot measure: a recall found nothing");
  }
  return performance.now() - beginMs;
}

function memOf(url: string, { key, accountId }: BenchAccount): Mem {
  return Mem.create({ serverUrl: url, key, accountId });
}
