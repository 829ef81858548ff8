/**
 * How long a start takes beside many memories: until the relayer answers, and until
 * owners with few and with many of them have their first recall.
 *
 * @module
 */

import { Mem } from "../../../mod.ts";
import { HashedEmbedder } from "../../../services/relayer/embed/hashed_embedder.ts";
import type { NewMemory } from "../../../services/relayer/store/rows.ts";
import { SqliteStore } from "../../../services/relayer/store/sqlite/sqlite_store.ts";
import { LocalVault } from "../../../services/relayer/vault/local_vault.ts";
import { systemClock } from "../../../services/shared/clock.ts";
import type { Logger } from "../../../services/shared/logger.ts";
import type { Bar } from "../tasks/bar.ts";
import {
  type BenchAccount,
  type BenchOwner,
  type BenchRelayer,
  startBenchRelayer,
} from "./bench_relayer.ts";
import { memoryText, question } from "./memory_texts.ts";

/** Memories of each owner that have blobs, which recalls ask for. */
const RECALLED = 20;
const BATCH = 200;

/**
 * Fills a data folder with `memories` of one owner and a few of another, and starts
 * the relayer on it.
 *
 * @throws {Error} When it does not start, or a recall finds nothing.
 */
export async function measureStart(
  dataDir: string,
  { memories }: { readonly memories: number },
): Promise<readonly Bar[]> {
  const accounts = await fill(dataDir, memories);
  await using relayer = await startBenchRelayer(dataDir, { accounts });
  const { owner } = accounts;
  const [fewMs, manyMs] = await Promise.all([
    firstRecallMs(relayer, accounts.other),
    firstRecallMs(relayer, accounts),
  ]);
  const againMs = await firstRecallMs(relayer, accounts);
  const shown = memories.toLocaleString("en");
  return [
    {
      name: `start to ready, ${shown} memories`,
      atMost: 3_000,
      value: relayer.readyMs,
      unit: "ms",
    },
    {
      name: "first recall at once, owner with 20",
      atMost: 100,
      value: fewMs,
      unit: "ms",
      note: "while the others are read",
    },
    {
      name: `first recall at once, owner with ${shown}`,
      value: manyMs,
      unit: "ms",
      note: `all of ${owner.slice(0, 6)}'s are read first; ` +
        `the next one ${againMs.toFixed(0)} ms`,
    },
  ];
}

async function firstRecallMs(
  { url }: BenchRelayer,
  account: BenchAccount,
): Promise<number> {
  await using mem = memOf(url, account);
  const beginMs = performance.now();
  const { results } = await mem.recall({ query: question(3) });
  if (results.length === 0) {
    throw new Error("Cannot measure: a recall found nothing");
  }
  return performance.now() - beginMs;
}

function memOf(url: string, { key, accountId }: BenchAccount): Mem {
  return Mem.create({ serverUrl: url, key, accountId });
}

/** What the process stores of two owners, and the rest of the first by hand. */
async function fill(
  dataDir: string,
  memories: number,
): Promise<BenchOwner & { readonly other: BenchOwner }> {
  const accounts = await rememberFew(dataDir);
  const options = { dataFolder: dataDir, clock: systemClock, logger: SILENT };
  const store = new SqliteStore(options);
  const vault = new LocalVault(options);
  const embedder = new HashedEmbedder();
  await store.start();
  try {
    await vault.start();
    for (let from = RECALLED; from < memories; from += BATCH) {
      const numbers = Array.from(
        { length: Math.min(BATCH, memories - from) },
        (_, at) => from + at,
      );
      const made = await embedder.embed(numbers.map(memoryText));
      if (made.kind !== "ok") throw new Error(made.reason);
      const { owner } = accounts;
      await store.commit(
        await Promise.all(made.vectors.map(async (vector, at) => {
          const sealedIndex = await vault.sealIndex(owner, {
            ...{ vector, model: embedder.model, metadata: {} },
          });
          const number = numbers[at] ?? 0;
          const memory = rowOf({ owner, number, sealedIndex });
          return { kind: "new_memory" as const, memory };
        })),
      );
    }
  } finally {
    await vault.stop();
    await store.stop();
  }
  return accounts;
}

async function rememberFew(
  dataDir: string,
): Promise<BenchOwner & { readonly other: BenchOwner }> {
  await using relayer = await startBenchRelayer(dataDir);
  const { key, accountId, owner, other } = relayer;
  const accounts = { key, accountId, owner, other };
  for (const account of [accounts, other]) {
    await using mem = memOf(relayer.url, account);
    for (let number = 0; number < RECALLED; number++) {
      await mem.rememberAndWait(memoryText(number));
    }
  }
  return accounts;
}

/** A row like any other, whose blob no recall asks for: it has another namespace. */
function rowOf(
  { owner, number, sealedIndex }:
    & Pick<NewMemory, "owner" | "sealedIndex">
    & { readonly number: number },
): NewMemory {
  const id = number.toString(16).padStart(26, "0");
  return {
    ...{ id, owner, namespace: "history", sealedIndex, importance: 0.5 },
    blobId: `history-${id}`,
    sizeBytes: 400,
    createdAtMs: systemClock.nowMs(),
    agentId: "ab".repeat(32),
    packageId: "0xee",
    keyId: `key-${id}`,
  };
}

const SILENT: Logger = {
  debug() {},
  info() {},
  warn() {},
  error() {},
};
