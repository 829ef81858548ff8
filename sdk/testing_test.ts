import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import { generateText } from "ai";
import { MockLanguageModelV4 } from "ai/test";
import { FakeClock } from "../tests/support/fake_clock.ts";
import {
  Mem,
  MemError,
  MemPreflightTimeout,
  MemRateLimitError,
  MemRequestTimeout,
  RememberJobFailed,
  RememberJobTimeout,
} from "../mod.ts";
import { withMem } from "./ai.ts";
import { waitUntil } from "../tests/support/wait_until.ts";
import { type MemConfig, MemMock, type MockFailure } from "./testing.ts";

const TEA = "Ada drinks tea";
const HALF_HOUR_MS = 30 * 60_000;
const DAY_MS = 24 * 60 * 60_000;

/**
 * Waits until this many requests were sent. Signing a request takes several
 * turns of the event loop.
 */
async function sent(mock: MemMock, count: number): Promise<void> {
  await waitUntil(() => Promise.resolve(mock.requests.length >= count), {
    what: `${count} requests`,
  });
}

Deno.test("MemMock.create() makes a client that remembers and finds", async () => {
  const { mem } = MemMock.create();
  assert(mem instanceof Mem);
  await mem.rememberAndWait(TEA);
  await mem.rememberAndWait("Ben repairs bicycles");
  const { results } = await mem.recall({ query: "What does Ada drink?" });
  assertEquals(results[0]?.text, TEA);
});

Deno.test("MemMock.create() keeps mocks apart", async () => {
  const [one, other] = [MemMock.create(), MemMock.create()];
  await one.mem.rememberAndWait(TEA);
  assertEquals((await other.mem.recall("tea")).total, 0);
});

Deno.test("MemMock.create() refuses a namespace that is no name", () => {
  assertThrows(() => MemMock.create({ namespace: "" }), TypeError);
});

Deno.test("MemMock.config makes further clients of the same memories", async () => {
  const mock = MemMock.create({ namespace: "habits" });
  const mem = Mem.create({ ...mock.config, namespace: "places" });
  await mem.rememberAndWait("Ada lives in London");
  mem.destroy();
  assertEquals(mock.memories(), []);
  const [memory] = mock.memories("places");
  assertEquals(memory?.text, "Ada lives in London");
  assertEquals((await mock.mem.recall("Ada", 1, "places")).total, 1);
});

Deno.test("MemMock.memories() tells what was said of memories, the oldest first", async () => {
  const clock = new FakeClock();
  const mock = MemMock.create({ clock });
  const { id } = await mock.mem.rememberAndWait(TEA, {
    metadata: { person: "Ada" },
    importance: 1,
  });
  clock.advance(5);
  const { id: young } = await mock.mem.rememberAndWait("Ben drinks coffee");
  const vector = await mock.mem.embed("sealed");
  await mock.mem.rememberManual({ encryptedData: Uint8Array.of(1), vector });
  assertEquals(mock.memories().map(({ text }) => text), [
    TEA,
    "Ben drinks coffee",
    undefined,
  ]);
  assertEquals(mock.memories()[0], {
    id,
    text: TEA,
    namespace: "default",
    blobId: "blob-1",
    createdAtMs: clock.nowMs() - 5,
    importance: 1,
    metadata: { person: "Ada" },
    supersedes: undefined,
  });
  await mock.mem.rememberAndWait("Ben drinks milk", { supersedes: young });
  assertEquals(mock.memories().at(-1)?.supersedes, young);
  assertEquals(mock.memories().some((memory) => memory.id === young), false);
});

Deno.test("MemMock.requests tells what was sent, without what the client hides", async () => {
  const mock = MemMock.create();
  await mock.mem.remember(TEA, { idempotencyKey: "k" });
  await mock.mem.listNamespaces({ limit: 3 });
  assertEquals(mock.requests, [
    { method: "GET", path: "/version", body: undefined },
    {
      method: "POST",
      path: "/api/remember",
      body: { text: TEA, namespace: "default", idempotency_key: "k" },
    },
    { method: "GET", path: "/api/whoami", body: undefined },
    {
      method: "GET",
      path: `/v1/owners/0x${"b2".repeat(32)}/namespaces?limit=3`,
      body: undefined,
    },
  ]);
});

