import { assert, assertEquals } from "@std/assert";
import {
  AWAY,
  createRenewal,
  createWorld,
  OTHER,
  run,
} from "./testing/renewal_world.ts";

Deno.test("EntryRenewal.run() asks for as many texts at once as one call takes, and no faster than it may", async () => {
  const texts = Array.from({ length: 150 }, (_, number) => `text ${number}`);
  const world = await createWorld(texts);
  world.embedder.model = "newer";
  const { renewal, asked } = createRenewal(world, { perSecond: 32 });
  const running = run(renewal);
  await world.clock.advanceAsync(0);
  assertEquals(asked.map(({ length }) => length), [64]);
  await world.clock.advanceAsync(1_999);
  assertEquals(asked.length, 1);
  await world.clock.advanceAsync(1);
  assertEquals(asked.map(({ length }) => length), [64, 64]);
  await world.clock.advanceAsync(2_000);
  await world.clock.advanceAsync(1_000);
  assertEquals((await running).renewed, 150);
  assertEquals(asked.map(({ length }) => length), [64, 64, 22]);
});

Deno.test("EntryRenewal.run() gives an owner of few memories a turn before it is through with one of many", async () => {
  const texts = Array.from({ length: 2_500 }, (_, number) => `text ${number}`);
  const world = await createWorld(texts);
  await world.remember({ id: "x", text: "a key", owner: OTHER });
  world.embedder.model = "newer";
  world.blobs.outcomes.set("blob-m10", {
    ...{ kind: "unavailable", reason: "away" },
  });
  world.blobs.outcomes.set("blob-m999", { kind: "missing" });
  const { renewal, asked } = createRenewal(world);
  const { checked, renewed, failed, waiting } = await run(renewal);
  assertEquals([checked, renewed, failed, waiting], [2_501, 2_499, 1, 1]);
  const all = asked.flat();
  assertEquals([all.length, new Set(all).size], [2_499, 2_499]);
  const at = all.indexOf("a key");
  assert(at >= 900 && at < 1_100, `${at}`);
});

Deno.test("EntryRenewal.run() waits for an embedder that is away, longer each time or as it says", async () => {
  const world = await createWorld(["green tea"]);
  world.embedder.model = "newer";
  world.embedder.failure = AWAY;
  const { renewal, asked } = createRenewal(world);
  const running = run(renewal);
  const callsAfter = async (ms: number): Promise<number> => {
    await world.clock.advanceAsync(ms);
    // Not counting calls that only ask whether the embedder works at all.
    return asked.filter(([text]) => text !== "memory").length;
  };
  assertEquals(await callsAfter(0), 1);
  assertEquals(renewal.progress.waiting, 1);
  assertEquals([await callsAfter(1_999), await callsAfter(1)], [1, 2]);
  assertEquals([await callsAfter(3_999), await callsAfter(1)], [2, 3]);
  world.embedder.failure = { ...AWAY, retryAfterMs: 60_000 };
  assertEquals([await callsAfter(7_999), await callsAfter(1)], [3, 4]);
  world.embedder.failure = undefined;
  assertEquals([await callsAfter(59_999), await callsAfter(1)], [4, 5]);
  const { renewed, waiting } = await running;
  assertEquals([renewed, waiting], [1, 0]);
});

Deno.test("EntryRenewal.run() leaves texts that the embedder refuses, even one that is alone", async () => {
  const world = await createWorld(["green tea", "poison", "a key"]);
  await world.remember({ id: "alone", text: "poison", owner: OTHER });
  world.embedder.model = "newer";
  const { renewal } = createRenewal(world, {
    refuses: (texts) => texts.some((text) => text === "poison"),
  });
  const { renewed, failed, waiting } = await run(renewal);
  assertEquals([renewed, failed, waiting], [2, 2, 0]);
});

Deno.test("EntryRenewal.run() waits where the embedder takes nothing, since its settings are to blame", async () => {
  const world = await createWorld(["green tea", "a key"]);
  world.embedder.model = "newer";
  let isBroken = true;
  const { renewal } = createRenewal(world, { refuses: () => isBroken });
  const running = run(renewal);
  await world.clock.advanceAsync(1_000_000);
  const { renewed, failed, waiting } = renewal.progress;
  assertEquals([renewed, failed, waiting], [0, 0, 2]);
  isBroken = false;
  await world.clock.advanceAsync(300_000);
  assertEquals((await running).renewed, 2);
});

Deno.test("EntryRenewal.run() asks a slow embedder for fewer texts, and goes on without one that is always late", async () => {
  const texts = Array.from({ length: 32 }, (_, number) => `text ${number}`);
  const world = await createWorld([...texts, "endless"]);
  world.embedder.model = "newer";
  const { renewal, asked } = createRenewal(world);
  const late = {
    kind: "unavailable",
    reason: "late",
    isPassing: true,
  } as const;
  world.embedder.onEmbed = () => {
    const last = asked.at(-1) ?? [];
    const isLate = last.length > 10 || last.includes("endless");
    world.embedder.failure = isLate ? late : undefined;
  };
  const running = run(renewal);
  await world.clock.advanceAsync(120_000);
  const { renewed, failed, waiting } = await running;
  assertEquals([renewed, failed, waiting], [32, 0, 1]);
  const most = asked.map(({ length }) => length);
  assertEquals(most.slice(0, 4), [33, 17, 9, 9]);
});
