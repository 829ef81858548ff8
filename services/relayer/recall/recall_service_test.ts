import { assert, assertAlmostEquals, assertEquals } from "@std/assert";
import { withoutUndefined } from "../../../tests/support/without_undefined.ts";
import { waitUntil } from "../../../tests/support/wait_until.ts";
import type { RecallOutcome, RecallRequest } from "./recall_request.ts";
import { RecallService } from "./recall_service.ts";
import { MemoryWorld, OWNER } from "./testing/memory_world.ts";

const DAY_MS = 86_400_000;
const DAMAGED_BLOB = { kind: "ok", bytes: new Uint8Array(9) } as const;

Deno.test("RecallService.recall() answers with the closest texts in order", async () => {
  const world = await createWorld(["green tea", "black coffee", "green parks"]);
  const { memories, dropped } = await recalled(world, { query: "green tea" });
  assertEquals(memories.map(({ text }) => text), [
    "green tea",
    "green parks",
    "black coffee",
  ]);
  assertEquals(dropped, 0);
  const [first] = memories;
  assertAlmostEquals(first?.distance ?? NaN, 0, 1e-6);
  assertEquals(withoutUndefined({ ...first, distance: 0 }), {
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
  const world = await createWorld(["tea one", "tea two", "tea three"]);
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

Deno.test("RecallService.recall() ranks by words alone when the embedder is away, and says so", async () => {
  const world = await createWorld(["Ann drinks green tea", "the key is here"]);
  await world.remember({ id: "z", text: "tea", metadata: { hot: true } });
  world.embedder.failure = {
    ...{ kind: "unavailable", reason: "away", isPassing: true },
  };
  const asked = { query: "Who drinks tea?", ranking: "fused" } as const;
  const { memories } = await recalled(world, asked);
  assertEquals(memories.map(({ id, distance }) => [id, distance]), [
    ["m0", 1],
    ["z", 1],
  ]);
  assert((memories[0]?.relevance ?? 0) > 0.3);
  const filtered = await recalled(world, { ...asked, filter: { hot: true } });
  assertEquals(filtered.memories.map(({ id }) => id), ["z"]);
  assertEquals(
    world.logger.lines[0]?.message,
    "Recalled by words alone: no vector",
  );
  assertEquals(world.logger.lines[0]?.fields, { reason: "away" });
  const plain = await world.recall().recall({
    ...{ owner: OWNER, namespace: "n", query: "tea", limit: 3 },
    ordering: { kind: "relevance" },
  });
  assertEquals(plain.kind, "unavailable");
});

Deno.test("RecallService.recall() says that memories may be missing, and shows none that another instance has removed meanwhile", async () => {
  const world = await createWorld(["green tea", "black tea"]);
  const { index } = world;
  let [isEarly, hasOthers] = [false, false];
  const afterMs: (number | undefined)[] = [];
  const service = new RecallService({
    ...world,
    index: {
      look: () =>
        hasOthers ? { head: Promise.resolve(7), least: 0 } : undefined,
      search: (query, { early, ...options }) => {
        afterMs.push(early?.afterMs);
        if (isEarly) early?.onEarly();
        return index.search(query, options);
      },
    },
  });
  const recall = async (request: Partial<RecallRequest> = {}) => {
    const outcome = await service.recall({
      ...{ owner: OWNER, namespace: "n", query: "tea", limit: 3 },
      ...{ ordering: { kind: "relevance" }, ...request },
    });
    assert(outcome.kind === "ok");
    const { memories, isPartial } = outcome;
    return { ids: memories.map(({ id }) => id).sort(), isPartial };
  };
  assertEquals(await recall(), { ids: ["m0", "m1"], isPartial: false });
  isEarly = true;
  const asked = { deadlineMs: 1_000 };
  assertEquals(await recall(asked), { ids: ["m0", "m1"], isPartial: true });
  hasOthers = true;
  // The index has not heard of it, and the number was the same all the time.
  world.store.rows.delete(`${OWNER}/m1`);
  assertEquals(await recall(), { ids: ["m0"], isPartial: true });
  assertEquals(afterMs, [1_000, 500, 1_000]);
});

Deno.test("RecallService.recall() ranks by words alone when the embedder takes too long", async () => {
  const world = await createWorld(["Ann drinks green tea", "the key is here"]);
  const signals: (AbortSignal | undefined)[] = [];
  world.embedder.onEmbed = (signal) => {
    signals.push(signal);
    return new Promise(() => {});
  };
  const service = world.recall();
  const aloneAfter = async (
    waitMs: number,
    { deadlineMs }: { readonly deadlineMs: number },
  ): Promise<void> => {
    const asking = service.recall(createRequest({
      ...{ query: "Who drinks tea?", ranking: "fused", deadlineMs },
    }));
    await world.clock.advanceAsync(waitMs - 1);
    assertEquals(signals.at(-1)?.aborted, false);
    await world.clock.advanceAsync(1);
    assertEquals(signals.at(-1)?.aborted, true);
    const outcome = await asking;
    assert(outcome.kind === "ok");
    assertEquals(outcome.memories.map(({ id }) => id), ["m0"]);
  };
  await aloneAfter(500, { deadlineMs: 1_000 });
  // The caller's own deadline was short, so that other callers still wait as
  // usual.
  await aloneAfter(3_000, { deadlineMs: 60_000 });
  await aloneAfter(300, { deadlineMs: 60_000 });
  await aloneAfter(200, { deadlineMs: 400 });
  await world.clock.advanceAsync(30_000);
  await aloneAfter(3_000, { deadlineMs: 60_000 });
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
  const world = await createWorld(["green tea", "green parks"]);
  const weights = {
    semantic: 1,
    recency: 0,
    recencyHalfLifeDays: 30,
    importance: 1,
  };
  const { memories } = await recalled(world, {
    query: "green tea",
    ordering: { kind: "weighed", weights },
  });
  assertAlmostEquals(memories[0]?.score ?? NaN, 1 + 0.5, 1e-6);
});

Deno.test("RecallService.recall() drops and counts what it cannot read", async () => {
  const world = await createWorld([
    "tea a",
    "tea b",
    "tea c",
    "tea d",
    "tea e",
  ]);
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
  const world = await createWorld(
    Array.from({ length: 40 }, (_, at) => `tea ${at}`),
  );
  world.blobs.onGet = () => new Promise((resolve) => queueMicrotask(resolve));
  const { memories } = await recalled(world, { query: "tea", limit: 40 });
  assertEquals(memories.length, 40);
  assertEquals(world.blobs.mostAtOnce, 10);
});

Deno.test("RecallService.recall() answers with as much as there is room for, and names the rest", async () => {
  const texts = ["tea", `tea ${"b".repeat(9_000)}`, "tea c", "tea d d"];
  const world = await createWorld(texts);
  const sizes = listSizes(world);
  const maxBytes = (sizes[0] ?? 0) + (sizes[2] ?? 0);
  const service = new RecallService({ ...world, maxBytes });
  const outcome = await service.recall(createRequest({ query: "tea" }));
  assert(outcome.kind === "ok");
  // What is too large does not hide what comes after it.
  assertEquals(outcome.memories.map(({ id }) => id), ["m0", "m2"]);
  assertEquals(outcome.omittedIds.toSorted(), ["m1", "m3"]);
  assertEquals([outcome.dropped, outcome.readBytes], [0, maxBytes]);
  assertEquals(world.blobs.gets, 2);
  const ids = outcome.omittedIds;
  const rest = await service.recall(createRequest({ query: "tea", ids }));
  assert(rest.kind === "ok");
  assertEquals(rest.memories.length, 1);
  const last = await service.recall(
    createRequest({ query: "tea", ids: rest.omittedIds }),
  );
  assert(last.kind === "ok");
  assertEquals(last.omittedIds, []);
  const seen = [outcome, rest, last].flatMap(({ memories }) => memories);
  assertEquals(seen.map(({ id }) => id).toSorted(), ["m0", "m1", "m2", "m3"]);
});

Deno.test("RecallService.recall() answers with one memory, however large it is", async () => {
  const world = await createWorld(["tea", "tea tea two", "tea three"]);
  const service = new RecallService(world);
  const outcome = await service.recall(
    createRequest({ query: "tea", maxBytes: 1 }),
  );
  assert(outcome.kind === "ok");
  assertEquals(outcome.memories.map(({ id }) => id), ["m0"]);
  assertEquals(outcome.omittedIds.length, 2);
});

Deno.test("RecallService.recall() ranks by words where the request or the service says so, and never a vector", async () => {
  const world = await createWorld([
    "The garden has roses and one old pear tree",
    "Pixel hides in the wardrobe while it thunders, every time",
    "Nora reads",
  ]);
  const query = "Where does Pixel hide in thunder?";
  const fused = await recalled(world, { query, ranking: "fused" });
  const [first, second] = fused.memories;
  assertEquals(first?.id, "m1");
  assert((first?.relevance ?? 0) > 0.3);
  assert((second?.relevance ?? 1) < 0.3);
  assertEquals(first?.explanation, undefined);
  const explained = await recalled(world, {
    ...{ query, ranking: "fused", explain: true },
  });
  assertEquals(explained.memories[0]?.explanation?.matched, [
    "pixel",
    "hide",
    "thunder",
  ]);
  const plain = await recalled(world, { query, explain: true });
  assertEquals(plain.memories[0]?.relevance, undefined);
  assertEquals(
    plain.memories[0]?.explanation?.parts,
    { vector: 1 - (plain.memories[0]?.distance ?? NaN) },
  );
  const service = new RecallService({ ...world, ranking: "fused" });
  const request = { owner: OWNER, namespace: "n", limit: 10 } as const;
  const ordering = { kind: "relevance" } as const;
  const usual = await service.recall({ ...request, query, ordering });
  assert(usual.kind === "ok" && usual.memories[0]?.relevance !== undefined);
  const vector = new Float32Array(world.embedder.width).fill(1);
  const near = await service.find({ ...request, query: vector, ordering });
  assert(near.kind === "ok" && near.memories[0]?.relevance === undefined);
});

Deno.test("RecallService.recall() weighs relevance where words rank as well", async () => {
  const world = await createWorld(["green tea", "green parks"]);
  const weights = { semantic: 1, recency: 0, recencyHalfLifeDays: 30 };
  const { memories } = await recalled(world, {
    query: "green tea",
    ranking: "fused",
    ordering: { kind: "weighed", weights: { ...weights, importance: 1 } },
  });
  const [first] = memories;
  assertAlmostEquals(first?.score ?? NaN, (first?.relevance ?? 0) + 0.5, 1e-9);
});

Deno.test("RecallService.recall() takes the next one in the place of what cannot be read", async () => {
  const world = await createWorld(["tea", "tea two", "tea three", "tea four"]);
  const order = (await recalled(world, { query: "tea" })).memories
    .map(({ id }) => id);
  const [first = "", second = "", third = "", fourth = ""] = order;
  world.vault.failures.set(first, "damaged");
  world.blobs.outcomes.delete(`blob-${second}`);
  const service = new RecallService(world);
  const outcome = await service.recall(
    createRequest({ query: "tea", maxBytes: 1 }),
  );
  assert(outcome.kind === "ok");
  assertEquals(outcome.memories.map(({ id }) => id), [third]);
  assertEquals([outcome.dropped, outcome.omittedIds], [2, [fourth]]);
});

Deno.test("RecallService.recall() leaves nothing out when the owner's key cannot be had", async () => {
  for (
    const why of ["session_required", "refused", "key_servers_away"] as const
  ) {
    const world = await createWorld(["tea", "tea two"]);
    world.vault.failures.set("m1", why);
    const outcome = await new RecallService(world).recall(
      createRequest({ query: "tea" }),
    );
    assertEquals(outcome, { kind: "locked", why });
  }
});

Deno.test("RecallService.recall() reads memories again whose blobs are moved meanwhile", async () => {
  for (const isRemoved of [true, false]) {
    const world = await createWorld(["tea", "tea two", "tea three"]);
    const { rows } = world.store;
    const row = rows.get(`${OWNER}/m1`);
    assert(row !== undefined);
    // The search is over, and another process puts the memory elsewhere.
    world.blobs.onGet = () => {
      if (rows.get(`${OWNER}/m1`) !== row) return;
      const bytes = world.blobs.outcomes.get("blob-m1");
      assert(bytes !== undefined);
      world.blobs.outcomes.set("moved", bytes);
      if (isRemoved) world.blobs.outcomes.delete("blob-m1");
      else world.blobs.outcomes.set("blob-m1", DAMAGED_BLOB);
      rows.set(`${OWNER}/m1`, { ...row, blobId: "moved" });
    };
    const { memories, dropped } = await recalled(world, { query: "tea" });
    assertEquals(dropped, 0);
    assertEquals(
      memories.map(({ id, blobId }) => `${id} ${blobId}`).toSorted(),
      ["m0 blob-m0", "m1 moved", "m2 blob-m2"],
    );
  }
});

Deno.test("RecallService.recall() asks for the keys of all it found before it opens any", async () => {
  const world = await createWorld(["tea", "tea two", "tea three"]);
  await recalled(world, { query: "tea" });
  assertEquals(world.vault.calls.slice(0, 3).toSorted(), [
    "prepare m0",
    "prepare m1",
    "prepare m2",
  ]);
  assertEquals(world.vault.calls.slice(3).toSorted(), [
    "open m0",
    "open m1",
    "open m2",
  ]);
});

Deno.test("RecallService.recall() gives up when it has read enough that cannot be opened", async () => {
  const world = await createWorld([]);
  const bytes = new Uint8Array(1_048_576);
  const [vector] = await world.embedder.embedTexts(["tea"]);
  assert(vector !== undefined);
  for (let at = 0; at < 12; at++) {
    const blobId = `blob-${at}`;
    world.blobs.outcomes.set(blobId, { kind: "ok", bytes });
    world.index.add({
      ...{ id: `m${at}`, owner: OWNER, namespace: "n", blobId, vector },
      ...{ createdAtMs: 0, importance: null, metadata: {} },
      sizeBytes: bytes.length,
    });
  }
  const outcome = await recalled(world, { query: "tea", limit: 12 });
  assertEquals([outcome.memories.length, outcome.dropped], [0, 8]);
  assertEquals(outcome.omittedIds.length, 4);
});

Deno.test("RecallService.recall() asks for a pause before each blob that it opens", async () => {
  const world = await createWorld(["tea", "tea two", "tea three"]);
  const log: string[] = [];
  world.vault.beforeOpen = (id) => void log.push(id);
  const pausing = {
    pause() {
      log.push("pause");
      return Promise.resolve();
    },
  };
  await world.recall().recall(createRequest({ query: "tea", pausing }));
  const opening = log.slice(log.indexOf("m0") - 1);
  assertEquals(opening.filter((_, at) => at % 2 === 0), Array(3).fill("pause"));
  assertEquals(opening.length, 6);
});

Deno.test("RecallService.recall() reads for owners by turns", async () => {
  const world = await createWorld(["tea"]);
  await world.remember({ id: "other", text: "tea", owner: "0x0b" });
  const log: string[] = [];
  world.blobs.onGet = (blobId) => {
    log.push(blobId);
    return Promise.resolve();
  };
  const service = new RecallService({ ...world, parallelRecalls: 1 });
  const recalls = Array.from(
    { length: 4 },
    () => service.recall(createRequest({ query: "tea" })),
  );
  recalls.push(
    service.recall({ ...createRequest({ query: "tea" }), owner: "0x0b" }),
  );
  await Promise.all(recalls);
  assert(log.indexOf("blob-other") <= 2, log.join());
});

Deno.test("RecallService.recall() reads for no more recalls at once than it may", async () => {
  const world = await createWorld(["tea"]);
  const held = Promise.withResolvers<void>();
  world.blobs.onGet = () => held.promise;
  const service = new RecallService({ ...world, parallelRecalls: 2 });
  const recalls = Array.from(
    { length: 5 },
    () => service.recall(createRequest({ query: "tea" })),
  );
  await waitUntil(() => world.blobs.gets === 2, { what: "two to read" });
  held.resolve();
  const outcomes = await Promise.all(recalls);
  assertEquals(outcomes.map(({ kind }) => kind), Array(5).fill("ok"));
  assertEquals(world.blobs.mostAtOnce, 2);
});

Deno.test("RecallService.find() leaves blobs alone", async () => {
  const world = await createWorld(["green tea"]);
  const [vector] = await world.embedder.embedTexts(["tea"]);
  assert(vector !== undefined);
  const outcome = await world.recall().find(createRequest({ query: vector }));
  assert(outcome.kind === "ok");
  assertEquals(
    outcome.memories.map(({ id, text, metadata }) => [id, text, metadata]),
    [["m0", undefined, undefined]],
  );
  assertEquals(world.blobs.gets, 0);
});

Deno.test("RecallService.recall() passes on that there are no vectors", async () => {
  const world = await createWorld(["tea"]);
  world.embedder.failure = {
    kind: "unavailable",
    reason: "down",
    retryAfterMs: 5_000,
    isPassing: true,
  };
  const outcome = await world.recall().recall(createRequest({ query: "tea" }));
  assertEquals(outcome, { kind: "unavailable", retryAfterMs: 5_000 });
  assertEquals(world.logger.listMessages("warning").length, 1);
});

Deno.test("RecallService.recall() tells in which stage the time ran out", async () => {
  for (const stage of ["embed", "walrus_download", "seal_decrypt"] as const) {
    const world = await createWorld(["tea one", "tea two"]);
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
    const request = createRequest({ query: "tea", deadlineMs: 200 });
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
  const world = await createWorld(["tea one", "tea two"]);
  const ended = new AbortController();
  const held = Promise.withResolvers<void>();
  world.blobs.onGet = () => {
    ended.abort();
    return held.promise;
  };
  const request = createRequest({ query: "tea", signal: ended.signal });
  assertEquals(await world.recall().recall(request), { kind: "unavailable" });
  held.resolve();
  const gets = world.blobs.gets;
  assertEquals(await world.recall().recall(request), { kind: "unavailable" });
  assertEquals(world.blobs.gets, gets);
});

Deno.test("RecallService.recall() leaves no timer behind", async () => {
  const world = await createWorld(["tea"]);
  await recalled(world, { query: "tea", deadlineMs: 1_000 });
  assertEquals(world.clock.pendingTimers, 0);
});

async function createWorld(texts: readonly string[]): Promise<MemoryWorld> {
  const world = new MemoryWorld();
  for (const [at, text] of texts.entries()) {
    await world.remember({ id: `m${at}`, text });
  }
  return world;
}

function createRequest(
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
  const outcome = await world.recall().recall(createRequest(request));
  assert(outcome.kind === "ok", outcome.kind);
  return outcome;
}

/** Bytes of the blobs, in the order they were remembered. */
function listSizes(world: MemoryWorld): readonly number[] {
  return [...world.blobs.outcomes.values()].map((outcome) =>
    outcome.kind === "ok" ? outcome.bytes.length : 0
  );
}