Deno.test("MemMock takes what an application says of facts and answers", async () => {
  const mock = MemMock.create({
    facts: (text) => [...text.split(","), " ", ""],
    answer: (question, texts) => `${question} ${texts.join("; ")}`,
  });
  const { facts } = await mock.mem.analyze("tea,coffee");
  assertEquals(facts.map(({ text }) => text), ["tea", "coffee"]);
  const { answer } = await mock.mem.ask("tea?");
  assertEquals(answer, "tea? tea");
});

Deno.test("MemMock tells when what an application gave it fails", async () => {
  const mock = MemMock.create({
    facts: () => {
      throw new RangeError("no facts here");
    },
    answer: () => {
      throw new RangeError("no answers here");
    },
  });
  for (const call of [() => mock.mem.analyze("t"), () => mock.mem.ask("t")]) {
    const error = await assertRejects(call, MemError, "RangeError: no ");
    assertEquals(error.status, 500);
  }
});

Deno.test("MemMock takes no more than twenty facts of a text", async () => {
  const mock = MemMock.create();
  const text = Array.from({ length: 30 }, (_, at) => `Fact ${at}.`).join(" ");
  const { facts } = await mock.mem.analyzeAndWait(text);
  assertEquals([facts.length, mock.memories().length], [20, 20]);
});

Deno.test("MemMock answers with as many bytes as it is told", async () => {
  const mock = MemMock.create({ maxAnswerBytes: 1 });
  await mock.mem.rememberBulkAndWait([{ text: TEA }, { text: "Ben runs" }]);
  const { results, omitted_ids } = await mock.mem.recall("Ada drinks");
  assertEquals(results.map(({ text }) => text), [TEA]);
  assertEquals(omitted_ids?.length, 1);
});

Deno.test("MemMock.holdJobs() lets jobs wait, and releaseJobs() ends them for those who wait", async () => {
  const clock = new FakeClock();
  const mock = MemMock.create({ clock });
  mock.holdJobs();
  const waiting = mock.mem.rememberAndWait(TEA);
  await sent(mock, 3);
  const several = mock.mem.rememberBulkAndWait([{ text: "a" }, { text: "b" }]);
  await sent(mock, 6);
  const { job_ids } = await mock.mem.analyze("Ben runs.");
  await clock.advanceAsync(5_000);
  const { status } = await mock.mem.getRememberStatus(job_ids[0] ?? "");
  assertEquals(status, "pending");
  assertEquals(mock.memories(), []);
  mock.releaseJobs();
  assertEquals((await waiting).blob_id, "blob-1");
  await waitUntil(async () => {
    await clock.advanceAsync(100);
    return mock.requests.length >= 9;
  }, { what: "the last look" });
  assertEquals((await several).succeeded, 2);
  assertEquals(mock.memories().length, 4);
  await mock.mem.rememberAndWait("Carla swims");
  assertEquals(clock.pendingTimers, 0);
});

Deno.test("MemMock.releaseJobs() lets jobs fail, and the same write begins them again", async () => {
  const mock = MemMock.create();
  mock.holdJobs();
  const { job_id } = await mock.mem.remember(TEA);
  mock.releaseJobs("failed");
  const error = await assertRejects(
    () => mock.mem.waitForRememberJob(job_id),
    RememberJobFailed,
  );
  assertEquals(error.jobId, job_id);
  assertEquals(mock.memories(), []);
  const { id } = await mock.mem.rememberAndWait(TEA);
  assertEquals(id, job_id);
  assertEquals(mock.memories().length, 1);
});

