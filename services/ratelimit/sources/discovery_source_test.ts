import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { loadSchema } from "../../../proto/testing/schema.ts";
import { FakeClock } from "../../../tests/support/fake_clock.ts";
import {
  FakeGrpcChannel,
  type FakeGrpcStream,
} from "../../../tests/support/fake_grpc_channel.ts";
import { RecordingLogger } from "../../../tests/support/recording_logger.ts";
import { waitUntil } from "../../../tests/support/wait_until.ts";
import { GRPC_STATUS, GrpcFailure } from "../../shared/grpc/method.ts";
import { loadRules } from "../rules/load.ts";
import type { Snapshot } from "../rules/snapshot.ts";
import { StatsRegistry } from "../stats/registry.ts";
import { ConfigLoader } from "./config_loader.ts";
import { DiscoverySource } from "./discovery_source.ts";

const schema = await loadSchema();
const RULES = "ratelimit.config.ratelimit.v3.RateLimitConfig";
const TYPE_URL = `type.googleapis.com/${RULES}`;
const PACKAGE = "envoy.service.discovery.v3";

/** A request, as the server sees it. */
interface Told {
  readonly versionInfo: string;
  readonly responseNonce: string;
  readonly errorDetail: { readonly message: string } | null;
  readonly node: { readonly id: string };
}

/** A source with a server that is played by the test. */
class Bench {
  readonly clock = new FakeClock();
  readonly logger = new RecordingLogger();
  readonly registry = new StatsRegistry();
  readonly adopted: Snapshot[] = [];
  /** The channels that the source has opened, one for each attempt. */
  readonly channels: FakeGrpcChannel[] = [];
  readonly source: DiscoverySource;
  /** Makes the channel of an attempt; a test may replace it. */
  connect: () => FakeGrpcChannel = () => new FakeGrpcChannel();
  readonly #attemptsMs: number[] = [];
  #loads: Promise<void> = Promise.resolve();

  constructor({ jitter = false, maxMs = 60_000 } = {}) {
    const loader = new ConfigLoader({
      load: async (documents) => {
        await this.#loads;
        return loadRules(documents);
      },
      adopt: (snapshot) => void this.adopted.push(snapshot),
      stats: this.registry,
      logger: this.logger,
    });
    this.source = new DiscoverySource({
      server: "control:18000",
      connect: () => {
        this.#attemptsMs.push(this.clock.nowMs());
        const channel = this.connect();
        this.channels.push(channel);
        return channel;
      },
      node: { id: "edge-1", metadata: {} },
      metadata: { authorization: "secret" },
      maxMessageBytes: 4_096,
      backoff: {
        firstMs: 3_000,
        initialMs: 10_000,
        maxMs,
        growth: 0.5,
        jitter,
      },
      loader,
      clock: this.clock,
      logger: this.logger,
      random: () => 0.5,
    });
  }

  /** Makes loads wait until the returned function is called. */
  holdLoads(): () => void {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#loads = promise;
    return resolve;
  }

  /** Returns the stream of an attempt, once there is one. */
  async stream(attempt: number): Promise<FakeGrpcStream> {
    await waitUntil(() => this.channels[attempt]?.streams[0] !== undefined, {
      what: `attempt ${attempt}`,
    });
    return this.channels[attempt]!.streams[0]!;
  }

  /** Returns a request on a stream by its number, once it was sent. */
  async told(stream: FakeGrpcStream, at: number): Promise<Told> {
    await waitUntil(() => stream.sent[at] !== undefined, {
      what: `request ${at}`,
    });
    return schema(`${PACKAGE}.DiscoveryRequest`).decode(
      stream.sent[at]!,
    ) as unknown as Told;
  }

  /** Checks that a refusal is not sent before its time, and lets it come. */
  async refusalAfter(waitMs: number, stream: FakeGrpcStream): Promise<void> {
    if (waitMs === 0) return;
    const before = stream.sent.length;
    // Refused resources are compared by a digest, which takes its time.
    await waitUntil(
      () => stream.unread === 0 && this.clock.pendingTimers > 0,
      { what: "the wait" },
    );
    await this.clock.advanceAsync(waitMs - 1);
    assertEquals(stream.sent.length, before);
    await this.clock.advanceAsync(1);
  }

