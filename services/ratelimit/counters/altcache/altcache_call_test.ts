import {
  assert,
  assertEquals,
  assertMatch,
  assertNotEquals,
} from "@std/assert";
import { FakeClock } from "../../../../tests/support/fake_clock.ts";
import { SeededRandom } from "../../../../tests/support/seeded_random.ts";
import type {
  CounterAnswer,
  CounterBatch,
  CounterOperation,
} from "../counter_store.ts";
import {
  AltcacheCall,
  altcacheCount,
  decideAltcacheBatch,
  planAltcacheBatch,
} from "./altcache_call.ts";
import { AltcacheChanges } from "./altcache_changes.ts";
import type { MemcachedCall } from "./memcached/connection.ts";
import type { MemcachedNode } from "./memcached/node.ts";

const MOST = Number.MAX_SAFE_INTEGER;

function createBatch(
  ...touches: readonly (readonly [string, number, number?])[]
): CounterBatch {
  const keys = new TextEncoder().encode(touches.map(([key]) => key).join(""));
  let at = 0;
  const operations = touches.map(([key, hits, windowSeconds = 60]) => {
    const keyStart = at;
    at += key.length;
    return {
      algorithm: "fixed_window",
      keyStart,
      keyEnd: at,
      hits,
      limit: 10,
      windowSeconds,
    } satisfies CounterOperation;
  });
  return { keys, operations, nowSeconds: 7_200 };
}

Deno.test("planAltcacheBatch() names each counter once", () => {
  const plan = planAltcacheBatch(
    createBatch(["a_", 1], ["b_", 1], ["a_", 2], ["a_", 1, 3_600]),
  );
  assertEquals(plan.keys, ["a_7200", "b_7200"]);
  assertEquals(plan.operations.map(({ key }) => key), [0, 1, 0, 0]);
  // Windows of two lengths that begin together share a name; the longer length
  // is kept.
  assertEquals(plan.windowSeconds, [3_600, 60]);
});

Deno.test("decideAltcacheBatch() lets operations on one counter see each other", () => {
  const batch = createBatch(["a_", 3], ["b_", 1], ["a_", 0], ["a_", -9], [
    "a_",
    4,
  ]);
  assertEquals(
    decideAltcacheBatch(planAltcacheBatch(batch), [5, 7]),
    { results: [8, 8, 8, 0, 4], changes: [-1, 1] },
  );
});

Deno.test("decideAltcacheBatch() never carries a counter beyond its bounds", () => {
  const batch = createBatch(["a_", 2 ** 64], ["b_", 5], ["c_", -5]);
  assertEquals(
    decideAltcacheBatch(planAltcacheBatch(batch), [10, MOST, 2]),
    { results: [MOST, MOST, 0], changes: [MOST - 10, 0, -2] },
  );
});

Deno.test("decideAltcacheBatch() only reads elsewhere when a counter goes over and that stops the others", () => {
  const batch = {
    ...createBatch(["a_", 1], ["b_", 5], ["c_", 1], ["d_", -2], ["b_", 1]),
    stopWhenOver: true,
  };
  const plan = planAltcacheBatch(batch);
  // The limit of each operation is 10.
  assertEquals(decideAltcacheBatch(plan, [9, 4, 0, 3]), {
    results: [10, 9, 1, 1, 10],
    changes: [1, 6, 1, -2],
  });
  assertEquals(decideAltcacheBatch(plan, [9, 5, 0, 3]), {
    results: [9, 10, 0, 1, 11],
    changes: [0, 6, 0, -2],
  });
});

Deno.test("altcacheCount() reads numbers of 64 bits and blanks behind them", () => {
  assertEquals(altcacheCount(undefined), 0);
  assertEquals(altcacheCount("0  "), 0);
  assertEquals(altcacheCount("99 "), 99);
  assertEquals(altcacheCount("4294967296"), 2 ** 32);
  assertEquals(altcacheCount("9007199254740991"), MOST);
  assertEquals(altcacheCount("18446744073709551615"), MOST);
});

Deno.test("altcacheCount() takes nothing else for a number", () => {
  for (
    const value of ["", " ", "-1", "1.5", "1e3", "0x1", " 1", "1\n", "NaN"]
  ) {
    assertEquals(altcacheCount(value), undefined, value);
  }
});