Deno.test("MemMock.endJob() ends one job of several", async () => {
  const clock = new FakeClock();
  const mock = MemMock.create({ clock });
  mock.holdJobs();
  const { job_ids: [one = "", two = ""] } = await mock.mem.rememberBulk([
    { text: "a" },
    { text: "b" },
  ]);
  mock.endJob(one);
  mock.endJob(two, "failed");
  const outcome = await mock.mem.waitForRememberJobs([one, two]);
  assertEquals(outcome.results.map(({ status }) => status), ["done", "failed"]);
  assertThrows(() => mock.endJob(one), TypeError, "no job of this id waits");
});

Deno.test("MemMock lets a client give up waiting by its own clock", async () => {
  const clock = new FakeClock();
  const mock = MemMock.create({ clock });
  mock.holdJobs();
  const waiting = mock.mem.rememberAndWait(TEA, { timeoutMs: 3_000 });
  let isOver = false;
  const ended = assertRejects(() => waiting, RememberJobTimeout)
    .finally(() => isOver = true);
  await waitUntil(async () => {
    await clock.advanceAsync(100);
    return isOver;
  }, { what: "the end of the wait" });
  const error = await ended;
  assertEquals(error.lastStatus, "running");
  assertEquals(clock.pendingTimers, 0);
});

Deno.test("MemMock deletes a job that waits, which then never stores anything", async () => {
  const mock = MemMock.create();
  mock.holdJobs();
  const { job_id } = await mock.mem.remember(TEA);
  const { blob_id } = await mock.mem.deleteMemory(job_id);
  assertEquals(blob_id, "");
  mock.releaseJobs();
  assertEquals(mock.memories(), []);
  // The same text within half an hour has the same idempotency key, so this is
  // the write whose memory was deleted.
  assertEquals((await mock.mem.remember(TEA)).job_id, job_id);
  assertEquals(mock.memories(), []);
});

Deno.test("MemMock knows a key for a day", async () => {
  const clock = new FakeClock();
  const mock = MemMock.create({ clock });
  const remember = async (options = {}) =>
    (await mock.mem.remember(TEA, options)).job_id;
  const first = await remember();
  assertEquals(await remember(), first);
  clock.advance(HALF_HOUR_MS);
  assert(await remember() !== first);
  const key = { idempotencyKey: "k" };
  const named = await remember(key);
  clock.advance(DAY_MS - 1);
  assertEquals(await remember(key), named);
  clock.advance(1);
  assert(await remember(key) !== named);
});

Deno.test("MemMock.fail() refuses as often as it is told, then answers", async () => {
  const mock = MemMock.create();
  mock.fail("POST /api/recall", {
    kind: "status",
    status: 503,
    error: "too much to do",
    times: 2,
  });
  for (let time = 0; time < 2; time++) {
    const error = await assertRejects(() => mock.mem.recall("t"), MemError);
    assertEquals(error.status, 503);
    assert(error.message.includes("too much to do"));
  }
  assertEquals((await mock.mem.recall("t")).total, 0);
});

Deno.test("MemMock.fail() lets failures of a route happen one after the other", async () => {
  const mock = MemMock.create();
  mock.fail("POST /api/stats", {
    kind: "status",
    status: 429,
    retryAfterSeconds: 7,
  });
  mock.fail("*", { kind: "no_answer" });
  await mock.mem.compatibility().catch(() => {});
  mock.fail("POST /api/stats", { kind: "status", status: 500 });
  const limited = await assertRejects(
    () => mock.mem.stats(),
    MemRateLimitError,
  );
  assertEquals(limited.retryAfterSeconds, 7);
  const broken = await assertRejects(() => mock.mem.stats(), MemError);
  assertEquals(broken.status, 500);
  assertEquals((await mock.mem.stats()).memory_count, 0);
});

