/**
 * Measures the relayer: how well recall finds the memories that answer a
 * question, and what many memories cost. No model answers questions or judges
 * answers: results are compared with known ones.
 *
 * ```sh
 * deno task bench:relayer --help
 * ```
 *
 * @module
 */

import { Mem, type Ranking } from "../../mod.ts";
import {
  derivePublicKey,
  deriveUserKey,
  isUserKeyOf,
  newMasterSecret,
} from "../../sdk/vault/identity_encryption.ts";
import { finish } from "../../services/relayer/concurrency/testing/finish.ts";
import { VectorIndex } from "../../services/relayer/recall/vector_index.ts";
import { sampleContent } from "../../services/relayer/vault/testing/open_vault.ts";
import { ThresholdWorld } from "../../services/relayer/vault/testing/threshold_world.ts";
import { integerOption, listOption } from "../../services/shared/options.ts";
import { tell } from "../terminal.ts";
import type { Bar } from "./kit/bars.ts";
import { type BenchRun, runBench } from "./kit/bench_run.ts";
import { pause, quantile, randomNumbers, sorted } from "./kit/numbers.ts";
import {
  type BenchAccount,
  createAccount,
  startRelayer,
} from "./relayer/relayer_process.ts";
import { measureAgents } from "./relayer/agents.ts";
import { measureShared, measureSharedRecall } from "./relayer/shared.ts";
import { measureRetrieval, RETRIEVAL_FLAGS } from "./relayer/retrieval.ts";
import { storeMemories } from "./relayer/stored_memories.ts";
import { talkQuestion, talkText } from "./relayer/talk_texts.ts";

/** Number of memories of the second owner, who has few. */
const FEW = 20;
/**
 * Recalls and searches that are not timed: meanwhile code is compiled and files
 * are read into the page cache.
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
/**
 * The longest times of recalls, in milliseconds, each valid up to a number of
 * memories. With more than the last no bar is judged.
 */
const RECALL_BARS = [
  { memories: 10_000, p50Ms: 4, p99Ms: 15 },
  { memories: 100_000, p50Ms: 15, p99Ms: 40 },
];
/**
 * Memories that the growth measurement adds for each second of `--seconds`,
 * however long adding them takes.
 */
const GROWTH_RATE = 500;
/** Number of calls that are under way at once, and of texts in a call. */
const PARALLEL = 32;
const BATCH = 20;
const DRAIN_LIMIT_MS = 300_000;
/** The least rate with many memories, as a share of the rate with few. */
const LEAST_SHARE = 0.8;
const VAULT_OWNER = `0x${"a1".repeat(32)}`;
const VAULT_MEMORIES = 10;
const COLD_ROUNDS = 10;
const WARM_ROUNDS = 200;
const WIDTHS = [384, 1_536];
/** Searches that are timed, those before, and those that are compared. */
const SEARCHES = 100;
const SEARCH_WARM_UP = 20;
const COMPARED = 20;
const LIMIT = 10;
/** The least share of the ten nearest vectors that the search has to find. */
const LEAST_AGREEMENT = 0.98;
const CLUSTERS = 200;
/**
 * How far the vectors of a cluster lie from its centre, whose components are
 * below 1.
 */
const SPREAD = 0.5;
const SPARSE_COLUMNS = 40;

const FLAGS = {
  ...RETRIEVAL_FLAGS,
  memories: listOption({
    help: "Memories that there are, one size after the other.",
    default: ["10000", "100000"],
  }),
  recalls: integerOption({
    help: "Recalls that are timed at the start.",
    ...{ default: 200, min: 1 },
  }),
} as const;

type Run = BenchRun<typeof FLAGS>;