  count(name: "success" | "error"): number {
    const found = this.registry.snapshot().find((reading) =>
      reading.name === `ratelimit.service.config_load_${name}`
    );
    return found === undefined || found.kind === "timer" ? 0 : found.value;
  }

  /**
   * Returns the milliseconds until the next attempt; the clock goes a little
   * further.
   */
  async msToNextAttempt(): Promise<number> {
    const at = this.#attemptsMs.length;
    const fromMs = this.clock.nowMs();
    for (let step = 0; step <= 120; step++) {
      await this.clock.advanceAsync(step === 0 ? 0 : 1_000);
      const attemptMs = this.#attemptsMs[at];
      if (attemptMs !== undefined) return attemptMs - fromMs;
    }
    throw new Error("No further attempt");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.source.stop();
    assertEquals(this.clock.pendingTimers, 0);
    assert(this.channels.every((channel) => channel.isClosed));
  }
}

/** Rules with one limit a day. */
function rules(domain: string, limit: number, unit = 4): Uint8Array {
  return schema(RULES).encode({
    name: `${domain}-rules`,
    domain,
    descriptors: [{ key: "k", rateLimit: { unit, requestsPerUnit: limit } }],
  });
}

function response(
  version: string,
  nonce: string,
  ...resources: readonly Uint8Array[]
): Uint8Array {
  return schema(`${PACKAGE}.DiscoveryResponse`).encode({
    versionInfo: version,
    nonce,
    typeUrl: TYPE_URL,
    resources: resources.map((value) => ({ type_url: TYPE_URL, value })),
  });
}

const LOST = new GrpcFailure(GRPC_STATUS.UNAVAILABLE, "connection lost");

Deno.test("DiscoverySource asks, puts into force and accepts", async () => {
  await using bench = new Bench();
  await bench.source.start();
  await bench.source.start();
  const stream = await bench.stream(0);
  assertEquals(
    stream.path,
    `/${PACKAGE}.AggregatedDiscoveryService/StreamAggregatedResources`,
  );
  assertEquals(stream.metadata, { authorization: "secret" });
  const { node, ...first } = await bench.told(stream, 0);
  assertEquals([first.versionInfo, first.responseNonce], ["", ""]);
  assertEquals(node.id, "edge-1");

  stream.push(response("1", "a", rules("d", 5), rules("e", 6)));
  const second = await bench.told(stream, 1);
  assertEquals([second.versionInfo, second.responseNonce], ["1", "a"]);
  assertEquals(second.errorDetail, null);
  assertEquals(bench.adopted[0]!.domainNames, ["d", "e"]);
  assertEquals(bench.count("success"), 1);

  stream.push(response("2", "b"));
  assertEquals((await bench.told(stream, 2)).versionInfo, "2");
  assertEquals(bench.adopted[1]!.domainNames, []);
  assertEquals(bench.channels.length, 1);
});

Deno.test("DiscoverySource refuses bad rules and keeps the old ones", async () => {
  await using bench = new Bench();
  await bench.source.start();
  const stream = await bench.stream(0);
  stream.push(response("1", "a", rules("d", 5)));
  await bench.told(stream, 1);
  stream.push(response("2", "b", rules("d", 5, 0), rules("d", 6)));
  const refused = await bench.told(stream, 2);
  assertEquals([refused.versionInfo, refused.responseNonce], ["1", "b"]);
  const { message } = refused.errorDetail!;
  assertStringIncludes(message, "d-rules: invalid rate limit unit 'UNKNOWN'");
  assertStringIncludes(message, "; d-rules: duplicate domain 'd'");
  assertEquals(bench.adopted.length, 1);
  assertEquals([bench.count("success"), bench.count("error")], [1, 1]);
  assertStringIncludes(
    bench.logger.listMessages("error")[0]!,
    "the rules loaded before stay in force",
  );
});

Deno.test("DiscoverySource refuses resources of another type without counting a load", async () => {
  await using bench = new Bench();
  await bench.source.start();
  const stream = await bench.stream(0);
  stream.push(
    schema(`${PACKAGE}.DiscoveryResponse`).encode({
      versionInfo: "1",
      nonce: "a",
      typeUrl: "type.googleapis.com/other.Type",
    }),
  );
  const refused = await bench.told(stream, 1);
  assertEquals([refused.versionInfo, refused.responseNonce], ["", "a"]);
  assertStringIncludes(
    refused.errorDetail!.message,
    'Cannot accept resources of type "type.googleapis.com/other.Type"',
  );
  assertEquals(bench.count("error"), 0);
});