Deno.test("MemMock.fail() with no answer leaves memories as they are", async () => {
  const mock = MemMock.create();
  mock.fail("POST /api/remember", { kind: "no_answer" });
  const error = await assertRejects(() => mock.mem.remember(TEA), MemError);
  assertEquals(error.status, 0);
  assertEquals(mock.memories(), []);
});

Deno.test("MemMock.fail() with a lost answer makes one memory of a write that is sent again", async () => {
  const mock = MemMock.create();
  mock.fail("POST /api/remember", { kind: "lost_answer" });
  const error = await assertRejects(() => mock.mem.remember(TEA), MemError);
  assertEquals(error.status, 0);
  assertEquals(mock.memories().length, 1);
  await mock.mem.rememberAndWait(TEA);
  assertEquals(mock.memories().length, 1);
});

Deno.test("MemMock.fail() with trouble that passes does not end a wait", async () => {
  const clock = new FakeClock();
  const mock = MemMock.create({ clock });
  mock.fail("GET /api/remember/:id", {
    kind: "status",
    status: 503,
    retryAfterSeconds: 3,
  });
  const waiting = mock.mem.rememberAndWait(TEA);
  await sent(mock, 3);
  await clock.advanceAsync(2_999);
  assertEquals(mock.requests.length, 3);
  await clock.advanceAsync(1);
  assertEquals((await waiting).id, "memory-1");
  assertEquals(mock.requests.length, 4);
});

Deno.test("MemMock.fail() answers late by its clock", async () => {
  const clock = new FakeClock();
  const mock = MemMock.create({ clock });
  await mock.mem.compatibility();
  mock.fail("POST /api/recall", { kind: "slow", delayMs: 400 });
  let isAnswered = false;
  const recall = mock.mem.recall("tea").then(() => isAnswered = true);
  // The deadline of the client, and the delay, which begins after the answer.
  await waitUntil(() => Promise.resolve(clock.pendingTimers >= 2), {
    what: "two timers",
  });
  await clock.advanceAsync(399);
  assertEquals(isAnswered, false);
  await clock.advanceAsync(1);
  await recall;
  assertEquals(clock.pendingTimers, 0);
});

Deno.test("MemMock.fail() with an answer that never arrives meets the client's deadlines", async () => {
  const clock = new FakeClock();
  const mock = MemMock.create({ clock });
  mock.fail("GET /version", { kind: "slow", delayMs: Infinity });
  const preflight = assertRejects(() => mock.mem.stats(), MemPreflightTimeout);
  await sent(mock, 1);
  await clock.advanceAsync(5_000);
  await preflight;
  mock.fail("POST /api/recall", { kind: "slow", delayMs: Infinity });
  const recall = mock.mem.recall({ query: "tea", timeoutMs: 300 });
  const late = assertRejects(() => recall, MemRequestTimeout);
  await sent(mock, 3);
  await clock.advanceAsync(300);
  await late;
  assertEquals(clock.pendingTimers, 0);
});

Deno.test("MemMock leaves nothing behind when a client ends while it waits", async () => {
  const clock = new FakeClock();
  const mock = MemMock.create({ clock });
  mock.holdJobs();
  const { job_id } = await mock.mem.remember(TEA);
  mock.fail("POST /api/recall", { kind: "slow", delayMs: 1_000 });
  const calls = [mock.mem.waitForRememberJob(job_id), mock.mem.recall("tea")];
  const ends = Promise.allSettled(calls);
  await sent(mock, 4);
  mock.mem.destroy();
  assertEquals(
    (await ends).map(({ status }) => status),
    ["rejected", "rejected"],
  );
  assertEquals(clock.pendingTimers, 0);
  mock.releaseJobs();
});