if (import.meta.main) {
  await runBench({
    usage: "bench:relayer [file]",
    about:
      `Measures what the relayer finds, and how fast it is with many memories.

Retrieval compares what words alone find (BM25, k1 .9, b .4, the same stemmers),
what vectors of the built-in embedder find alone, and what recall finds with
ranking: "fused". The file is JSON of conversations as in LoCoMo: a namespace for
each, a memory for each turn; it is left out with a notice where it is not there.
Through HTTP, a relayer process remembers and recalls as applications do, and
another one has an embedding endpoint that gives random vectors.

The project's own sets are notes of many shapes, chats as people write them, and
facts that changed. Weights are to be chosen on them and on the first three
conversations alone. Categories of conversations are named by the numbers that the
file has; 5 has no answer, and does not count in the first row.`,
    measures: {
      retrieval: measureRetrieval,
      start: measureStart,
      growth: measureGrowth,
      vault: measureVault,
      vectors: measureVectors,
      shared: measureShared,
      mcp: (run) => measureAgents(run, run.values),
      "shared-recall": (run) =>
        measureSharedRecall(run, {
          sizes: run.values.memories.map(Number),
          recalls: run.values.recalls,
        }),
    },
    rounds: 1,
    seconds: 10,
    positionals: 1,
    flags: FLAGS,
  });
}

/**
 * Fills a data folder with many memories of one owner in one namespace and a
 * few of another owner, starts the relayer on it, and times recalls.
 */
async function measureStart(run: Run): Promise<void> {
  for (const memories of run.values.memories.map(Number)) {
    tell(`  beside ${memories} memories`);
    await measureStartWith(run, memories);
    await run.stopAll();
  }
}

async function measureStartWith(
  run: Run,
  memories: number,
): Promise<void> {
  const dataDir = await run.makeFolder();
  const many = await createAccount({ DATA_DIR: dataDir });
  const few = await createAccount({ DATA_DIR: dataDir });
  await storeMemories({ DATA_DIR: dataDir }, [
    { owner: few.owner, count: FEW, createText: talkText },
    { owner: many.owner, count: memories, createText: talkText },
  ]);
  // Without a snapshot of the index the relayer reads all rows, and writes one
  // for the next start.
  const first = await startRelayer({ DATA_DIR: dataDir });
  const rowsMs = await firstRecallMs(first.url, many);
  const wholeMs = rowsMs + await wholeRecallMs(first.url, many);
  await first.process.stop();
  const { url, process } = await startRelayer({ DATA_DIR: dataDir });
  run.keep(process);
  const [fewMs, manyMs] = await Promise.all([
    firstRecallMs(url, few),
    firstRecallMs(url, many),
  ]);
  const shown = memories.toLocaleString("en");
  const limit = (atMost: number) => barWith(memories, () => atMost);
  run.bars.push({
    name: `first recall ever, owner with ${shown}`,
    ...limit(2_000),
    value: rowsMs,
    unit: "ms",
    note: "by what is read by then",
  }, {
    name: `the first that finds all, owner with ${shown}`,
    ...limit(5_000),
    value: wholeMs,
    unit: "ms",
    note: "all rows are read; a snapshot is written at the end",
  }, {
    name: `start to ready, ${shown} memories`,
    ...limit(3_000),
    value: process.readyMs,
    unit: "ms",
  }, {
    name: `first recall once ready, owner with ${FEW}`,
    atMost: 100,
    value: fewMs,
    unit: "ms",
  }, {
    name: `first recall once ready, owner with ${shown}`,
    ...limit(100),
    value: manyMs,
    unit: "ms",
    note: "the snapshot is read before it is ready",
  });
  for (const ranking of ["fused", "semantic"] as const) {
    await using mem = openMem(url, many);
    run.bars.push(
      ...await recallBars(mem, {
        ...{ ranking, memories, recalls: run.values.recalls },
      }),
    );
  }
  run.bars.push({
    name: `memory of the process, ${shown} memories`,
    ...limit(450),
    value: (await process.usage()).residentBytes / 1e6,
    unit: "MB",
  });
}

