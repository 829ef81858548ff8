import { assertEquals, assertThrows } from "@std/assert";
import { KeyCache } from "./key_cache.ts";

Deno.test("KeyCache lets go of the key unused for longest, as zeros", () => {
  const cache = new KeyCache(2);
  const [a, b, c] = [1, 2, 3].map((byte) => Uint8Array.of(byte));
  cache.set("a", a ?? new Uint8Array());
  cache.set("b", b ?? new Uint8Array());
  assertEquals(cache.get("a"), Uint8Array.of(1));
  cache.set("c", c ?? new Uint8Array());
  assertEquals(cache.size, 2);
  assertEquals(cache.get("b"), undefined);
  assertEquals(b, Uint8Array.of(0));
  assertEquals(cache.get("a"), Uint8Array.of(1));
  cache.delete("a");
  assertEquals(a, Uint8Array.of(0));
  cache.clear();
  assertEquals(c, Uint8Array.of(0));
  assertEquals(cache.size, 0);
});

Deno.test("KeyCache holds one key at least", () => {
  assertThrows(() => new KeyCache(0), RangeError, "1 is the least");
});
