import { assert, assertEquals, assertThrows } from "@std/assert";
import { GenerationMap } from "./generation_map.ts";

Deno.test("GenerationMap remembers at least the half that was set last", () => {
  const map = new GenerationMap<number, string>(10);
  for (let key = 0; key < 100; key++) map.set(key, `v${key}`);
  for (let key = 95; key < 100; key++) assertEquals(map.get(key), `v${key}`);
  let known = 0;
  for (let key = 0; key < 100; key++) if (map.get(key) !== undefined) known++;
  assert(known >= 5 && known <= 10, String(known));
});

Deno.test("GenerationMap gives the last value of a key", () => {
  const map = new GenerationMap<string, number>(4);
  map.set("a", 1);
  map.set("b", 2);
  map.set("c", 3);
  map.set("a", 4);
  assertEquals(map.get("a"), 4);
  map.set("a", 5);
  assertEquals(map.get("a"), 5);
});

Deno.test("GenerationMap wants room for two", () => {
  assertThrows(() => new GenerationMap(1), RangeError);
});
