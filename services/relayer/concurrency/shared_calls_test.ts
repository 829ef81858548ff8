import { assertEquals, assertRejects } from "@std/assert";
import { SharedCalls } from "./shared_calls.ts";

Deno.test("SharedCalls.run() shares a call of its name while it is under way", async () => {
  const calls = new SharedCalls<number>();
  const held = Promise.withResolvers<number>();
  let begun = 0;
  const work = (): Promise<number> => {
    begun++;
    return held.promise;
  };
  const both = [calls.run("a", work), calls.run("a", work)];
  const other = calls.run("b", () => Promise.resolve(2));
  assertEquals([begun, calls.get("a")], [1, both[0]]);
  held.resolve(1);
  assertEquals(await Promise.all([...both, other]), [1, 1, 2]);
  assertEquals(calls.get("a"), undefined);
  await calls.run("a", work);
  assertEquals(begun, 2);
});

Deno.test("SharedCalls.run() tells all callers of a failure, and the next one begins again", async () => {
  const calls = new SharedCalls<number>();
  const fail = (): Promise<number> => Promise.reject(new Error("away"));
  const both = [calls.run("a", fail), calls.run("a", fail)];
  for (const call of both) await assertRejects(() => call, Error, "away");
  assertEquals(await calls.run("a", () => Promise.resolve(3)), 3);
});
