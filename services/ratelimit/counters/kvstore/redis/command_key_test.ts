import { assertEquals, assertThrows } from "@std/assert";
import { Buffer } from "node:buffer";
import { keyRuns } from "./command_key.ts";

Deno.test("keyRuns() keeps together what shares the very key", () => {
  const a = Buffer.from("a");
  const sameText = Buffer.from("a");
  const runs = keyRuns([
    ["INCRBY", a, "1"],
    ["EXPIRE", a, "60"],
    ["GET", sameText],
    ["EVALSHA", "hash", "1", sameText, "5"],
    ["EVAL", "script", "1", "text"],
    ["GET", a],
  ]);
  assertEquals(
    runs.map((
      { start, end, key },
    ) => [start, end, Buffer.from(key).toString()]),
    [[0, 2, "a"], [2, 4, "a"], [4, 5, "text"], [5, 6, "a"]],
  );
  assertEquals(keyRuns([]), []);
});

Deno.test("keyRuns() throws for a command without a key", () => {
  assertThrows(() => keyRuns([["PING"]]), RangeError, '"PING"');
});
