import { assertEquals } from "@std/assert";
import type { CounterBatch } from "../counter_store.ts";
import {
  kvstoreCommands,
  kvstoreCount,
  kvstoreOperations,
  stopCommand,
} from "./kvstore_commands.ts";

const NOW = 1_795_219_261;

function batchOf(
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

function textOf(batch: CounterBatch, random = 0): readonly string[] {
  const operations = kvstoreOperations(batch, {
    expirationJitterMaxSeconds: 300,
    random: () => random,
  });
  return kvstoreCommands(operations).commands.map((command) =>
    command.map(String).join(" ")
  );
}

Deno.test("kvstoreCommands() writes hits with the window start behind the key", () => {
  assertEquals(textOf(batchOf([["d_k_v_", 3], ["e_", 1]])), [
    "INCRBY d_k_v_1795219260 3",
    "EXPIRE d_k_v_1795219260 60",
    "INCRBY e_1795219260 1",
    "EXPIRE e_1795219260 60",
  ]);
});

Deno.test("kvstoreCommands() spreads time to live by whole seconds below the bound", () => {
  assertEquals(
    textOf(batchOf([["a_", 1]], 1), 0.9999)[1],
    "EXPIRE a_1795219261 300",
  );
  assertEquals(
    textOf(batchOf([["a_", 1]], 1), 0.5)[1],
    "EXPIRE a_1795219261 151",
  );
});

Deno.test("kvstoreCommands() reads without making a counter", () => {
  assertEquals(textOf(batchOf([["a_", 0]])), ["GET a_1795219260"]);
});

Deno.test("kvstoreCommands() names the script by its hash only when the order allows it", () => {
  const [first, , , third] = textOf(
    batchOf([["a_", -2], ["b_", 1], ["a_", -1]]),
  );
  assertEquals(first!.split(" ")[0], "EVAL");
  assertEquals(
    third!.replace(/[0-9a-f]{40}/, "hash"),
    "EVALSHA hash 1 a_1795219260 1",
  );
});

Deno.test("kvstoreCommands() says where the counts are", () => {
  const { countAt } = kvstoreCommands(kvstoreOperations(
    batchOf([["a_", 1], ["b_", 0], ["c_", -1], ["d_", 1]]),
    { expirationJitterMaxSeconds: 0, random: () => 0 },
  ));
  assertEquals(countAt, [0, 2, 3, 4]);
});

Deno.test("kvstoreCommands() keeps to what a server counts with", () => {
  const [up, , down] = textOf(batchOf([["a_", 2 ** 64], ["b_", -(2 ** 64)]]));
  assertEquals(up, "INCRBY a_1795219260 9007199254740991");
  assertEquals(down!.split(" ").at(-1), "9007199254740991");
});

Deno.test("kvstoreOperations() keeps nothing of the batch", () => {
  const batch = batchOf([["a_", 1], ["b_", 1]]);
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

Deno.test("stopCommand() names all counters, then what to do with each", () => {
  const operations = kvstoreOperations(
    batchOf([["a_", 3], ["b_", 0], ["c_", -(2 ** 64)]]),
    { expirationJitterMaxSeconds: 0, random: () => 0 },
  );
  const [verb, hash, ...rest] = stopCommand(operations, true).map(String);
  assertEquals([verb, hash?.length], ["EVALSHA", 40]);
  assertEquals(rest, [
    ...["3", "a_1795219260", "b_1795219260", "c_1795219260"],
    ...["3", "10", "60"],
    ...["0", "10", "60"],
    ...["-9007199254740991", "10", "60"],
  ]);
  assertEquals(stopCommand(operations, false)[0], "EVAL");
  assertEquals(stopCommand(operations, false).slice(2).map(String), rest);
});

Deno.test("kvstoreCount() reads counts, absence and refusals", () => {
  assertEquals(kvstoreCount(5), { kind: "count", count: 5 });
  assertEquals(kvstoreCount("17"), { kind: "count", count: 17 });
  assertEquals(kvstoreCount(null), { kind: "count", count: 0 });
  assertEquals(kvstoreCount(2 ** 60), {
    kind: "count",
    count: Number.MAX_SAFE_INTEGER,
  });
  assertEquals(kvstoreCount({ refusal: "NOSCRIPT No matching script" }), {
    kind: "no_script",
  });
  assertEquals(
    kvstoreCount({ refusal: "ERR increment or decrement would overflow" }),
    { kind: "count", count: Number.MAX_SAFE_INTEGER },
  );
  assertEquals(kvstoreCount({ refusal: "LOADING" }), {
    kind: "refused",
    reason: "LOADING",
  });
  assertEquals(kvstoreCount("no number").kind, "refused");
});
