import { assertEquals } from "@std/assert";
import { HeaderAssembler } from "./header_assembler.ts";
import { DEFAULT_LIMITS } from "./limits.ts";

const LIMITS = {
  ...DEFAULT_LIMITS,
  maxHeaderBlockBytes: 10,
  maxContinuations: 3,
};

Deno.test("HeaderAssembler puts a block together", () => {
  const assembler = new HeaderAssembler(LIMITS);
  for (const streamId of [1, 3]) {
    assertEquals(assembler.begin(span(1, 2), streamId, true), true);
    assertEquals(assembler.streamId, streamId);
    assertEquals(assembler.append(span(3)), true);
    assertEquals(assembler.append(span()), true);
    const { bytes, start, end } = assembler.end();
    assertEquals([...bytes.subarray(start, end)], [1, 2, 3]);
    assertEquals(assembler.streamId, 0);
  }
});

Deno.test("HeaderAssembler bounds bytes and parts", () => {
  const bytes = new HeaderAssembler(LIMITS);
  assertEquals(bytes.begin(span(...Array(9).fill(0)), 1, false), true);
  assertEquals(bytes.append(span(0, 0)), false);
  const parts = new HeaderAssembler(LIMITS);
  parts.begin(span(), 1, false);
  assertEquals(
    [1, 2, 3, 4].map(() => parts.append(span())),
    [true, true, true, false],
  );
});

function span(
  ...bytes: readonly number[]
): { bytes: Uint8Array; start: number; end: number } {
  return {
    bytes: Uint8Array.of(9, ...bytes, 9),
    start: 1,
    end: bytes.length + 1,
  };
}
