import { assertEquals, assertStringIncludes } from "@std/assert";
import { statsJson, statsText } from "./page.ts";
import { StatsRegistry } from "./registry.ts";

function someStats() {
  const stats = new StatsRegistry();
  stats.timer("server.Check.response_time").record(4);
  stats.timer("server.Check.response_time").record(8);
  stats.counter("service.a.total_hits").add(3);
  stats.gauge("cache.entries").set(1.5);
  return stats.snapshot();
}

Deno.test("statsText() writes one sorted line for each statistic", () => {
  assertEquals(
    statsText(someStats()),
    "cache.entries: 1.5\n" +
      "server.Check.response_time: count=2 p50_ms=5 p99_ms=7.94 max_ms=8\n" +
      "service.a.total_hits: 3\n",
  );
  assertEquals(statsText([]), "");
});

Deno.test("statsText() keeps names that contain the filter", () => {
  assertEquals(
    statsText(someStats(), ".a."),
    "service.a.total_hits: 3\n",
  );
  assertEquals(statsText(someStats(), "none"), "");
});

Deno.test("statsText() stays a line whatever a caller put in the name", () => {
  const stats = new StatsRegistry();
  stats.counter("x\nforged: 9").add();
  assertEquals(statsText(stats.snapshot()), "x_forged_ 9: 1\n");
});

Deno.test("statsJson() gives names, kinds and values", () => {
  assertEquals(statsJson(someStats(), "e.a"), {
    stats: [{ name: "service.a.total_hits", kind: "counter", value: 3 }],
  });
  assertEquals(JSON.parse(JSON.stringify(statsJson(someStats()))).stats[1], {
    name: "server.Check.response_time",
    kind: "timer",
    value: { count: 2, p50Ms: 5, p99Ms: 7.94, maxMs: 8 },
  });
});

Deno.test("statsText() and statsJson() give no number more than three decimals, and lose no whole one", () => {
  const stats = new StatsRegistry();
  stats.timer("lag").record(1.9693230000002586);
  stats.gauge("start_seconds").set(1795933740.946423);
  stats.counter("bytes").add(2 ** 53 - 1);
  const snapshot = stats.snapshot();
  const texts = [statsText(snapshot), JSON.stringify(statsJson(snapshot))];
  for (const text of texts) {
    assertEquals(text.match(/\d+\.\d{4,}/g), null);
    assertStringIncludes(text, "1795933740.946");
    assertStringIncludes(text, String(2 ** 53 - 1));
  }
});
