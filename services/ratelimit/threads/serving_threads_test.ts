import { assert, assertEquals } from "@std/assert";
import { FakeClock } from "../../../tests/support/fake_clock.ts";
import { RecordingLogger } from "../../../tests/support/recording_logger.ts";
import { OverLimitBoard } from "../activity/over_limit_keys.ts";
import { readSettings } from "../../shared/settings.ts";
import { shareStores } from "../counters/shared_stores.ts";
import { type RateLimitSettings, rateLimitSettings } from "../settings.ts";
import { StatsRegistry } from "../stats/registry.ts";
import { threadFaults, threadSettings } from "./open_threads.ts";
import { crowdedThread, ServingThreads } from "./serving_threads.ts";
import type { FromThread, ToThread } from "./thread_messages.ts";

function parseSettings(
  env: Readonly<Record<string, string>>,
): RateLimitSettings {
  const read = readSettings(rateLimitSettings, (name) => env[name]);
  assert(read.kind !== "invalid");
  return read.values;
}

/** A worker without a thread. */
class FakeThread {
  onmessage: ((event: MessageEvent<FromThread>) => void) | null = null;
  onerror: ((event: ErrorEvent) => void) | null = null;
  readonly heard: ToThread[] = [];
  isTerminated = false;

  postMessage(message: ToThread): void {
    this.heard.push(message);
    if (message.kind === "open") this.says({ kind: "opened" });
    if (message.kind === "stop") this.says({ kind: "stopped", changes: [] });
  }

  says(data: FromThread): void {
    this.onmessage?.(new MessageEvent("message", { data }));
  }

  terminate(): void {
    this.isTerminated = true;
  }

  get kinds(): readonly string[] {
    return this.heard.map(({ kind }) => kind);
  }
}

function world(workers: number) {
  const settings = { ...parseSettings({}), workers };
  const started: FakeThread[] = [];
  const clock = new FakeClock();
  const logger = new RecordingLogger();
  const registry = new StatsRegistry();
  const overLimit = new OverLimitBoard();
  const threads = new ServingThreads({
    settings,
    stores: shareStores({
      maxKeys: 1_000,
      isInMemory: true,
      hasCandidate: false,
    }),
    registry,
    overLimit,
    clock,
    logger,
    startThread: () => {
      const thread = new FakeThread();
      started.push(thread);
      return thread as unknown as Worker;
    },
  });
  const stat = (name: string): unknown => {
    const found = registry.snapshot().find((one) => one.name === name);
    return found !== undefined && "value" in found ? found.value : undefined;
  };
  return { threads, started, clock, logger, overLimit, stat };
}

/** The main thread's listener, for tests in which it does not matter. */
const OWN = { connections: 0, retire() {} };
const PORTS = { grpcPort: 8081, port: 8080 };
const DOCUMENTS = [{ name: "a.yaml", text: "domain: a" }];

Deno.test("ServingThreads starts all threads but the main one, and tells each what it needs to serve", async () => {
  const { threads, started } = world(3);
  await threads.start();
  threads.configure(DOCUMENTS);
  await threads.open(PORTS, OWN);
  assertEquals(started.length, 2);
  for (const [index, thread] of started.entries()) {
    assertEquals(thread.kinds, ["start", "configure", "open"]);
    const [start] = thread.heard;
    assert(start?.kind === "start");
    assertEquals(start.thread, index + 1);
  }
  threads.lookAtFiles();
  threads.reload();
  threads.terminating();
  await threads.close(1_000);
  for (const thread of started) {
    assertEquals(thread.kinds.slice(3), [
      "lookAtFiles",
      "reload",
      "terminate",
      "stop",
    ]);
    assert(thread.isTerminated);
  }
  await threads.stop();
});

Deno.test("ServingThreads replaces a thread that fails, and tells the new one rules and ports", async () => {
  const { threads, started, clock, logger, stat } = world(2);
  await threads.start();
  threads.configure(DOCUMENTS);
  await threads.open(PORTS, OWN);
  started[0]!.onerror?.(
    new ErrorEvent("error", { message: "out of order", cancelable: true }),
  );
  assert(started[0]!.isTerminated);
  assertEquals(logger.listMessages("error"), [
    "A thread has ended and will be replaced",
  ]);
  assertEquals(stat("ratelimit.threads.restarts"), 1);
  clock.advance(249);
  assertEquals(started.length, 1);
  clock.advance(1);
  assertEquals(started.length, 2);
  assertEquals(started[1]!.kinds, ["start", "configure", "open"]);
  await threads.stop();
});

Deno.test("ServingThreads waits twice as long each time until a thread has opened its listeners", async () => {
  const { threads, started, clock } = world(2);
  await threads.start();
  for (const delayMs of [250, 500, 1_000, 2_000]) {
    const before = started.length;
    started.at(-1)!.says({ kind: "failed", problems: ["no port"] });
    clock.advance(delayMs - 1);
    assertEquals(started.length, before);
    clock.advance(1);
    assertEquals(started.length, before + 1);
  }
  started.at(-1)!.says({ kind: "opened" });
  started.at(-1)!.says({ kind: "failed", problems: ["no port"] });
  clock.advance(250);
  assertEquals(started.length, 6);
  await threads.stop();
});

