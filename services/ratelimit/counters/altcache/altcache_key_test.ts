import {
  assert,
  assertEquals,
  assertMatch,
  assertNotEquals,
} from "@std/assert";
import { SeededRandom } from "../../../../tests/support/seeded_random.ts";
import { altcacheKey } from "./altcache_key.ts";

function keyOf(
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
  return altcacheKey({ keys, operations: [operation], nowSeconds }, operation);
}

Deno.test("altcacheKey() is the key with the window's start where the server takes it", () => {
  assertEquals(
    keyOf("basic_key1_v!~_", 1_795_219_259),
    "basic_key1_v!~_1795219200",
  );
  assertEquals(keyOf("", 61), "60");
  const longest = `${"k".repeat(239)}_`;
  assertEquals(keyOf(longest), `${longest}1795219200`);
});

Deno.test("altcacheKey() goes by a hash where the server would not take the key", () => {
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
  const names = bad.map((key) => keyOf(key));
  for (const name of names) {
    assertMatch(name, /^sha256:[\x21-\x7e]{0,64}:[\w-]{43}:1795219200$/);
    assert(name.length <= 250);
  }
  assertEquals(new Set(names).size, bad.length);
  assert(names[0]!.startsWith("sha256:with?blank_:"));
});

Deno.test("altcacheKey() keeps a hashed form from being taken for a plain key", () => {
  const hashed = keyOf("with blank_");
  const forged = hashed.slice(0, -10);
  assertNotEquals(keyOf(forged), hashed);
  assertMatch(keyOf("sha256:_"), /^sha256:sha256:_:[\w-]{43}:1795219200$/);
});

Deno.test("altcacheKey() keeps a key's digits from being taken for the window's", () => {
  assertNotEquals(
    keyOf("a_1", 795_219_200, 10),
    keyOf("a_", 1_795_219_200, 10),
  );
  assertNotEquals(
    keyOf("a 1", 795_219_200, 10),
    keyOf("a ", 1_795_219_200, 10),
  );
});

Deno.test("altcacheKey() names different keys and windows differently", () => {
  const random = new SeededRandom(11);
  const alphabet = new TextEncoder().encode("sha256:_ 01\0é");
  const seen = new Map<string, string>();
  for (let round = 0; round < 20_000; round++) {
    const key = new Uint8Array(random.below(6)).map(() =>
      alphabet[random.below(alphabet.length)]!
    );
    const nowSeconds = random.below(1_000);
    const name = keyOf(key, nowSeconds, 1);
    const what = `${key.join()}@${nowSeconds}`;
    assertEquals(seen.get(name) ?? what, what);
    assertMatch(name, /^[\x21-\x7e]{1,250}$/);
    seen.set(name, what);
  }
});