/** Returns the limit that holds with so many memories, if there is one. */
function barWith(
  memories: number,
  read: (limits: typeof RECALL_BARS[number]) => number,
): Pick<Bar, "atMost"> {
  const limits = RECALL_BARS.find((limits) => memories <= limits.memories);
  return limits === undefined ? {} : { atMost: read(limits) };
}

async function recallBars(
  mem: Mem,
  { ranking, memories, recalls }: {
    readonly ranking: Ranking;
    readonly memories: number;
    readonly recalls: number;
  },
): Promise<readonly Bar[]> {
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
  const isFused = ranking === "fused";
  if (isFused && found < FOUND_SHARE * recalls) {
    throw new Error(
      `Cannot measure: ${found} of ${recalls} questions found their memory`,
    );
  }
  const all = sorted(times);
  const shown = memories.toLocaleString("en");
  const common = { unit: "ms", digits: 1 };
  // The semantic ranking (by vector distance alone) is what other products
  // offer: it is reported for comparison, without a bar.
  return [
    {
      ...{ ...common, name: `recall ${ranking} p50, ${shown} memories` },
      ...isFused ? barWith(memories, ({ p50Ms }) => p50Ms) : {},
      value: quantile(all, 0.5),
      note: `${found} of ${recalls} found what they were made of`,
    },
    {
      ...{ ...common, name: `recall ${ranking} p99, ${shown} memories` },
      ...isFused ? barWith(memories, ({ p99Ms }) => p99Ms) : {},
      value: quantile(all, 0.99),
      note: `p95 ${quantile(all, 0.95).toFixed(1)} ms`,
    },
  ];
}

async function firstRecallMs(
  url: string,
  account: BenchAccount,
): Promise<number> {
  await using mem = openMem(url, account);
  const beginMs = performance.now();
  const query = talkQuestion(3);
  const { results } = await mem.recall({ query, ranking: "fused" });
  if (results.length > 0) return performance.now() - beginMs;
  throw new Error("Cannot measure: a recall found nothing");
}

/** Recalls until all memories are read; returns how long that takes. */
async function wholeRecallMs(
  url: string,
  account: BenchAccount,
): Promise<number> {
  await using mem = openMem(url, account);
  const beginMs = performance.now();
  const query = talkQuestion(3);
  while ((await mem.recall({ query, ranking: "fused" })).partial === true);
  return performance.now() - beginMs;
}

function openMem(url: string, { key, accountId }: BenchAccount): Mem {
  return Mem.create({ serverUrl: url, key, accountId });
}

/**
 * Measures how many memories a relayer accepts and stores in a second when it
 * holds few and when it holds many: remembering must not become slower as
 * memories accumulate.
 */
async function measureGrowth(run: Run): Promise<void> {
  await run.diskMs();
  const known: Partial<Record<string, number>> = {};
  for (const memories of run.values.memories.map(Number)) {
    tell(`  remembering beside ${memories} memories`);
    const rates = await ratesBeside(run, memories);
    for (const [name, value] of Object.entries(rates)) {
      const few = known[name];
      known[name] ??= value;
      run.bars.push({
        name: `${name} beside ${memories.toLocaleString("en")} memories`,
        ...few === undefined ? {} : { atLeast: LEAST_SHARE * few },
        value,
        unit: "/s",
      });
    }
    await run.stopAll();
  }
}

