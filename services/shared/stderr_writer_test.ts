import { assertEquals } from "@std/assert";
import { stderrWriter } from "./stderr_writer.ts";

Deno.test("stderrWriter() writes a line with its line end", () => {
  const sink = new FakeSink();
  const write = stderrWriter({ sink });
  write("first");
  write("zweite ü");
  assertEquals(sink.text, "first\nzweite ü\n");
});

Deno.test("stderrWriter() goes on after partial writes", () => {
  const sink = new FakeSink({ maxBytes: 3 });
  stderrWriter({ sink })("a longer line ü");
  assertEquals(sink.text, "a longer line ü\n");
});

Deno.test("stderrWriter() waits for a reader that is slow", () => {
  const sink = new FakeSink();
  sink.fault = new Deno.errors.WouldBlock("full");
  const pauses: number[] = [];
  const write = stderrWriter({
    sink,
    pause(pauseMs) {
      pauses.push(pauseMs);
      if (pauses.length === 3) sink.fault = undefined;
    },
  });
  write("line");
  assertEquals(sink.text, "line\n");
  assertEquals(pauses.length, 3);
});

Deno.test("stderrWriter() drops lines after a bounded wait and tells how many", () => {
  const sink = new FakeSink();
  sink.fault = new Deno.errors.WouldBlock("full");
  let pausedMs = 0;
  const write = stderrWriter({
    sink,
    maxWaitMs: 20,
    pause: (pauseMs) => pausedMs += pauseMs,
  });
  write("lost 1");
  assertEquals(pausedMs, 20);
  write("lost 2");
  write("lost 3");
  assertEquals(pausedMs, 20);
  sink.fault = undefined;
  write("kept");
  write("kept too");
  assertEquals(
    sink.text,
    'level=warning msg="log lines were lost" lines=3\nkept\nkept too\n',
  );
});

Deno.test("stderrWriter() ends a line that was cut before it goes on", () => {
  const sink = new FakeSink({ maxBytes: 4, faultAfterBytes: 4 });
  const write = stderrWriter({ sink });
  write("abcdefgh");
  assertEquals(sink.text, "abcd");
  write("lost");
  sink.fault = undefined;
  write("kept");
  assertEquals(
    sink.text,
    'abcd\nlevel=warning msg="log lines were lost" lines=2\nkept\n',
  );
});

Deno.test("stderrWriter() never throws when the reader is gone", () => {
  const sink = new FakeSink();
  sink.fault = new Deno.errors.BrokenPipe("gone");
  const write = stderrWriter({ sink });
  for (let index = 0; index < 3; index++) write("nobody hears this");
  assertEquals(sink.text, "");
});

Deno.test("stderrWriter() pauses for real without an own pause", () => {
  const sink = new FakeSink();
  sink.fault = new Deno.errors.WouldBlock("full");
  const startMs = performance.now();
  stderrWriter({ sink, maxWaitMs: 10 })("line");
  assertEquals(performance.now() - startMs >= 9, true);
});

interface FakeSinkOptions {
  readonly maxBytes?: number;
  readonly faultAfterBytes?: number;
}

class FakeSink {
  fault: Error | undefined;
  readonly #maxBytes: number;
  readonly #bytes: number[] = [];
  #faultAfterBytes: number;

  constructor(options: FakeSinkOptions = {}) {
    this.#maxBytes = options.maxBytes ?? Infinity;
    this.#faultAfterBytes = options.faultAfterBytes ?? Infinity;
  }

  get text(): string {
    return new TextDecoder().decode(Uint8Array.from(this.#bytes));
  }

  writeSync(bytes: Uint8Array): number {
    if (this.fault !== undefined) throw this.fault;
    const taken = bytes.subarray(0, this.#maxBytes);
    this.#bytes.push(...taken);
    if (this.#bytes.length >= this.#faultAfterBytes) {
      this.fault = new Deno.errors.BrokenPipe("gone");
      this.#faultAfterBytes = Infinity;
    }
    return taken.length;
  }
}
