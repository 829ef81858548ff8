import { assertEquals } from "@std/assert";
import { PayloadCache } from "./payload_cache.ts";

Deno.test("PayloadCache keeps what was used last within its bound", () => {
  const cache = new PayloadCache(10);
  cache.set("data", "a", { at: 1, text: "aaaa" });
  cache.set("data", "b", { at: 1, text: "bbbb" });
  assertEquals(cache.get("data", "a")?.text, "aaaa");
  cache.set("result", "a", { at: 2, text: "cccc" });
  assertEquals(cache.get("data", "b"), undefined);
  assertEquals(cache.get("data", "a")?.text, "aaaa");
  assertEquals(cache.get("result", "a"), { at: 2, text: "cccc" });
});

Deno.test("PayloadCache counts what is replaced and deleted", () => {
  const cache = new PayloadCache(10);
  for (let at = 1; at < 100; at++) {
    cache.set("data", "a", { at, text: "x".repeat(at % 10) });
    cache.delete("data", "missing");
  }
  cache.delete("data", "a");
  assertEquals(cache.get("data", "a"), undefined);
  cache.set("data", "b", { at: 1, text: "bbbbb" });
  cache.set("data", "c", { at: 1, text: "ccccc" });
  assertEquals(cache.get("data", "b")?.text, "bbbbb");
  assertEquals(cache.get("data", "c")?.text, "ccccc");
});

Deno.test("PayloadCache leaves out what is larger than itself", () => {
  const cache = new PayloadCache(3);
  cache.set("data", "a", { at: 1, text: "aaa" });
  cache.set("data", "a", { at: 2, text: "aaaa" });
  assertEquals(cache.get("data", "a"), undefined);
});