async function ratesBeside(
  run: Run,
  memories: number,
): Promise<Readonly<Record<"accepted" | "stored", number>>> {
  const count = run.values.seconds * GROWTH_RATE;
  const dataDir = await run.makeFolder();
  const account = await createAccount({ DATA_DIR: dataDir });
  const { owner } = account;
  await storeMemories({ DATA_DIR: dataDir }, [{
    owner,
    count: memories,
    createText: talkText,
  }]);
  const { url, process } = await startRelayer({ DATA_DIR: dataDir });
  run.keep(process);
  await using mem = openMem(url, account);
  // A first recall loads the owner's memories into the index before more are
  // added.
  await mem.recall({ query: "anything" });
  const before = (await mem.stats()).memory_count;
  const beginMs = performance.now();
  let sent = 0;
  const send = async (): Promise<void> => {
    while (sent < count) {
      const from = memories + sent;
      const length = Math.min(BATCH, count - sent);
      sent += BATCH;
      await mem.rememberBulk(
        Array.from({ length }, (_, at) => ({ text: talkText(from + at) })),
      );
    }
  };
  await Promise.all(Array.from({ length: PARALLEL }, send));
  const accepted = count / (performance.now() - beginMs) * 1_000;
  while (performance.now() - beginMs < DRAIN_LIMIT_MS) {
    if ((await mem.stats()).memory_count >= before + count) {
      return {
        accepted,
        stored: count / (performance.now() - beginMs) * 1_000,
      };
    }
    await pause(500);
  }
  throw new Error("Cannot measure: the memories were not stored in 5 minutes");
}

/**
 * Measures what key servers cost the relayer: opening ten blobs of an owner
 * whose key has to be fetched first, and opening them once the key is known.
 * There are three key servers, of which two have to answer; they are in this
 * process and answer at once.
 */
async function measureVault(run: Run): Promise<void> {
  await ThresholdWorld.with(async (world) => {
    const blobs: Uint8Array[] = [];
    for (let at = 0; at < VAULT_MEMORIES; at++) {
      const content = sampleContent({ id: `memory-${at}` });
      blobs.push((await world.seal(VAULT_OWNER, content)).bytes);
    }
    const openAll = async (): Promise<number> => {
      const beginMs = performance.now();
      for (const bytes of blobs) {
        const { kind } = await world.vault.open(VAULT_OWNER, bytes);
        if (kind !== "ok") throw new Error("Cannot measure: a blob is shut");
      }
      return performance.now() - beginMs;
    };
    const [cold, warm]: [number[], number[]] = [[], []];
    for (let round = 0; round < COLD_ROUNDS; round++) {
      await world.restart();
      await world.signIn(VAULT_OWNER);
      cold.push(await openAll());
    }
    for (let round = 0; round < WARM_ROUNDS; round++) {
      warm.push(await openAll());
    }
    run.bars.push({
      name: "ten blobs opened, owner's key known, p50",
      atMost: 5,
      value: quantile(sorted(warm), 0.5),
      unit: "ms",
      digits: 2,
      note: `p99 ${quantile(sorted(warm), 0.99).toFixed(2)} ms`,
    }, {
      name: "ten blobs opened, owner's key fetched, p50",
      value: quantile(sorted(cold), 0.5),
      unit: "ms",
      digits: 1,
      note: `with the three key servers' own work; a key is checked in ` +
        `${keyCheckMs().toFixed(1)} ms`,
    });
  });
}

/**
 * Returns how many milliseconds the check of a user key takes, which computes
 * two pairings at once.
 */
function keyCheckMs(): number {
  const secret = newMasterSecret();
  const publicKey = derivePublicKey(secret);
  const fullId = new Uint8Array(72);
  const userKey = deriveUserKey(secret, fullId);
  const beginMs = performance.now();
  for (let round = 0; round < COLD_ROUNDS; round++) {
    if (!isUserKeyOf(userKey, { fullId, publicKey })) {
      throw new Error("Cannot measure: a key is not its own");
    }
  }
  return (performance.now() - beginMs) / COLD_ROUNDS;
}

/**
 * Measures the vector search alone, in this process: how long it takes by
 * number and width of vectors, and whether its ten nearest results are those
 * that a plain loop over all vectors finds.
 */
function measureVectors(run: Run): Promise<void> {
  for (const memories of run.values.memories.map(Number)) {
    for (const width of WIDTHS) {
      for (const [shape, makeVector] of Object.entries(vectorMakers(width))) {
        const shown = `${memories.toLocaleString("en")} × ${width} ${shape}`;
        tell(`  ${shown}`);
        run.bars.push(...searchBars(shown, { memories, width, makeVector }));
      }
    }
  }
  return Promise.resolve();
}