Deno.test("MemMock.fail() refuses what is no route and no failure", () => {
  const mock = MemMock.create();
  const status = (one: number) => ({ kind: "status", status: one });
  const wrong: readonly (readonly [string, unknown])[] = [
    ["POST /api/rekall", status(500)],
    ["recall", status(500)],
    ["*", status(200)],
    ["*", status(600)],
    ["*", status(NaN)],
    ["*", { ...status(503), retryAfterSeconds: -1 }],
    ["*", { ...status(503), times: 0 }],
    ["*", { ...status(503), times: 1.5 }],
    ["*", { kind: "slow", delayMs: -1 }],
    ["*", { kind: "slow" }],
    ["*", { kind: "late" }],
    ["*", undefined],
  ];
  for (const [route, failure] of wrong) {
    assertThrows(
      () => mock.fail(route as "*", failure as MockFailure),
      TypeError,
      "Cannot fail",
    );
  }
});

Deno.test("MemMock.reset() forgets everything, and clients go on", async () => {
  const mock = MemMock.create();
  await mock.mem.rememberAndWait(TEA);
  mock.holdJobs();
  const waiting = assertRejects(
    () => mock.mem.rememberAndWait("Ben runs"),
    RememberJobFailed,
  );
  await sent(mock, 5);
  mock.fail("*", { kind: "no_answer", times: Infinity });
  mock.reset();
  await waiting;
  assertEquals([mock.memories(), mock.requests], [[], []]);
  await mock.mem.rememberAndWait(TEA);
  assertEquals(mock.memories().length, 1);
});

Deno.test("MemMock refuses requests that no client of its own sends", async () => {
  const { config } = MemMock.create();
  const { fetch = globalThis.fetch } = config;
  const url = `${config.serverUrl}/api/recall`;
  const unsigned = await fetch(url, { method: "POST", body: "{}" });
  assertEquals(unsigned.status, 401);
  const unknown = await fetch(`${config.serverUrl}/api/nothing`, {});
  assertEquals(unknown.status, 404);
});

Deno.test("MemMock finds texts without words, and in scripts without spaces", async () => {
  const { mem } = MemMock.create();
  await mem.rememberBulkAndWait([
    { text: "🥐🥖" },
    { text: "私は毎日お茶を飲みます" },
    { text: "Zoë isst Brötchen" },
    { text: "???" },
  ]);
  const first = async (query: string) =>
    (await mem.recall(query)).results[0]?.text;
  assertEquals(await first("🥐"), "🥐🥖");
  assertEquals(await first("お茶"), "私は毎日お茶を飲みます");
  assertEquals(await first("Was isst Zoë?"), "Zoë isst Brötchen");
  assertEquals(await first("??"), "???");
});

Deno.test("MemMock gives the same answers to the same calls", async () => {
  const run = async (config: Partial<MemConfig> = {}) => {
    const mock = MemMock.create({ clock: new FakeClock() });
    const mem = Mem.create({ ...mock.config, ...config });
    await mem.rememberBulkAndWait([{ text: TEA }, { text: "Ben runs" }]);
    const { results } = await mem.recall({ query: "Ada runs" });
    return [results, await mem.listMemories(), await mem.listNamespaces()];
  };
  assertEquals(await run(), await run());
});

Deno.test("MemMock gives a model a memory", async () => {
  const mock = MemMock.create();
  const prompts: string[] = [];
  const inner = new MockLanguageModelV4({
    doGenerate: ({ prompt }) => {
      prompts.push(JSON.stringify(prompt));
      return Promise.resolve({
        content: [{ type: "text", text: "I see." }],
        finishReason: { unified: "stop", raw: undefined },
        usage: {
          inputTokens: {
            total: 1,
            noCache: undefined,
            cacheRead: undefined,
            cacheWrite: undefined,
          },
          outputTokens: { total: 1, text: undefined, reasoning: undefined },
        },
        warnings: [],
      });
    },
  });
  const model = withMem(inner, mock.config);
  await generateText({ model, prompt: "My dog is called Bello." });
  await model.flush();
  assertEquals(mock.memories().map(({ text }) => text), [
    "My dog is called Bello.",
  ]);
  await generateText({ model, prompt: "What is my dog called?" });
  assert(prompts[1]?.includes("Bello"), prompts[1]);
  await model.flush();
});
