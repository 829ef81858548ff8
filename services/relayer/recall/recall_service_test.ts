import { assert, assertAlmostEquals, assertEquals } from "@std/assert";
import { waitUntil } from "../../../tests/support/wait_until.ts";
import { DEFAULT_WEIGHTS } from "./ordering.ts";
import type { RecallOutcome, RecallRequest } from "./recall_request.ts";
import { RecallService } from "./recall_service.ts";
import { MemoryWorld, OWNER } from "./testing/memory_world.ts";

const DAY_MS = 86_400_000;

Deno.test("RecallService.recall() answers with the closest texts in order", async () => {
  const world = await worldOf(["green tea", "black coffee", "green parks"]);
  const { memories, dropped } = await recalled(world, { query: "green tea" });
  assertEquals(memories.map(({ text }) => text), [
    "green tea",
    "green parks",
    "black coffee",
  ]);
  assertEquals(dropped, 0);
  const [first] = memories;
  assertAlmostEquals(first?.distance ?? NaN, 0, 1e-6);
  assertEquals({ ...first, distance: 0 }, {
    id: "m0",
    blobId: "blob-m0",
    text: "green tea",
    distance: 0,
    createdAtMs: world.clock.nowMs(),
    importance: 0.5,
    metadata: {},
  });
});

Deno.test("RecallService.recall() stays within owner, namespace, limit and filter", async () => {
  const world = await worldOf(["tea one", "tea two", "tea three"]);
  await world.remember({ id: "x", text: "tea", namespace: "other" });
  await world.remember({ id: "y", text: "tea", owner: "0x0b" });
  await world.remember({ id: "z", text: "tea four", metadata: { hot: true } });
  const ids = async (request: Partial<RecallRequest>) =>
    (await recalled(world, { query: "tea", ...request })).memories
      .map(({ id }) => id).sort();
  assertEquals(await ids({}), ["m0", "m1", "m2", "z"]);
  assertEquals((await ids({ limit: 2 })).length, 2);
  assertEquals(await ids({ namespace: "other" }), ["x"]);
  assertEquals(await ids({ owner: "0x0b" }), ["y"]);
  assertEquals(await ids({ filter: { hot: true } }), ["z"]);
  assertEquals(await ids({ namespace: "nothing" }), []);
});

Deno.test("RecallService.recall() with recent widens the search and reads only what it answers with", async () => {
  const world = new MemoryWorld();
  const nowMs = world.clock.nowMs();
  for (let day = 0; day < 10; day++) {
    await world.remember({
      id: `m${day}`,
      text: `tea ${"leaf ".repeat(day)}`,
      createdAtMs: nowMs - (10 - day) * DAY_MS,
    });
  }
  const { memories } = await recalled(world, {
    query: "tea",
    limit: 2,
    ordering: { kind: "recent" },
  });
  assertEquals(memories.map(({ id }) => id), ["m9", "m8"]);
  assertEquals(world.blobs.gets, 2);
});

Deno.test("RecallService.recall() tells the score where weights count", async () => {
  const world = await worldOf(["green tea", "green parks"]);
  const weights = { ...DEFAULT_WEIGHTS, importance: 1 };
  const { memories } = await recalled(world, {
    query: "green tea",
    ordering: { kind: "weighed", weights },
  });
  assertAlmostEquals(memories[0]?.score ?? NaN, 1 + 0.5, 1e-6);
});

Deno.test("RecallService.recall() drops and counts what it cannot read", async () => {
  const world = await worldOf(["tea a", "tea b", "tea c", "tea d", "tea e"]);
  world.blobs.outcomes.delete("blob-m0");
  world.blobs.outcomes.set("blob-m1", { kind: "unavailable", reason: "down" });
  world.vault.destroyed.add("key-m2");
  const swapped = world.blobs.outcomes.get("blob-m4");
  assert(swapped !== undefined);
  world.blobs.outcomes.set("blob-m3", swapped);
  const { memories, dropped } = await recalled(world, { query: "tea" });
  assertEquals(memories.map(({ id }) => id), ["m4"]);
  assertEquals(dropped, 4);
  const [line] = world.logger.lines;
  assertEquals(line?.level, "warning");
  assertEquals(line?.fields, {
    kept: 1,
    missing: 1,
    unavailable: 1,
    key_gone: 1,
    damaged: 1,
  });
});

Deno.test("RecallService.recall() gets no more blobs at once than it may", async () => {
  const world = await worldOf(
    Array.from({ length: 40 }, (_, at) => `tea ${at}`),
  );
  world.blobs.onGet = () => new Promise((resolve) => queueMicrotask(resolve));
  const { memories } = await recalled(world, { query: "tea", limit: 40 });
  assertEquals(memories.length, 40);
  assertEquals(world.blobs.mostAtOnce, 10);
});

