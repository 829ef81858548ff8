import { assertEquals } from "@std/assert";
import { altcacheExpiry } from "./altcache_changes.ts";

const NOW = 1_795_219_200;

Deno.test("altcacheExpiry() is a time to live up to 30 days", () => {
  assertEquals(altcacheExpiry(1, NOW), 1);
  assertEquals(altcacheExpiry(2_592_000, NOW), 2_592_000);
});

Deno.test("altcacheExpiry() is a date above 30 days", () => {
  assertEquals(altcacheExpiry(2_592_001, NOW), NOW + 2_592_001);
  assertEquals(altcacheExpiry(31_536_299, NOW), NOW + 31_536_299);
});

Deno.test("altcacheExpiry() is never when the date is out of the server's reach", () => {
  assertEquals(altcacheExpiry(0x7fffffff - NOW, NOW), 0x7fffffff);
  assertEquals(altcacheExpiry(0x7fffffff - NOW + 1, NOW), 0);
  assertEquals(altcacheExpiry(2 ** 40, NOW), 0);
});
