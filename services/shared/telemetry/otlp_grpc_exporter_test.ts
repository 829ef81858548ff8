import { assert, assertEquals } from "@std/assert";
import type { ExportResult } from "@opentelemetry/core";
import type { ReadableSpan } from "@opentelemetry/sdk-trace-base";
import { FakeClock } from "../../../tests/support/fake_clock.ts";
import { FakeGrpcChannel } from "../../../tests/support/fake_grpc_channel.ts";
import { GoawayServer } from "../../../tests/support/goaway_server.ts";
import { TraceCollector } from "../../../tests/support/trace_collector.ts";
import { systemClock } from "../clock.ts";
import type { GrpcUnaryOptions } from "../grpc/channel.ts";
import { H2GrpcChannel } from "../grpc/h2_channel.ts";
import {
  GRPC_STATUS,
  type GrpcAnswer,
  GrpcFailure,
  type GrpcStatus,
} from "../grpc/method.ts";
import { EXPORT_PATH, OtlpGrpcExporter } from "./otlp_grpc_exporter.ts";
import { providerTracing, TraceIds } from "./span_provider.ts";

/** A channel that answers unary calls with what the test has prepared. */
class UnaryChannel extends FakeGrpcChannel {
  readonly calls: { path: string; options: GrpcUnaryOptions }[] = [];
  readonly #answers: (GrpcStatus | "taken")[];

  constructor(answers: (GrpcStatus | "taken")[]) {
    super();
    this.#answers = answers;
  }

  override unary(
    path = "",
    _request?: Uint8Array,
    options: GrpcUnaryOptions = { deadlineMs: 0 },
  ): Promise<GrpcAnswer> {
    this.calls.push({ path, options });
    const answer = this.#answers.shift() ?? "taken";
    return Promise.resolve(
      answer === "taken"
        ? new Uint8Array()
        : new GrpcFailure(answer, `status ${answer}`),
    );
  }
}

function make(answers: (GrpcStatus | "taken")[]) {
  const clock = new FakeClock();
  const channel = new UnaryChannel(answers);
  const exporter = new OtlpGrpcExporter({
    ...{ channel, clock },
    headers: { authorization: "Bearer first" },
    timeoutMs: 10_000,
    random: () => 0.5,
  });
  const results: ExportResult[] = [];
  exporter.export(someSpans(), (result) => results.push(result));
  return { clock, channel, exporter, results };
}

Deno.test("OtlpGrpcExporter sends a batch with its fields", async () => {
  const { clock, channel, results } = make(["taken"]);
  await clock.advanceAsync(0);
  assertEquals(results, [{ code: 0 }]);
  const [call] = channel.calls;
  assertEquals(call?.path, EXPORT_PATH);
  assertEquals(call?.options.metadata, { authorization: "Bearer first" });
  assertEquals(call?.options.deadlineMs, 10_000);
});

Deno.test("OtlpGrpcExporter tries again with growing pauses within its time", async () => {
  const { UNAVAILABLE } = GRPC_STATUS;
  const { clock, channel, results } = make(Array(20).fill(UNAVAILABLE));
  await clock.advanceAsync(999);
  assertEquals(channel.calls.length, 1);
  await clock.advanceAsync(1);
  assertEquals(channel.calls.length, 2);
  await clock.advanceAsync(1_500);
  assertEquals(channel.calls.length, 3);
  await clock.advanceAsync(10_000);
  // After 1, 2.5, 4.75 and 8.125 seconds; the next one would be too late.
  assertEquals(channel.calls.length, 5);
  assertEquals(channel.calls[4]?.options.deadlineMs, 1_875);
  assertEquals(results.length, 1);
  assertEquals(results[0]?.error?.message, `status ${UNAVAILABLE}`);
  assertEquals(clock.pendingTimers, 0);
});

Deno.test("OtlpGrpcExporter gives up at once where trying again is of no use", async () => {
  const { INVALID_ARGUMENT, RESOURCE_EXHAUSTED, UNAUTHENTICATED } = GRPC_STATUS;
  for (
    const code of [INVALID_ARGUMENT, RESOURCE_EXHAUSTED, UNAUTHENTICATED]
  ) {
    const { clock, channel, results } = make([code]);
    await clock.advanceAsync(0);
    assertEquals(channel.calls.length, 1);
    assertEquals(results[0]?.code, 1);
    assertEquals(clock.pendingTimers, 0);
  }
});

Deno.test("OtlpGrpcExporter.shutdown() ends a pause and closes the channel", async () => {
  const { clock, channel, exporter, results } = make([
    GRPC_STATUS.UNAVAILABLE,
    GRPC_STATUS.UNAVAILABLE,
  ]);
  await clock.advanceAsync(10);
  await exporter.shutdown();
  await clock.advanceAsync(0);
  assertEquals(results[0]?.code, 1);
  assert(channel.isClosed);
  assertEquals(clock.pendingTimers, 0);
});

Deno.test("OtlpGrpcExporter outlives a collector that sends GOAWAY at every frame", async () => {
  await using server = new GoawayServer();
  const channel = new H2GrpcChannel({
    target: { kind: "tcp", host: "127.0.0.1", port: server.port },
    connectTimeoutMs: 60,
  });
  const exporter = exporterOn(channel, 60);
  // Try each number of frames, with SETTINGS before them and without.
  for (let round = 0; server.accepted < 18; round++) {
    assert(round < 1_000, `${server.accepted} connections`);
    const result = await sent(exporter);
    assertEquals(result.code, 1);
    assert(result.error?.message !== "");
  }
  await exporter.shutdown();
});

Deno.test("OtlpGrpcExporter sends to a collector that has come back", async () => {
  const first = await TraceCollector.grpc();
  const port = Number(first.address.split(":")[1]);
  const channel = new H2GrpcChannel({
    target: { kind: "tcp", host: "127.0.0.1", port },
  });
  const exporter = exporterOn(channel, 20_000);
  assertEquals((await sent(exporter)).code, 0);
  await first[Symbol.asyncDispose]();
  const sending = sent(exporter);
  await using second = await TraceCollector.ownGrpc(port);
  assertEquals((await sending).code, 0);
  assertEquals(second.spans.length, 1);
  await exporter.shutdown();
});

function exporterOn(
  channel: H2GrpcChannel,
  timeoutMs: number,
): OtlpGrpcExporter {
  return new OtlpGrpcExporter({
    ...{ channel, timeoutMs, headers: {} },
    clock: systemClock,
    random: Math.random,
  });
}

function sent(exporter: OtlpGrpcExporter): Promise<ExportResult> {
  return new Promise((resolve) => exporter.export(someSpans(), resolve));
}

/** A batch of one span that the SDK has made. */
function someSpans(): ReadableSpan[] {
  const spans: ReadableSpan[] = [];
  const tracing = providerTracing({
    resource: {},
    ids: new TraceIds({ samplingRate: 1 }),
    processor: {
      onStart: () => {},
      onEnd: (span) => spans.push(span),
      forceFlush: () => Promise.resolve(),
      shutdown: () => Promise.resolve(),
    },
  });
  tracing.begin("test", { parent: "root" }).end();
  return spans;
}
