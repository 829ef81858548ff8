import { assert, assertEquals } from "@std/assert";
import { Buffer } from "node:buffer";
import { SeededRandom } from "../../../../tests/support/seeded_random.ts";
import type { CounterBatch, CounterOperation } from "../counter_store.ts";
import { isAllHits, KvstoreHits } from "./kvstore_hits.ts";
import { commandList, type RedisCommands } from "./redis/client.ts";
import { CommandWriter, type RedisCommand } from "./redis/command_writer.ts";
import type { RedisLink } from "./redis/link.ts";
import type { RedisOutcome, RedisReply } from "./redis/reply.ts";

const NOW = 1_795_219_261;

/** A link that gives the same replies to every call; it keeps what was sent. */
class ReplyingLink implements RedisLink {
  readonly isUp = true;
  written = "";
  listed: readonly RedisCommand[] = [];
  readonly #replies: readonly RedisReply[] | undefined;

  constructor(replies?: readonly RedisReply[]) {
    this.#replies = replies;
  }

  start(): void {}

  stop(): void {}

  send(commands: RedisCommands): Promise<RedisOutcome> {
    assert("writeTo" in commands);
    const writer = new CommandWriter();
    commands.writeTo(writer);
    this.written = Buffer.from(writer.take()).toString("latin1");
    this.listed = commandList(commands);
    const replies = this.#replies ?? this.listed.map(() => 1);
    return Promise.resolve({ kind: "replied", replies });
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

function createHits(random: () => number = () => 0): KvstoreHits {
  return new KvstoreHits({ expirationJitterMaxSeconds: 300, random });
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

Deno.test("KvstoreHits.count() writes the same as it lists, whatever the numbers", async () => {
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
    const writer = new CommandWriter();
    for (const command of link.listed) writer.add(command);
    assertEquals(
      link.written,
      Buffer.from(writer.take()).toString("latin1"),
    );
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
    [[5, 1, 7, 1], { kind: "counted", results: [5, 7] }],
    [
      [2 ** 60, 1, { refusal: "ERR increment or decrement would overflow" }, 1],
      {
        kind: "counted",
        results: [most, most],
      },
    ],
    [[5, { refusal: "NOPERM" }, 7, 1], {
      kind: "refused",
      reason: "NOPERM",
      mayHaveCounted: true,
    }],
    [[5, 1, { refusal: "OOM" }, 1], {
      kind: "refused",
      reason: "OOM",
      mayHaveCounted: true,
    }],
    [[{ refusal: "OOM" }, 1, 5, 1], {
      kind: "refused",
      reason: "OOM",
      mayHaveCounted: true,
    }],
    [[{ refusal: "OOM" }, 1, { refusal: "OOM" }, 1], {
      kind: "refused",
      reason: "OOM",
    }],
    [[5, 1, "seven", 1], {
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
