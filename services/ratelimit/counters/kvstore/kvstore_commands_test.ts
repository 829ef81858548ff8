import { assert, assertEquals } from "@std/assert";
import type { CounterBatch } from "../counter_store.ts";
import {
  count,
  countOrStop,
  kvstoreOperations,
  type KvstoreOutcome,
} from "./kvstore_commands.ts";
import { KvstoreScripts } from "./kvstore_scripts.ts";
import type { RedisCommand } from "./redis/command_writer.ts";
import type { RedisLink } from "./redis/link.ts";
import type { RedisOutcome, RedisReply } from "./redis/reply.ts";

const NOW = 1_795_219_261;

function createBatch(
  touches: ReadonlyArray<readonly [key: string, hits: number]>,
  windowSeconds = 60,
): CounterBatch {
  const text = touches.map(([key]) => key).join("");
  let at = 0;
  return {
    keys: new TextEncoder().encode(text),
    nowSeconds: NOW,
    operations: touches.map(([key, hits]) => ({
      algorithm: "fixed_window",
      keyStart: at,
      keyEnd: at += key.length,
      hits,
      limit: 10,
      windowSeconds,
    })),
  };
}

function createOperations(
  batch: CounterBatch,
  random = 0,
): ReturnType<typeof kvstoreOperations> {
  return kvstoreOperations(batch, {
    expirationJitterMaxSeconds: 300,
    random: () => random,
  });
}

/** A link whose servers give `rounds` of replies; it keeps what was sent. */
class ScriptedLink implements RedisLink {
  readonly isUp = true;
  readonly sent: string[][] = [];
  readonly #rounds: (readonly RedisReply[])[];

  constructor(...rounds: readonly (readonly RedisReply[])[]) {
    this.#rounds = [...rounds];
  }

  start(): void {}

  stop(): void {}

  hit(): never {
    throw new Error("Cannot count hits: these are commands");
  }

  send(commands: readonly RedisCommand[]): Promise<RedisOutcome> {
    this.sent.push(commands.map((command) => command.map(String).join(" ")));
    const replies = this.#rounds.shift() ?? commands.map(() => 1);
    return Promise.resolve({ kind: "replied", replies });
  }
}

async function encodeText(
  batch: CounterBatch,
  random = 0,
): Promise<readonly string[]> {
  const link = new ScriptedLink();
  await count(createOperations(batch, random), createCall(link));
  assertEquals(link.sent.length, 1);
  return link.sent[0]!;
}

Deno.test("count() writes hits with the window start behind the key", async () => {
  assertEquals(await encodeText(createBatch([["d_k_v_", 3], ["e_", 1]])), [
    "INCRBY d_k_v_1795219260 3",
    "EXPIRE d_k_v_1795219260 60",
    "INCRBY e_1795219260 1",
    "EXPIRE e_1795219260 60",
  ]);
});

Deno.test("count() spreads time to live by whole seconds below the bound", async () => {
  assertEquals(
    (await encodeText(createBatch([["a_", 1]], 1), 0.9999))[1],
    "EXPIRE a_1795219261 300",
  );
  assertEquals(
    (await encodeText(createBatch([["a_", 1]], 1), 0.5))[1],
    "EXPIRE a_1795219261 151",
  );
});

Deno.test("count() reads without making a counter", async () => {
  assertEquals(await encodeText(createBatch([["a_", 0]])), [
    "GET a_1795219260",
  ]);
});

Deno.test("count() names the script by its hash only when the order allows it", async () => {
  const [first, , , third] = await encodeText(
    createBatch([["a_", -2], ["b_", 1], ["a_", -1]]),
  );
  assertEquals(first!.split(" ")[0], "EVAL");
  assertEquals(
    third!.replace(/[0-9a-f]{40}/, "hash"),
    "EVALSHA hash 1 a_1795219260 1",
  );
});

Deno.test("count() takes each count from the reply to its own command", async () => {
  const link = new ScriptedLink([10, 1, "20", 30, 40, 1]);
  const operations = createOperations(
    createBatch([["a_", 1], ["b_", 0], ["c_", -1], ["d_", 1]]),
  );
  assertEquals(await count(operations, createCall(link)), {
    kind: "counted",
    results: [10, 20, 30, 40],
  });
});

Deno.test("count() keeps to what a server counts with", async () => {
  const [up, , down] = await encodeText(
    createBatch([["a_", 2 ** 64], ["b_", -(2 ** 64)]]),
  );
  assertEquals(up, "INCRBY a_1795219260 9007199254740991");
  assertEquals(down!.split(" ").at(-1), "9007199254740991");
});