Deno.test("DiscoverySource loads once and slows down when a server offers again what was refused", async () => {
  await using bench = new Bench();
  await bench.source.start();
  const stream = await bench.stream(0);
  const waitsMs = [0, 1_000, 2_000, 4_000, 8_000, 10_000, 10_000];
  for (const [at, waitMs] of waitsMs.entries()) {
    stream.push(response("7", `n${at}`, rules("d", 5, 0)));
    await bench.refusalAfter(waitMs, stream);
    const { responseNonce, errorDetail } = await bench.told(stream, at + 1);
    assertEquals(responseNonce, `n${at}`);
    assertStringIncludes(errorDetail!.message, "invalid rate limit unit");
  }
  assertEquals(bench.count("error"), 1);
  assertEquals(bench.logger.listMessages("error").length, 1);
  // Corrected resources are loaded although their version is the refused one.
  stream.push(response("7", "good", rules("d", 5)));
  assertEquals((await bench.told(stream, 8)).errorDetail, null);
  assertEquals(bench.adopted.length, 1);
});

Deno.test("DiscoverySource takes at once what comes while it waits to refuse", async () => {
  await using bench = new Bench();
  await bench.source.start();
  const stream = await bench.stream(0);
  stream.push(response("1", "a", rules("d", 5, 0)));
  await bench.told(stream, 1);
  stream.push(response("1", "b", rules("d", 5, 0)));
  await waitUntil(
    () => stream.unread === 0 && bench.clock.pendingTimers > 0,
    { what: "the wait" },
  );
  stream.push(response("2", "c", rules("d", 5)));
  assertEquals((await bench.told(stream, 2)).responseNonce, "b");
  const { versionInfo, responseNonce } = await bench.told(stream, 3);
  assertEquals([versionInfo, responseNonce], ["2", "c"]);
});

Deno.test("DiscoverySource asks on the next stream with the version and without the nonce", async () => {
  await using bench = new Bench();
  await bench.source.start();
  const first = await bench.stream(0);
  first.push(response("1", "a", rules("d", 5)));
  await bench.told(first, 1);
  first.end();
  assertEquals(await bench.msToNextAttempt(), 3_000);
  const second = await bench.stream(1);
  const { versionInfo, responseNonce } = await bench.told(second, 0);
  assertEquals([versionInfo, responseNonce], ["1", ""]);
  assertEquals(bench.adopted.length, 1);
});

Deno.test("DiscoverySource warns of an outage, not of a stream that ends", async () => {
  await using bench = new Bench();
  await bench.source.start();
  const first = await bench.stream(0);
  first.push(response("1", "a", rules("d", 5)));
  await bench.told(first, 1);
  first.end();
  await bench.msToNextAttempt();
  assertEquals(bench.logger.listMessages("warning"), []);
  const ended = bench.logger.lines.find(({ message }) =>
    message === "The stream of the discovery server has ended"
  );
  assertEquals(ended?.fields, {
    server: "control:18000",
    reason: "it has ended the stream",
    waitMs: 3_000,
  });
  (await bench.stream(1)).end(LOST);
  await bench.msToNextAttempt();
  const [warning] = bench.logger.lines.filter((line) =>
    line.level === "warning"
  );
  assertEquals(
    warning?.message,
    'Cannot get rules from discovery server "control:18000"',
  );
  assertEquals(
    warning?.fields.reason,
    "UNAVAILABLE: connection lost; the rules loaded before stay in force",
  );
});

Deno.test("DiscoverySource answers nothing of an old stream on the next one", async () => {
  await using bench = new Bench();
  await bench.source.start();
  const first = await bench.stream(0);
  const release = bench.holdLoads();
  first.push(response("1", "a", rules("d", 5)));
  await bench.clock.advanceAsync(0);
  // The stream is lost while its rules are loaded.
  first.end(LOST);
  release();
  await bench.msToNextAttempt();
  const second = await bench.stream(1);
  const { versionInfo, responseNonce } = await bench.told(second, 0);
  // The rules were put into force all the same.
  assertEquals([versionInfo, responseNonce], ["1", ""]);
  await bench.clock.advanceAsync(1_000);
  assertEquals([first.sent.length, second.sent.length], [1, 1]);
});