/**
 * Makers of vectors by their shape: groups of alike ones, as texts on few
 * subjects have; any direction; few columns, as the built-in embedder makes
 * them.
 */
function vectorMakers(
  width: number,
): Readonly<Record<string, () => Float32Array>> {
  const next = randomNumbers(1);
  // The sum of four uniform numbers is close enough to a normal distribution.
  const normal = (): number => next() + next() + next() + next() - 2;
  const dense = (): Float32Array =>
    Float32Array.from({ length: width }, normal);
  const middles = Array.from({ length: CLUSTERS }, dense);
  return {
    clustered() {
      const middle = middles[Math.floor(next() * CLUSTERS)];
      return dense().map((value, at) => (middle?.[at] ?? 0) + SPREAD * value);
    },
    random: dense,
    sparse() {
      const vector = new Float32Array(width);
      for (let column = 0; column < SPARSE_COLUMNS; column++) {
        // Squaring makes low columns more frequent, like the columns of common
        // words.
        vector[Math.floor(next() ** 2 * width)] = normal();
      }
      return vector;
    },
  };
}

function searchBars(
  shown: string,
  { memories, width, makeVector }: {
    readonly memories: number;
    readonly width: number;
    readonly makeVector: () => Float32Array;
  },
): readonly Bar[] {
  const index = new VectorIndex(width);
  const place = { owner: "owner", namespace: "default" };
  const vectors: Float32Array[] = [];
  const addedMs = performance.now();
  for (let number = 0; number < memories; number++) {
    const vector = makeVector();
    vectors.push(vector);
    index.add({
      ...{ ...place, id: String(number), vector, blobId: "", sizeBytes: 1 },
      ...{ createdAtMs: 0, importance: 0.5, metadata: {} },
    });
  }
  const addMicros = (performance.now() - addedMs) * 1_000 / memories;
  const times: number[] = [];
  let agreed = 0;
  for (let at = -SEARCH_WARM_UP; at < SEARCHES; at++) {
    const vector = makeVector();
    const beginMs = performance.now();
    const hits = finish(index.searchSteps({ ...place, vector, limit: LIMIT }));
    if (at < 0) continue;
    times.push(performance.now() - beginMs);
    if (at >= COMPARED) continue;
    const closest = new Set(plainSearch(vectors, vector));
    agreed += hits.filter(({ id }) => closest.has(id)).length;
  }
  return [
    {
      name: `search p50, ${shown}`,
      // The longest time of a whole recall, of which the search is a part.
      ...barWith(memories, ({ p50Ms }) => p50Ms),
      value: quantile(sorted(times), 0.5),
      ...{ unit: "ms", digits: 2 },
      note: `p99 ${quantile(sorted(times), 0.99).toFixed(1)} ms; ` +
        `${addMicros.toFixed(0)} µs to make and add each, ` +
        `${(index.bytes / memories).toFixed(0)} bytes`,
    },
    {
      name: `of the ten closest found, ${shown}`,
      atLeast: LEAST_AGREEMENT,
      value: agreed / (LIMIT * COMPARED),
      ...{ unit: "", digits: 3 },
    },
  ];
}

/**
 * Returns the ids of the ten vectors with the greatest cosines; of equal ones
 * the lower id comes first.
 */
function plainSearch(
  vectors: readonly Float32Array[],
  query: Float32Array,
): readonly string[] {
  const cosines = vectors.map((vector, number) => {
    let [product, square] = [0, 0];
    for (let column = 0; column < query.length; column++) {
      const value = vector[column]!;
      product += value * query[column]!;
      square += value * value;
    }
    const cosine = square === 0 ? 0 : product / Math.sqrt(square);
    return { id: String(number), cosine };
  });
  return cosines.sort((one, other) =>
    other.cosine - one.cosine || (one.id < other.id ? -1 : 1)
  ).slice(0, LIMIT).map(({ id }) => id);
}
