import {
  assertEquals,
  assertMatch,
  assertNotEquals,
  assertRejects,
} from "@std/assert";
import { MemError, MemRequestTimeout } from "./errors.ts";
import { IdempotencyKeys } from "./idempotency_keys.ts";

const HALF_HOUR_MS = 1_800_000;
const T = 1_800_000_000_000;

const ok = (key: string) => Promise.resolve(key);
const failWith = (error: unknown) => () => Promise.reject(error);
const timeout = new MemRequestTimeout({ phase: "x", timeoutMs: 1 });

async function lose(
  keys: IdempotencyKeys,
  content: readonly string[],
  nowMs = T,
) {
  await assertRejects(() =>
    keys.send(content, { nowMs, send: failWith(timeout) })
  );
}

Deno.test("IdempotencyKeys.send() hashes the half hour, the namespace and the text", async () => {
  const bytes = new TextEncoder().encode(
    `${Math.floor(T / HALF_HOUR_MS)}\0notes\0hello`,
  );
  const hash = await crypto.subtle.digest("SHA-256", bytes);
  const key = await new IdempotencyKeys().send(["notes", "hello"], {
    nowMs: T,
    send: ok,
  });
  assertEquals(key, `r1-${new Uint8Array(hash).toHex()}`);
  assertMatch(key, /^r1-[0-9a-f]{64}$/);
});

Deno.test("IdempotencyKeys.send() gives other content and other half hours other keys", async () => {
  const keys = new IdempotencyKeys();
  const seen = new Set<string>();
  for (const content of [["n", "a"], ["n", "b"], ["m", "a"], ["n", "a", "x"]]) {
    for (const nowMs of [T, T + HALF_HOUR_MS]) {
      seen.add(await keys.send(content, { nowMs, send: ok }));
    }
  }
  assertEquals(seen.size, 8);
});

Deno.test("IdempotencyKeys.send() prefers the caller's key", async () => {
  const keys = new IdempotencyKeys();
  const options = { nowMs: T, key: "mine", send: ok };
  assertEquals(await keys.send(["n", "a"], options), "mine");
});

Deno.test("IdempotencyKeys.send() keeps a key until it is acknowledged", async () => {
  const keys = new IdempotencyKeys();
  const first = await new IdempotencyKeys().send(["n", "a"], {
    nowMs: T,
    send: ok,
  });
  await lose(keys, ["n", "a"]);
  assertEquals(keys.size, 1);
  const later = T + 5 * HALF_HOUR_MS;
  const again = await keys.send(["n", "a"], { nowMs: later, send: ok });
  assertEquals(again, first);
  assertEquals(keys.size, 0);
  const fresh = await keys.send(["n", "a"], { nowMs: later, send: ok });
  assertNotEquals(fresh, first);
});

Deno.test("IdempotencyKeys.send() forgets a key that was refused", async () => {
  const keys = new IdempotencyKeys();
  for (const [status, size] of [[400, 0], [409, 0], [429, 1]] as const) {
    const error = new MemError("no", { status });
    const send = failWith(error);
    await assertRejects(() => keys.send(["n", "a"], { nowMs: T, send }));
    assertEquals(keys.size, size);
  }
});

Deno.test("IdempotencyKeys.send() keeps a key when something else than the relayer has answered", async () => {
  const keys = new IdempotencyKeys();
  const serverCode = "UNEXPECTED_ANSWER";
  const send = failWith(new MemError("no", { status: 404, serverCode }));
  await assertRejects(() => keys.send(["n", "a"], { nowMs: T, send }));
  assertEquals(keys.size, 1);
});

Deno.test("IdempotencyKeys.send() forgets a key that no relayer knows any more", async () => {
  const keys = new IdempotencyKeys();
  await lose(keys, ["n", "a"]);
  const nowMs = T + 24 * 60 * 60_000;
  const key = await keys.send(["n", "a"], { nowMs, send: ok });
  const expected = await new IdempotencyKeys().send(["n", "a"], {
    nowMs,
    send: ok,
  });
  assertEquals(key, expected);
});

Deno.test("IdempotencyKeys.send() keeps no more than a thousand, the newest", async () => {
  const keys = new IdempotencyKeys();
  for (let at = 0; at < 1_010; at++) await lose(keys, ["n", String(at)]);
  assertEquals(keys.size, 1_000);
  keys.clear();
  assertEquals(keys.size, 0);
});