Deno.test("ServingThreads replaces a thread that was not heard of for ten seconds", async () => {
  const { threads, started, clock, logger } = world(2);
  await threads.start();
  for (let second = 0; second < 30; second++) {
    await clock.advanceAsync(1_000);
    started[0]!.says({ kind: "beat", changes: [], connections: 0 });
  }
  assertEquals(started.length, 1);
  await clock.advanceAsync(11_000);
  assert(started[0]!.isTerminated);
  await clock.advanceAsync(250);
  assertEquals(started.length, 2);
  assertEquals(
    logger.lines.find(({ level }) => level === "error")?.fields["reason"],
    "nothing was heard of it for 10 s",
  );
  await threads.stop();
});

Deno.test("ServingThreads lets a thread be silent for longer while it reads its first rules", async () => {
  const { threads, started, clock } = world(2);
  await threads.start();
  threads.configure(DOCUMENTS);
  await clock.advanceAsync(100_000);
  assertEquals(started.length, 1);
  started[0]!.says({ kind: "configured" });
  threads.configure(DOCUMENTS);
  await clock.advanceAsync(11_000);
  assert(started[0]!.isTerminated);
  // The thread in its place has rules to read as well.
  await clock.advanceAsync(100_000);
  assertEquals(started.length, 2);
  await clock.advanceAsync(30_000);
  assert(started[1]!.isTerminated);
  await threads.stop();
});

Deno.test("ServingThreads adds the statistics of threads, and forgets the gauges and keys of those that ended", async () => {
  const { threads, started, overLimit, stat } = world(2);
  await threads.start();
  const calls = "ratelimit_server.ShouldRateLimit.total_requests";
  started[0]!.says({
    kind: "beat",
    changes: [
      { kind: "counter", name: calls, increase: 5, total: 5, index: 0 },
      { kind: "gauge", name: "g", value: 3, changed: true, index: 1 },
    ],
    connections: 2,
    overLimitKeys: [
      { rule: undefined, key: "k", perMinute: 7, maxError: 0 },
    ],
  });
  assertEquals(overLimit.list().map(({ perMinute }) => perMinute), [7]);
  assertEquals(
    [calls, "g", "ratelimit.threads.1.calls", "ratelimit.threads.1.connections"]
      .map(stat),
    [5, 3, 5, 2],
  );
  started[0]!.says({ kind: "failed", problems: ["x"] });
  assertEquals(
    [calls, "g", "ratelimit.threads.1.connections"].map(stat),
    [5, 0, 0],
  );
  assertEquals(overLimit.list(), []);
  await threads.stop();
});

Deno.test("threadSettings() gives each thread its share of what is bounded, and auto as many threads as there are cores", () => {
  const settings = parseSettings({
    WORKERS: "auto",
    MAX_UNFINISHED_BYTES: "4194304",
    LOCAL_CACHE_SIZE_IN_BYTES: "8388608",
  });
  const own = threadSettings(settings, { cores: 4 });
  assertEquals(
    [own.workers, own.maxUnfinishedBytes, own.localCacheBytes],
    [4, 1_048_576, 2_097_152],
  );
  assert(own.tracingServiceInstanceId !== "");
  assertEquals(threadSettings(settings, { cores: 64 }).workers, 8);
  const alone = threadSettings(parseSettings({}), { cores: 4 });
  assertEquals([alone.workers, alone.maxUnfinishedBytes], [1, 67_108_864]);
});

Deno.test("threadFaults() refuses several threads on a unix socket", () => {
  const findProblem = (env: Readonly<Record<string, string>>) =>
    threadFaults(parseSettings(env))[0];
  assertEquals(
    findProblem({ WORKERS: "2", GRPC_UDS: "/run/a.sock" }),
    "Cannot serve with WORKERS=2: one thread alone can listen on the unix " +
      "socket that GRPC_UDS names; leave it out, or set WORKERS to 1",
  );
  assertEquals(
    findProblem({ WORKERS: "1", GRPC_UDS: "/run/a.sock" }),
    undefined,
  );
  assertEquals(findProblem({ WORKERS: "2" }), undefined);
});

Deno.test("crowdedThread() names a thread with more than its share of the connections", () => {
  const cases: readonly (readonly [readonly number[], number | undefined])[] = [
    [[0, 0], undefined],
    [[1, 0], undefined],
    [[4, 4], undefined],
    [[2, 0], 0],
    [[3, 5], 1],
    [[3, 4, 9], 2],
    // A difference that chance makes among many connections is small enough.
    [[5_100, 4_900], undefined],
  ];
  for (const [counts, expected] of cases) {
    assertEquals(crowdedThread(counts), expected, counts.join(" "));
  }
});

Deno.test("ServingThreads has one caller a second connect again while a thread is crowded", async () => {
  const { threads, started, clock } = world(2);
  await threads.start();
  let retired = 0;
  const own = {
    connections: 6,
    retire: (count: number) => void (retired += count),
  };
  await threads.open(PORTS, own);
  const beat = (connections: number) =>
    started[0]!.says({ kind: "beat", changes: [], connections });
  beat(2);
  await clock.advanceAsync(2_000);
  assertEquals(retired, 2);
  own.connections = 2;
  beat(6);
  await clock.advanceAsync(1_000);
  assertEquals(started[0]!.kinds.at(-1), "retire");
  own.connections = 4;
  beat(4);
  await clock.advanceAsync(5_000);
  assertEquals(retired, 2);
  assertEquals(started[0]!.kinds.filter((kind) => kind === "retire").length, 1);
  await threads.stop();
});