Deno.test("kvstoreOperations() keeps nothing of the batch", () => {
  const batch = createBatch([["a_", 1], ["b_", 1]]);
  const operations = kvstoreOperations(batch, {
    expirationJitterMaxSeconds: 0,
    random: () => 0,
  });
  batch.keys.fill(0x7a);
  assertEquals(operations.map(({ name }) => String(name)), [
    "a_1795219260",
    "b_1795219260",
  ]);
});

Deno.test("countOrStop() on one server names all counters, then what to do with each", async () => {
  const operations = createOperations(
    createBatch([["a_", 3], ["b_", 0], ["c_", -(2 ** 64)]]),
  );
  const link = new ScriptedLink([{ refusal: "NOSCRIPT No matching script" }], [[
    4,
    0,
    0,
  ]]);
  assertEquals(
    await countOrStop(operations, { ...createCall(link), isOneServer: true }),
    {
      kind: "counted",
      results: [4, 0, 0],
    },
  );
  const [byHash, byText] = link.sent.map(([command]) => command!);
  const rest = [
    ...["3", "a_1795219260", "b_1795219260", "c_1795219260"],
    "",
    ...["fixed", "3", "10", "60", "", ""],
    ...["fixed", "0", "10", "60", "", ""],
    ...["fixed", "-9007199254740991", "10", "60", "", ""],
  ].join(" ");
  assertEquals(
    byHash!.replace(/ [0-9a-f]{40} /, " hash "),
    `EVALSHA hash ${rest}`,
  );
  assert(byText!.startsWith("EVAL ") && byText!.endsWith(` ${rest}`), byText);
});

Deno.test("count() reads counts, absence and refusals", async () => {
  const most = Number.MAX_SAFE_INTEGER;
  const cases: readonly [RedisReply, number][] = [
    [5, 5],
    ["17", 17],
    [null, 0],
    [2 ** 60, most],
    [{ refusal: "ERR increment or decrement would overflow" }, most],
  ];
  for (const [reply, result] of cases) {
    assertEquals(await countReply(reply), {
      kind: "counted",
      results: [result],
    });
  }
  assertEquals(await countReply({ refusal: "LOADING" }), {
    kind: "refused",
    reason: "LOADING",
  });
  assertEquals((await countReply("no number")).kind, "refused");
});

Deno.test("count() tells of a refusal beside which other counters got their hits", async () => {
  const operations = createOperations(
    createBatch([["a_", 1], ["b_", 0], ["c_", -1]]),
  );
  const noScript = { refusal: "NOSCRIPT No matching script" };
  const oom = { refusal: "OOM" };
  const cases: readonly [RedisReply[], RedisReply[], boolean][] = [
    [[7, 1, oom, 3], [], true],
    [[oom, 1, "5", 3], [], true],
    [[oom, 1, "5", oom], [], false],
    [[7, 1, "5", noScript], [oom], true],
  ];
  for (const [first, second, mayHaveCounted] of cases) {
    const link = new ScriptedLink(first, second);
    assertEquals(await count(operations, createCall(link)), {
      kind: "refused",
      reason: "OOM",
      ...(mayHaveCounted ? { mayHaveCounted } : {}),
    });
  }
});

Deno.test("count() tells of a refusal beside which scripts that were sent again counted", async () => {
  const noScript = { refusal: "NOSCRIPT No matching script" };
  const oom = { refusal: "OOM" };
  const cases: readonly [RedisReply[], boolean][] = [
    [[4, oom], true],
    [[oom, 4], true],
    [[oom, oom], false],
    [[noScript, oom], false],
  ];
  for (const [second, mayHaveCounted] of cases) {
    const operations = createOperations(createBatch([["a_", -1], ["b_", -1]]));
    const link = new ScriptedLink([noScript, noScript], second);
    const outcome = await count(operations, createCall(link));
    assert(outcome.kind === "refused");
    assertEquals(outcome.mayHaveCounted ?? false, mayHaveCounted);
  }
});

Deno.test("count() sends a refund with its script to a server that forgot it", async () => {
  const link = new ScriptedLink(
    [7, 1, { refusal: "NOSCRIPT No matching script" }],
    [3],
  );
  const operations = createOperations(createBatch([["a_", 1], ["b_", -2]]));
  assertEquals(await count(operations, createCall(link)), {
    kind: "counted",
    results: [7, 3],
  });
  assertEquals(link.sent[1]!.length, 1);
  assert(link.sent[1]![0]!.startsWith("EVAL "));
});

function createCall(link: RedisLink): Parameters<typeof count>[1] {
  return { link, deadlineMs: 0, scripts: new KvstoreScripts() };
}

function countReply(reply: RedisReply): Promise<KvstoreOutcome> {
  const link = new ScriptedLink([reply]);
  return count(createOperations(createBatch([["a_", 0]])), createCall(link));
}
