/**
 * Measures how many memories a relayer accepts and stores in a second when it
 * holds few and when it holds many: remembering must not become slower as
 * memories accumulate.
 *
 * @module
 */

import { Mem } from "../../../mod.ts";
import type { Bar } from "../tasks/bar.ts";
import { createAccount, startBenchRelayer } from "./bench_relayer.ts";
import { storeMemories } from "./stored_memories.ts";
import { talkText } from "./talk_texts.ts";

/** Number of calls that are under way at once. */
const PARALLEL = 32;
/** Number of texts in a call. */
const BATCH = 20;
const POLL_MS = 500;
const DRAIN_LIMIT_MS = 300_000;
/** The least rate with many memories, as a share of the rate with few. */
const LEAST_SHARE = 0.8;

/**
 * The rates that were measured at one number of stored memories, per second.
 */
interface Rate {
  readonly memories: number;
  readonly accepted: number;
  readonly stored: number;
}

/**
 * For each size, starts a relayer that holds that number of memories and
 * remembers `count` more as fast as it accepts them.
 *
 * @throws {Error} When the memories are not stored in five minutes.
 */
export async function measureGrowth(
  folder: string,
  { sizes, count }: {
    readonly sizes: readonly number[];
    readonly count: number;
  },
): Promise<readonly Bar[]> {
  const rates: Rate[] = [];
  for (const memories of sizes) {
    const dataDir = await Deno.makeTempDir({ dir: folder });
    rates.push(await rateBeside(dataDir, { memories, count }));
    await Deno.remove(dataDir, { recursive: true });
  }
  const [few] = rates;
  return rates.flatMap(({ memories, accepted, stored }) => {
    const shown = memories.toLocaleString("en");
    const barOf = (least: number | undefined) =>
      least === undefined || few?.memories === memories
        ? {}
        : { atLeast: LEAST_SHARE * least };
    return [
      {
        name: `accepted beside ${shown} memories`,
        ...barOf(few?.accepted),
        value: accepted,
        unit: "/s",
      },
      {
        name: `stored beside ${shown} memories`,
        ...barOf(few?.stored),
        value: stored,
        unit: "/s",
      },
    ];
  });
}

async function rateBeside(
  dataDir: string,
  { memories, count }: { readonly memories: number; readonly count: number },
): Promise<Rate> {
  const account = await createAccount(dataDir);
  const { owner, key, accountId } = account;
  await storeMemories(dataDir, [
    { owner, count: memories, textOf: talkText },
  ]);
  const accounts = { ...account, other: account };
  await using relayer = await startBenchRelayer(dataDir, { accounts });
  await using mem = Mem.create({ serverUrl: relayer.url, key, accountId });
  // A first recall loads the owner's memories into the index before more are
  // added.
  await mem.recall({ query: "anything" });
  const before = (await mem.stats()).memory_count;
  const beginMs = performance.now();
  let sent = 0;
  const send = async (): Promise<void> => {
    while (sent < count) {
      const from = sent;
      sent += BATCH;
      await mem.rememberBulk(
        Array.from(
          { length: Math.min(BATCH, count - from) },
          (_, at) => ({ text: talkText(memories + from + at) }),
        ),
      );
    }
  };
  await Promise.all(Array.from({ length: PARALLEL }, send));
  const acceptedMs = performance.now() - beginMs;
  while (performance.now() - beginMs < DRAIN_LIMIT_MS) {
    if ((await mem.stats()).memory_count >= before + count) {
      const storedMs = performance.now() - beginMs;
      return {
        memories,
        accepted: count / acceptedMs * 1_000,
        stored: count / storedMs * 1_000,
      };
    }
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
  throw new Error("Cannot measure: the memories were not stored in 5 minutes");
}
