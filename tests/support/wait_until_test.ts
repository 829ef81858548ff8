import { assertEquals, assertInstanceOf, assertRejects } from "@std/assert";
import { waitUntil } from "./wait_until.ts";

Deno.test("waitUntil() returns at once when the condition holds", async () => {
  let looks = 0;
  await waitUntil(() => ++looks > 0, { what: "it", timeoutMs: 0 });
  assertEquals(looks, 1);
});

Deno.test("waitUntil() looks again until the condition holds", async () => {
  let looks = 0;
  await waitUntil(() => Promise.resolve(++looks === 3), {
    what: "three looks",
    intervalMs: 1,
  });
  assertEquals(looks, 3);
});

Deno.test("waitUntil() throws with its subject and the last error", async () => {
  const error = await assertRejects(
    () =>
      waitUntil(() => {
        throw new TypeError("refused");
      }, { what: "the server to answer", timeoutMs: 20, intervalMs: 1 }),
    Error,
    "Cannot wait for the server to answer: not so after 20 ms",
  );
  assertInstanceOf(error.cause, TypeError);
});

Deno.test("waitUntil() gives up on a condition that never answers", async () => {
  await assertRejects(
    () =>
      waitUntil(() => new Promise<boolean>(() => {}), {
        what: "silence",
        timeoutMs: 20,
      }),
    Error,
    "silence",
  );
});
