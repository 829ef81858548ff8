import { assert, assertEquals, assertRejects } from "@std/assert";
import { metricsUrl, readMetrics, seriesOf } from "../support/read_metrics.ts";
import { FakeEmbedder } from "./fake_embedder.ts";
import { RelayerHome } from "./relayer_home.ts";

Deno.test("relayer asks its embedding endpoint once for a question that comes again", async () => {
  await using embedder = new FakeEmbedder({ width: 64 });
  await using home = await RelayerHome.open({ env: embedder.env("one") });
  const mem = home.mem();
  await mem.rememberAndWait("Ada prefers oolong tea");
  embedder.calls.length = 0;
  for (let round = 0; round < 3; round++) {
    const { results } = await mem.recall({ query: "which tea does Ada like" });
    assertEquals(results[0]?.text, "Ada prefers oolong tea");
  }
  assertEquals(embedder.texts, ["which tea does Ada like"]);
  const families = await readMetrics(await metricsUrl(home.service));
  const sourced = (source: string): number | undefined =>
    seriesOf(families, "relayer_question_vectors_total", { source });
  assertEquals([sourced("kept"), sourced("shared"), sourced("asked")], [
    2,
    0,
    1,
  ]);
});

Deno.test("relayer asks each time when EMBEDDING_CACHE is 0", async () => {
  await using embedder = new FakeEmbedder({ width: 64 });
  await using home = await RelayerHome.open({
    env: { ...embedder.env("one"), EMBEDDING_CACHE: "0" },
  });
  const mem = home.mem();
  for (let round = 0; round < 3; round++) await mem.recall({ query: "tea" });
  assertEquals(embedder.texts, ["tea", "tea", "tea"]);
});

Deno.test("relayer shares a call of the endpoint among equal questions that come together", async () => {
  await using embedder = new FakeEmbedder({ width: 64 });
  await using home = await RelayerHome.open({
    env: { ...embedder.env("one"), EMBEDDING_CACHE: "0" },
  });
  const mem = home.mem();
  const held = Promise.withResolvers<void>();
  embedder.held = held.promise;
  const asked = Array.from({ length: 20 }, () => mem.recall({ query: "tea" }));
  // They have all come when the last one is counted as under way.
  const url = await metricsUrl(home.service);
  for (let shared = 0; shared < 19;) {
    const families = await readMetrics(url);
    shared = seriesOf(families, "relayer_question_vectors_total", {
      source: "shared",
    }) ?? 0;
  }
  held.resolve();
  await Promise.all(asked);
  assertEquals(embedder.texts, ["tea"]);
});

Deno.test("relayer says which EMBEDDING_WIDTH is right when the model's vectors have another", async () => {
  await using embedder = new FakeEmbedder({ width: 96 });
  await using home = await RelayerHome.open({
    env: { ...embedder.env("one"), EMBEDDING_WIDTH: "64" },
  });
  await assertRejects(() => home.mem().recall({ query: "tea" }));
  const line = await home.service.waitForLine("EMBEDDING_WIDTH");
  assert(line.includes("have 96 numbers, and 64 are set"), line);
  assert(line.includes("set EMBEDDING_WIDTH to 96"), line);
});
