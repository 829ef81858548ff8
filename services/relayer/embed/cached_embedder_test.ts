import { assert, assertEquals } from "@std/assert";
import { FakeClock } from "../../../tests/support/fake_clock.ts";
import { CachedEmbedder } from "./cached_embedder.ts";
import type { Embedder, EmbedOutcome } from "./embedder.ts";

Deno.test("CachedEmbedder asks only for what is new, and answers in order", async () => {
  const inner = new CountingEmbedder();
  const cached = new CachedEmbedder({
    embedder: inner,
    clock: new FakeClock(),
  });
  assertEquals(await vectors(cached, ["a", "bb"]), [1, 2]);
  assertEquals(await vectors(cached, ["bb", "ccc", "a", "ccc"]), [2, 3, 1, 3]);
  assertEquals(await vectors(cached, ["a"]), [1]);
  assertEquals(inner.asked, [["a", "bb"], ["ccc"]]);
  assertEquals([cached.width, cached.model], [1, "counting"]);
});

Deno.test("CachedEmbedder forgets after a while", async () => {
  const inner = new CountingEmbedder();
  const clock = new FakeClock();
  const cached = new CachedEmbedder({ embedder: inner, clock, ttlMs: 100 });
  await vectors(cached, ["a"]);
  clock.advance(99);
  await vectors(cached, ["a"]);
  assertEquals(inner.asked.length, 1);
  clock.advance(1);
  await vectors(cached, ["a"]);
  assertEquals(inner.asked.length, 2);
});

Deno.test("CachedEmbedder keeps no more than it may, the last used ones", async () => {
  const inner = new CountingEmbedder();
  const cached = new CachedEmbedder({
    embedder: inner,
    clock: new FakeClock(),
    maxTexts: 2,
    maxChars: 3,
  });
  for (const text of ["a", "b", "a", "c", "a"]) await vectors(cached, [text]);
  assertEquals(inner.asked.flat(), ["a", "b", "c"]);
  await vectors(cached, ["b"]);
  assertEquals(inner.asked.flat(), ["a", "b", "c", "b"]);
  await vectors(cached, ["long"]);
  await vectors(cached, ["long"]);
  assertEquals(inner.asked.flat().filter((text) => text === "long").length, 2);
});

Deno.test("CachedEmbedder keeps no failures", async () => {
  const inner = new CountingEmbedder();
  const cached = new CachedEmbedder({
    embedder: inner,
    clock: new FakeClock(),
  });
  inner.isBroken = true;
  assertEquals((await cached.embed(["a"])).kind, "unavailable");
  inner.isBroken = false;
  assertEquals(await vectors(cached, ["a"]), [1]);
});

class CountingEmbedder implements Embedder {
  readonly width = 1;
  readonly model = "counting";
  readonly asked: string[][] = [];
  isBroken = false;

  embed(texts: readonly string[]): Promise<EmbedOutcome> {
    this.asked.push([...texts]);
    return Promise.resolve(
      this.isBroken
        ? { kind: "unavailable", reason: "broken", isPassing: true }
        : {
          kind: "ok",
          vectors: texts.map(({ length }) => Float32Array.of(length)),
        },
    );
  }
}

async function vectors(
  embedder: Embedder,
  texts: readonly string[],
): Promise<(number | undefined)[]> {
  const outcome = await embedder.embed(texts);
  assert(outcome.kind === "ok");
  return outcome.vectors.map(([only]) => only);
}