Deno.test("DiscoverySource waits longer after each failure, and shortly after success", async () => {
  await using bench = new Bench();
  await bench.source.start();
  const fail = async (attempt: number): Promise<number> => {
    (await bench.stream(attempt)).end(LOST);
    return await bench.msToNextAttempt();
  };
  const waits: number[] = [];
  for (let attempt = 0; attempt < 9; attempt++) {
    waits.push(await fail(attempt));
  }
  assertEquals(waits, [
    3_000,
    10_000,
    15_000,
    22_500,
    33_750,
    50_625,
    60_000,
    60_000,
    60_000,
  ]);
  const stream = await bench.stream(9);
  stream.push(response("1", "a", rules("d", 5)));
  await bench.told(stream, 1);
  assertEquals(await fail(9), 3_000);
  assertEquals(await fail(10), 10_000);
});

Deno.test("DiscoverySource does not take a refused configuration for success", async () => {
  await using bench = new Bench();
  await bench.source.start();
  const waits: number[] = [];
  for (let attempt = 0; attempt < 3; attempt++) {
    const stream = await bench.stream(attempt);
    stream.push(response("1", "a", rules("d", 5, 0)));
    await bench.refusalAfter([0, 1_000, 2_000][attempt]!, stream);
    await bench.told(stream, 1);
    stream.end();
    waits.push(await bench.msToNextAttempt());
  }
  assertEquals(waits, [3_000, 10_000, 15_000]);
});

Deno.test("DiscoverySource leaves out a random part of each wait with jitter", async () => {
  await using bench = new Bench({ jitter: true });
  await bench.source.start();
  (await bench.stream(0)).end(LOST);
  assertEquals(await bench.msToNextAttempt(), 2_250);
  (await bench.stream(1)).end(LOST);
  assertEquals(await bench.msToNextAttempt(), 7_500);
});

Deno.test("DiscoverySource waits shortly after a stream that was held for long", async () => {
  await using bench = new Bench();
  await bench.source.start();
  const first = await bench.stream(0);
  first.push(response("1", "a", rules("d", 5)));
  await bench.told(first, 1);
  first.end();
  await bench.msToNextAttempt();
  (await bench.stream(1)).end();
  assertEquals(await bench.msToNextAttempt(), 10_000);
  // Nothing has changed, so that the server has nothing to say.
  await bench.clock.advanceAsync(3_600_000);
  assertEquals(bench.channels.length, 3);
  (await bench.stream(2)).end();
  assertEquals(await bench.msToNextAttempt(), 3_000);
});

Deno.test("DiscoverySource gives up a stream on which nothing comes at first", async () => {
  await using bench = new Bench();
  await bench.source.start();
  await bench.told(await bench.stream(0), 0);
  assertEquals(await bench.msToNextAttempt(), 33_000);
  // The stream that was given up counts as a failure.
  assertEquals(await bench.msToNextAttempt(), 40_000);
  assertEquals(bench.channels[0]!.isClosed, true);
  assertEquals(
    bench.logger.lines.find(({ level }) => level === "warning")
      ?.fields.reason,
    'it has sent nothing within 30000 ms; does it know node "edge-1"?; ' +
      "there are no rules until it answers",
  );
});

Deno.test("DiscoverySource waits longer for a server that says nothing, however short the longest wait is", async () => {
  await using bench = new Bench({ maxMs: 20_000 });
  await bench.source.start();
  const waits: number[] = [];
  for (let attempt = 0; attempt < 4; attempt++) {
    await bench.told(await bench.stream(attempt), 0);
    waits.push(await bench.msToNextAttempt());
  }
  // Each stream is given up after thirty seconds.
  assertEquals(waits, [33_000, 40_000, 45_000, 50_000]);
  const warnings = bench.logger.lines.filter(({ level }) =>
    level === "warning"
  );
  assertEquals(warnings.length, 1);
});

Deno.test("DiscoverySource waits longer for a server that it takes long to connect to", async () => {
  await using bench = new Bench({ maxMs: 20_000 });
  await bench.source.start();
  const first = await bench.stream(0);
  first.push(response("1", "a", rules("d", 5)));
  await bench.told(first, 1);
  const waits: number[] = [];
  bench.connect = () => new FakeGrpcChannel({ stalls: true });
  first.end(LOST);
  await bench.msToNextAttempt();
  for (let attempt = 1; attempt < 4; attempt++) {
    const stream = await bench.stream(attempt);
    await bench.clock.advanceAsync(25_000);
    stream.end(LOST);
    waits.push(await bench.msToNextAttempt());
  }
  assertEquals(waits, [10_000, 15_000, 20_000]);
});

