import { assert, assertEquals } from "@std/assert";
import type { ReadableSpan } from "@opentelemetry/sdk-trace-base";
import { FakeClock } from "../../../tests/support/fake_clock.ts";
import { RecordingLogger } from "../../../tests/support/recording_logger.ts";
import { SpanQueue } from "./span_queue.ts";

/** `ExportResult` of the SDK. */
interface Result {
  readonly code: number;
  readonly error?: Error;
}

/** An exporter whose collector is the test. */
class FakeExporter {
  readonly batches: string[][] = [];
  readonly answers: ((result: Result) => void)[] = [];
  isShut = false;
  throws: Error | undefined;

  export(spans: ReadableSpan[], done: (result: Result) => void): void {
    if (this.throws !== undefined) throw this.throws;
    this.batches.push(spans.map(({ name }) => name));
    this.answers.push(done);
  }

  shutdown(): Promise<void> {
    this.isShut = true;
    return Promise.resolve();
  }

  /** Answers the batch that was sent last. */
  async answer(result: Result = { code: 0 }): Promise<void> {
    this.answers.at(-1)!(result);
    for (let i = 0; i < 5; i++) await Promise.resolve();
  }
}

function make() {
  const clock = new FakeClock();
  const logger = new RecordingLogger();
  const exporter = new FakeExporter();
  const queue = new SpanQueue({
    ...{ exporter, clock, logger },
    maxSpans: 6,
    batchSpans: 3,
    delayMs: 5_000,
  });
  let count = 0;
  const end = (traceFlags = 1): void => {
    const name = String(++count);
    const spanContext = () => ({ traceId: "a", spanId: "b", traceFlags });
    queue.onEnd({ name, spanContext } as unknown as ReadableSpan);
  };
  return { clock, logger, exporter, queue, end };
}

Deno.test("SpanQueue sends what waits after the delay, or a full batch at once", async () => {
  const { clock, exporter, end } = make();
  end();
  end(0);
  end();
  assertEquals(exporter.batches, []);
  clock.advance(4_999);
  assertEquals(exporter.batches, []);
  clock.advance(1);
  assertEquals(exporter.batches, [["1", "3"]]);
  await exporter.answer();
  for (let i = 0; i < 3; i++) end();
  assertEquals(exporter.batches[1], ["4", "5", "6"]);
  await exporter.answer();
  assertEquals(clock.pendingTimers, 0);
});

Deno.test("SpanQueue sends one batch at a time and drops what finds no room", async () => {
  const { exporter, queue, logger, end } = make();
  for (let i = 0; i < 12; i++) end();
  assertEquals(exporter.batches, [["1", "2", "3"]]);
  assertEquals(queue.droppedSpans, 3);
  assertEquals(logger.lines.length, 1);
  await exporter.answer();
  assertEquals(exporter.batches[1], ["4", "5", "6"]);
  await exporter.answer();
  await exporter.answer();
  assertEquals(exporter.batches, [
    ["1", "2", "3"],
    ["4", "5", "6"],
    ["7", "8", "9"],
  ]);
});

Deno.test("SpanQueue counts what is refused and tells of it once a minute", async () => {
  const { clock, exporter, queue, logger, end } = make();
  for (let round = 0; round < 20; round++) {
    for (let i = 0; i < 3; i++) end();
    await exporter.answer({ code: 1, error: new Error("it is full") });
    clock.advance(5_000);
  }
  assertEquals(queue.lostSpans, 60);
  assertEquals(logger.lines.map(({ fields }) => fields["lost"]), [3, 39]);
  assertEquals(logger.lines[0]?.fields["why"], "it is full");
  assert(exporter.batches.length === 20);
});

Deno.test("SpanQueue goes on when the exporter throws", async () => {
  const { exporter, queue, end } = make();
  exporter.throws = new Error("broken");
  for (let i = 0; i < 3; i++) end();
  await queue.forceFlush();
  assertEquals(queue.lostSpans, 3);
  exporter.throws = undefined;
  for (let i = 0; i < 3; i++) end();
  assertEquals(exporter.batches, [["4", "5", "6"]]);
  await exporter.answer();
});

Deno.test("SpanQueue.stop() sends all that waits and takes no more", async () => {
  const { clock, exporter, queue, end } = make();
  for (let i = 0; i < 5; i++) end();
  const stopped = queue.stop(1_000);
  await exporter.answer();
  await exporter.answer();
  await stopped;
  assertEquals(exporter.batches, [["1", "2", "3"], ["4", "5"]]);
  assertEquals(exporter.isShut, true);
  end();
  assertEquals(queue.droppedSpans, 1);
  assertEquals(clock.pendingTimers, 0);
});

Deno.test("SpanQueue.stop() leaves a collector that stalls after the grace", async () => {
  const { clock, exporter, queue, end } = make();
  for (let i = 0; i < 5; i++) end();
  const stopped = queue.stop(1_000);
  await clock.advanceAsync(1_000);
  await stopped;
  assertEquals(queue.droppedSpans, 2);
  assertEquals(exporter.isShut, true);
  await exporter.answer({ code: 1 });
  assertEquals(clock.pendingTimers, 0);
});