function toKey(
  key: string | Uint8Array,
  nowSeconds = 1_795_219_200,
  windowSeconds = 60,
): string {
  const bytes = typeof key === "string" ? new TextEncoder().encode(key) : key;
  // Foreign bytes around the key, and an offset into a larger buffer.
  const keys = new Uint8Array(bytes.length + 8).fill(0x58).subarray(3);
  keys.set(bytes, 2);
  const operation = {
    algorithm: "fixed_window",
    keyStart: 2,
    keyEnd: 2 + bytes.length,
    hits: 1,
    limit: 1,
    windowSeconds,
  } as const;
  const batch = { keys, operations: [operation], nowSeconds };
  return planAltcacheBatch(batch).keys[0]!;
}

Deno.test("planAltcacheBatch().keys is the key with the window's start where the server takes it", () => {
  assertEquals(
    toKey("basic_key1_v!~_", 1_795_219_259),
    "basic_key1_v!~_1795219200",
  );
  assertEquals(toKey("", 61), "60");
  const longest = `${"k".repeat(239)}_`;
  assertEquals(toKey(longest), `${longest}1795219200`);
});

Deno.test("planAltcacheBatch().keys goes by a hash where the server would not take the key", () => {
  const bad = [
    "with blank_",
    "with\ttab_",
    "line\r\nflush_all\r\n_",
    "nul\0_",
    "del\x7f_",
    "clé_",
    "🙂_",
    `${"k".repeat(240)}_`,
    "k".repeat(5_000),
    new Uint8Array([0xff, 0xfe]),
  ];
  const names = bad.map((key) => toKey(key));
  for (const name of names) {
    assertMatch(name, /^sha256:[\x21-\x7e]{0,64}:[\w-]{43}:1795219200$/);
    assert(name.length <= 250);
  }
  assertEquals(new Set(names).size, bad.length);
  assert(names[0]!.startsWith("sha256:with?blank_:"));
});

Deno.test("planAltcacheBatch().keys keeps a hashed form from being taken for a plain key", () => {
  const hashed = toKey("with blank_");
  const forged = hashed.slice(0, -10);
  assertNotEquals(toKey(forged), hashed);
  assertMatch(toKey("sha256:_"), /^sha256:sha256:_:[\w-]{43}:1795219200$/);
});

Deno.test("planAltcacheBatch().keys keeps a key's digits from being taken for the window's", () => {
  assertNotEquals(
    toKey("a_1", 795_219_200, 10),
    toKey("a_", 1_795_219_200, 10),
  );
  assertNotEquals(
    toKey("a 1", 795_219_200, 10),
    toKey("a ", 1_795_219_200, 10),
  );
});

Deno.test("planAltcacheBatch().keys names different keys and windows differently", () => {
  const random = new SeededRandom(11);
  const alphabet = new TextEncoder().encode("sha256:_ 01\0é");
  const seen = new Map<string, string>();
  for (let round = 0; round < 20_000; round++) {
    const key = new Uint8Array(random.below(6)).map(() =>
      alphabet[random.below(alphabet.length)]!
    );
    const nowSeconds = random.below(1_000);
    const name = toKey(key, nowSeconds, 1);
    const what = `${key.join()}@${nowSeconds}`;
    assertEquals(seen.get(name) ?? what, what);
    assertMatch(name, /^[\x21-\x7e]{1,250}$/);
    seen.set(name, what);
  }
});

Deno.test("AltcacheCall tells that hits may have counted when its own increments are late or lost", () => {
  for (const fault of ["late", "lost"]) {
    const clock = new FakeClock();
    const sent: MemcachedCall[] = [];
    const node = {
      name: "server",
      send: (_command: unknown, call: MemcachedCall) => void sent.push(call),
    } as unknown as MemcachedNode;
    const answers: CounterAnswer[] = [];
    const call = new AltcacheCall(planAltcacheBatch(createBatch(["a_", 1])), {
      clock,
      deadlineMs: clock.nowMs() + 500,
      changes: new AltcacheChanges({
        timeoutMs: 1_000,
        clock,
        nowSeconds: () => 7_200,
        onSettled: () => {},
      }),
      mustWait: () => true,
      timeToLive: (windowSeconds) => windowSeconds,
      resolve: (answer) => void answers.push(answer),
    });
    const [read] = call.reads({ choose: () => node });
    assert(read !== undefined);
    call.onReply(read, { kind: "values", values: [undefined] });
    assertEquals([sent.length, answers.length], [1, 0]);
    if (fault === "late") clock.advance(500);
    else sent[0]!.done({ kind: "unavailable", reason: "lost" });
    assertEquals(answers, [{
      kind: "unavailable",
      reason: fault === "late" ? "increments do not arrive in time" : "lost",
      mayHaveCounted: true,
    }]);
    assertEquals(clock.pendingTimers, 0);
  }
});