Deno.test("RecallService.recall() reads the closest blobs up to its bound of bytes", async () => {
  const world = await worldOf(["tea a", "tea b b", "tea c c c", "tea d d d d"]);
  const sizes = [...world.blobs.outcomes.values()].map((outcome) =>
    outcome.kind === "ok" ? outcome.bytes.length : 0
  );
  const service = new RecallService({
    ...world,
    parallelBlobs: 1,
    maxBlobBytes: (sizes[0] ?? 0) + 1,
  });
  const outcome = await service.recall(requestOf({ query: "tea a" }));
  assert(outcome.kind === "ok");
  assertEquals(outcome.memories.map(({ id }) => id), ["m0", "m1"]);
  assertEquals(outcome.dropped, 2);
});

Deno.test("RecallService.recall() reads for no more recalls at once than it may", async () => {
  const world = await worldOf(["tea"]);
  const held = Promise.withResolvers<void>();
  world.blobs.onGet = () => held.promise;
  const service = new RecallService({ ...world, parallelRecalls: 2 });
  const recalls = Array.from(
    { length: 5 },
    () => service.recall(requestOf({ query: "tea" })),
  );
  await waitUntil(() => world.blobs.gets === 2, { what: "two to read" });
  held.resolve();
  const outcomes = await Promise.all(recalls);
  assertEquals(outcomes.map(({ kind }) => kind), Array(5).fill("ok"));
  assertEquals(world.blobs.mostAtOnce, 2);
});

Deno.test("RecallService.find() leaves blobs alone", async () => {
  const world = await worldOf(["green tea"]);
  const [vector] = await world.embedder.vectorsOf(["tea"]);
  assert(vector !== undefined);
  const outcome = await world.recall().find(requestOf({ query: vector }));
  assert(outcome.kind === "ok");
  assertEquals(
    outcome.memories.map(({ id, text, metadata }) => [id, text, metadata]),
    [["m0", undefined, undefined]],
  );
  assertEquals(world.blobs.gets, 0);
});

Deno.test("RecallService.recall() passes on that there are no vectors", async () => {
  const world = await worldOf(["tea"]);
  world.embedder.failure = {
    kind: "unavailable",
    reason: "down",
    retryAfterMs: 5_000,
    isPassing: true,
  };
  const outcome = await world.recall().recall(requestOf({ query: "tea" }));
  assertEquals(outcome, { kind: "unavailable", retryAfterMs: 5_000 });
  assertEquals(world.logger.messagesOf("warning").length, 1);
});

Deno.test("RecallService.recall() tells in which stage the time ran out", async () => {
  for (const stage of ["embed", "walrus_download", "seal_decrypt"] as const) {
    const world = await worldOf(["tea one", "tea two"]);
    const held = Promise.withResolvers<void>();
    let isHeld = false;
    let seen: AbortSignal | undefined;
    const hold = (signal?: AbortSignal): Promise<void> => {
      isHeld = true;
      seen = signal;
      return held.promise;
    };
    if (stage === "embed") world.embedder.onEmbed = hold;
    if (stage === "walrus_download") world.blobs.onGet = (_, end) => hold(end);
    if (stage === "seal_decrypt") world.vault.beforeOpen = () => hold();
    const request = requestOf({ query: "tea", deadlineMs: 200 });
    const outcome = world.recall().recall(request);
    await waitUntil(() => isHeld, { what: stage });
    world.clock.advance(200);
    assertEquals(await outcome, { kind: "timeout", stage, elapsedMs: 200 });
    if (stage !== "seal_decrypt") assertEquals(seen?.aborted, true);
    assertEquals(world.clock.pendingTimers, 0);
    held.resolve();
  }
});

Deno.test("RecallService.recall() ends when nobody waits any more", async () => {
  const world = await worldOf(["tea one", "tea two"]);
  const ended = new AbortController();
  const held = Promise.withResolvers<void>();
  world.blobs.onGet = () => {
    ended.abort();
    return held.promise;
  };
  const request = requestOf({ query: "tea", signal: ended.signal });
  assertEquals(await world.recall().recall(request), { kind: "unavailable" });
  held.resolve();
  const gets = world.blobs.gets;
  assertEquals(await world.recall().recall(request), { kind: "unavailable" });
  assertEquals(world.blobs.gets, gets);
});

Deno.test("RecallService.recall() leaves no timer behind", async () => {
  const world = await worldOf(["tea"]);
  await recalled(world, { query: "tea", deadlineMs: 1_000 });
  assertEquals(world.clock.pendingTimers, 0);
});

async function worldOf(texts: readonly string[]): Promise<MemoryWorld> {
  const world = new MemoryWorld();
  for (const [at, text] of texts.entries()) {
    await world.remember({ id: `m${at}`, text });
  }
  return world;
}

function requestOf(
  request: Partial<RecallRequest> & Pick<RecallRequest, "query">,
): RecallRequest {
  return {
    owner: OWNER,
    namespace: "n",
    limit: 10,
    ordering: { kind: "relevance" },
    ...request,
  };
}

async function recalled(
  world: MemoryWorld,
  request: Partial<RecallRequest> & Pick<RecallRequest, "query">,
): Promise<Extract<RecallOutcome, { kind: "ok" }>> {
  const outcome = await world.recall().recall(requestOf(request));
  assert(outcome.kind === "ok", outcome.kind);
  return outcome;
}
