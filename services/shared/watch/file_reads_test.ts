import { assert, assertEquals } from "@std/assert";
import { FakeClock } from "../../../tests/support/fake_clock.ts";
import { readBounded, readSettled } from "./file_reads.ts";

Deno.test("readBounded() reads a file up to the bound", async () => {
  const path = await Deno.makeTempFile();
  try {
    for (const size of [0, 1, 99_999, 100_000]) {
      await Deno.writeFile(path, new Uint8Array(size).fill(7));
      const read = await readBounded(path, 100_000);
      assert(read.kind === "read", read.kind);
      assertEquals(read.bytes.byteLength, size);
      assertEquals(read.bytes.every((byte) => byte === 7), true);
    }
    await Deno.writeFile(path, new Uint8Array(100_001));
    assertEquals(await readBounded(path, 100_000), { kind: "too_large" });
  } finally {
    await Deno.remove(path);
  }
});

Deno.test("readBounded() tells what is no file", async () => {
  const directory = await Deno.makeTempDir();
  try {
    assertEquals(await readBounded(directory, 10), { kind: "not_a_file" });
    assertEquals(await readBounded("/dev/zero", 10), { kind: "not_a_file" });
    assertEquals(await readBounded(`${directory}/x`, 10), { kind: "missing" });
    await Deno.symlink("loop", `${directory}/loop`);
    assertEquals((await readBounded(`${directory}/loop`, 10)).kind, "failed");
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
});

type ReadOptions = Parameters<typeof readSettled<string>>[0];

/** Reads `values` one after the other, then the last one repeatedly. */
function reading(
  values: readonly string[],
  options: Partial<ReadOptions> = {},
): {
  clock: FakeClock;
  reads: () => number;
  options: ReadOptions;
} {
  const clock = new FakeClock();
  let reads = 0;
  return {
    clock,
    reads: () => reads,
    options: {
      read: () => {
        const value = values[Math.min(reads, values.length - 1)] ?? "";
        reads += 1;
        return Promise.resolve(value);
      },
      toKey: (value) => value === "moving" ? undefined : value,
      settleMs: 150,
      maxReads: 5,
      clock,
      signal: new AbortController().signal,
      ...options,
    },
  };
}

Deno.test("readSettled() reads until two reads in a row are the same", async () => {
  const { clock, reads, options } = reading(["ha", "half", "whole"]);
  const settled = readSettled(options);
  await clock.advanceAsync(149);
  assertEquals(reads(), 1);
  await clock.advanceAsync(1000);
  assertEquals(await settled, { value: "whole", settled: true });
  assertEquals(reads(), 4);
  assertEquals(clock.pendingTimers, 0);
});

Deno.test("readSettled() never takes two reads without a key for the same", async () => {
  const { clock, options } = reading(["moving", "moving", "done"]);
  const settled = readSettled(options);
  await clock.advanceAsync(1000);
  assertEquals(await settled, { value: "done", settled: true });
});

Deno.test("readSettled() needs one read of what is known", async () => {
  const { reads, options } = reading(["old"], { knownKey: "old" });
  assertEquals(await readSettled(options), { value: "old", settled: true });
  assertEquals(reads(), 1);
});

Deno.test("readSettled() hands over the last read when nothing holds still", async () => {
  const values = ["1", "2", "3", "4", "5", "6"];
  const { clock, reads, options } = reading(values);
  const settled = readSettled(options);
  await clock.advanceAsync(10_000);
  assertEquals(await settled, { value: "5", settled: false });
  assertEquals(reads(), 5);
});

Deno.test("readSettled() ends early when told to", async () => {
  const stop = new AbortController();
  const { clock, reads, options } = reading(["1"], { signal: stop.signal });
  const settled = readSettled(options);
  await clock.advanceAsync(0);
  stop.abort();
  assertEquals(await settled, { value: "1", settled: false });
  assertEquals([reads(), clock.pendingTimers], [1, 0]);
});
