import { assertEquals } from "@std/assert";
import { Buffer } from "node:buffer";
import { SeededRandom } from "../../../../tests/support/seeded_random.ts";
import type { CounterBatch, CounterOperation } from "../counter_store.ts";
import { isAllHits, KvstoreHits } from "./kvstore_hits.ts";
import type { KvstoreOutcome } from "./kvstore_commands.ts";
import type { RedisCommand } from "./redis/command_writer.ts";
import { Expiries } from "./redis/expiries.ts";
import type { ListedHits, RedisLink } from "./redis/link.ts";
import { type Hit, MergedHits } from "./redis/merged_hits.ts";
import type { RedisOutcome, RedisReply } from "./redis/reply.ts";

const NOW = 1_795_219_261;

/** A link that gives the same replies to all hits; it keeps what was sent. */
class ReplyingLink implements RedisLink {
  readonly isUp = true;
  hits: Hit[] = [];
  listed: readonly RedisCommand[] = [];
  readonly #replies: readonly RedisReply[] | undefined;

  constructor(replies?: readonly RedisReply[]) {
    this.#replies = replies;
  }

  start(): void {}

  stop(): void {}

  send(): Promise<RedisOutcome> {
    throw new Error("Cannot send: these are hits");
  }

  hit<Answer>(hits: ListedHits<Answer>): Promise<Answer> {
    const merged = new MergedHits({
      expiries: new Expiries(),
      expire() {},
      onAnswered() {},
    });
    this.hits = [];
    merged.add = (_, hit) => void this.hits.push(hit);
    hits.addTo(merged, { reply() {} });
    this.listed = hits.listed();
    const replies = this.#replies ?? this.hits.map(() => 1);
    assertEquals(hits.count, this.hits.length);
    return Promise.resolve(hits.answer({ kind: "replied", replies }));
  }
}

function createBatch(operations: readonly Partial<CounterOperation>[]) {
  const text = operations.map((_, i) => `key ${i} ü_`);
  const keys = new TextEncoder().encode(text.join(""));
  let at = 0;
  return {
    keys,
    nowSeconds: NOW,
    operations: operations.map((operation, i): CounterOperation => ({
      algorithm: "fixed_window",
      keyStart: at,
      keyEnd: at += new TextEncoder().encode(text[i]).length,
      hits: 1,
      limit: 10,
      windowSeconds: 60,
      ...operation,
    })),
  } satisfies CounterBatch;
}

function createHits(
  random: () => number = () => 0,
): KvstoreHits<KvstoreOutcome> {
  const options = { expirationJitterMaxSeconds: 300, random };
  return new KvstoreHits(options, (outcome) => outcome);
}

Deno.test("isAllHits() holds for hits on fixed windows alone", () => {
  assertEquals(isAllHits(createBatch([{}, { hits: 7 }])), true);
  assertEquals(isAllHits(createBatch([{}, { hits: 0 }])), false);
  assertEquals(isAllHits(createBatch([{ hits: -1 }, {}])), false);
  assertEquals(
    isAllHits(createBatch([{}, { algorithm: "token_bucket" }])),
    false,
  );
});

Deno.test("KvstoreHits.count() adds the same hits as it lists, whatever the numbers", async () => {
  const random = new SeededRandom(5);
  for (let round = 0; round < 200; round++) {
    const batch = createBatch(
      Array.from({ length: 1 + random.below(4) }, () => ({
        hits: random.pick([1, 9, 10, 4_294_967_295, 2 ** 60]),
        windowSeconds: random.pick([1, 60, 3_600, 31_536_000]),
      })),
    );
    const link = new ReplyingLink();
    const share = random.next();
    await createHits(() => share).count(batch, { link, deadlineMs: 0 });
    const added = link.hits.flatMap((hit, i) => {
      assertEquals([hit.index, hit.isPair], [i, false]);
      const key = Buffer.from(hit.bytes.subarray(hit.start, hit.end));
      const name = `${key}${hit.number}`;
      return [
        ["INCRBY", name, String(hit.hits)],
        ["EXPIRE", name, String(hit.lifeSeconds)],
      ];
    });
    assertEquals(link.listed.map((command) => command.map(String)), added);
  }
});

Deno.test("KvstoreHits.count() lists commands that keep nothing of the batch", async () => {
  const batch = createBatch([{}]);
  const link = new ReplyingLink();
  await createHits().count(batch, { link, deadlineMs: 0 });
  batch.keys.fill(0x7a);
  assertEquals(link.listed.map((command) => command.map(String)), [
    ["INCRBY", "key 0 ü_1795219260", "1"],
    ["EXPIRE", "key 0 ü_1795219260", "60"],
  ]);
});

Deno.test("KvstoreHits.count() takes each count from its own reply", async () => {
  const most = Number.MAX_SAFE_INTEGER;
  const cases: ReadonlyArray<readonly [readonly RedisReply[], unknown]> = [
    [[5, 7], { kind: "counted", results: [5, 7] }],
    [
      [2 ** 60, { refusal: "ERR increment or decrement would overflow" }],
      { kind: "counted", results: [most, most] },
    ],
    [[{ refusal: "NOPERM", hasCounted: true }, { refusal: "OOM" }], {
      kind: "refused",
      reason: "NOPERM",
      mayHaveCounted: true,
    }],
    [[5, { refusal: "OOM" }], {
      kind: "refused",
      reason: "OOM",
      mayHaveCounted: true,
    }],
    [[{ refusal: "OOM" }, 5], {
      kind: "refused",
      reason: "OOM",
      mayHaveCounted: true,
    }],
    [[{ refusal: "OOM" }, { refusal: "OOM" }], {
      kind: "refused",
      reason: "OOM",
    }],
    [[5, "seven"], {
      kind: "refused",
      reason: "the counter's value is not a number",
      mayHaveCounted: true,
    }],
  ];
  for (const [replies, outcome] of cases) {
    const link = new ReplyingLink(replies);
    assertEquals(
      await createHits().count(createBatch([{}, {}]), { link, deadlineMs: 0 }),
      outcome,
    );
  }
});
