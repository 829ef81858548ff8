import { assertEquals } from "@std/assert";
import { RecentRate } from "./recent_rate.ts";

Deno.test("RecentRate counts the current span and the one before", () => {
  const rate = new RecentRate();
  for (let at = 0; at < 250; at += 10) rate.count(at);
  assertEquals(rate.perSecond(249), 100);
  assertEquals(rate.perSecond(499), 100);
  assertEquals(rate.perSecond(500), 0);
});

Deno.test("RecentRate begins anew after a silence and when the clock is set back", () => {
  const rate = new RecentRate();
  rate.count(10_000);
  assertEquals(rate.perSecond(20_000), 0);
  rate.count(5_000);
  assertEquals(rate.perSecond(5_000), 4);
});