Deno.test("DiscoverySource gives up a server that takes nothing", async () => {
  await using bench = new Bench();
  bench.connect = () => new FakeGrpcChannel({ stalls: true });
  await bench.source.start();
  assertEquals(await bench.msToNextAttempt(), 33_000);
});

Deno.test("DiscoverySource tries again when no channel can be made", async () => {
  await using bench = new Bench();
  bench.connect = () => {
    bench.connect = () => new FakeGrpcChannel();
    throw new Error('Cannot read "/ca.pem": it is gone');
  };
  await bench.source.start();
  assertEquals(await bench.msToNextAttempt(), 3_000);
  const stream = await bench.stream(0);
  stream.push(response("1", "a", rules("d", 5)));
  await bench.told(stream, 1);
  assertStringIncludes(
    String(bench.logger.lines[0]?.fields.reason),
    'Cannot read "/ca.pem": it is gone',
  );
  assert(bench.logger.messages.includes("The discovery server answers again"));
});

Deno.test("DiscoverySource counts what is no response and asks on another stream", async () => {
  await using bench = new Bench();
  await bench.source.start();
  const stream = await bench.stream(0);
  stream.push(new Uint8Array([0x12, 9]));
  assertEquals(await bench.msToNextAttempt(), 3_000);
  assertEquals(bench.count("error"), 1);
  assertEquals(stream.sent.length, 1);
});

Deno.test("DiscoverySource.reload() asks at once for everything, and again until it is answered", async () => {
  await using bench = new Bench();
  await bench.source.start();
  const first = await bench.stream(0);
  first.push(response("1", "a", rules("d", 5)));
  await bench.told(first, 1);
  bench.source.reload();
  const second = await bench.stream(1);
  assertEquals((await bench.told(second, 0)).versionInfo, "");
  assertEquals(first.isEnded, true);

  second.end(LOST);
  await bench.clock.advanceAsync(100);
  // The reload does not wait for the time of the next attempt.
  bench.source.reload();
  const third = await bench.stream(2);
  assertEquals((await bench.told(third, 0)).versionInfo, "");
  third.end(LOST);
  await bench.msToNextAttempt();
  const fourth = await bench.stream(3);
  assertEquals((await bench.told(fourth, 0)).versionInfo, "");
  fourth.push(response("1", "b", rules("d", 5)));
  await bench.told(fourth, 1);
  assertEquals(bench.count("success"), 2);
  fourth.end(LOST);
  await bench.msToNextAttempt();
  const fifth = await bench.stream(4);
  assertEquals((await bench.told(fifth, 0)).versionInfo, "1");
});

Deno.test("DiscoverySource.stop() ends it in every state and twice", async () => {
  const idle = new Bench();
  await idle.source.stop();
  await idle.source.stop();
  await idle.source.start();
  assertEquals(idle.channels.length, 0);

  const waiting = new Bench();
  await waiting.source.start();
  (await waiting.stream(0)).end(LOST);
  await waiting.clock.advanceAsync(0);
  await waiting.source.stop();
  assertEquals(waiting.clock.pendingTimers, 0);

  const stalled = new Bench();
  stalled.connect = () => new FakeGrpcChannel({ stalls: true });
  await stalled.source.start();
  await stalled.stream(0);
  await stalled.source.stop();
  await stalled.source.stop();
  assertEquals(stalled.clock.pendingTimers, 0);
});

Deno.test("DiscoverySource logs each reason of an outage once, and again in the next", async () => {
  await using bench = new Bench();
  await bench.source.start();
  const warnings = () => bench.logger.listMessages("warning").length;
  for (let attempt = 0; attempt < 5; attempt++) {
    (await bench.stream(attempt)).end(LOST);
    await bench.msToNextAttempt();
  }
  assertEquals(warnings(), 1);
  const stream = await bench.stream(5);
  stream.push(response("1", "a", rules("d", 5)));
  await bench.told(stream, 1);
  for (const lost of [stream, 6, 7]) {
    (typeof lost === "number" ? await bench.stream(lost) : lost).end(LOST);
    await bench.msToNextAttempt();
  }
  assertEquals(warnings(), 2);
});
