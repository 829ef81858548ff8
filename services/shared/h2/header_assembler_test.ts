import { assertEquals } from "@std/assert";
import { ByteBudget } from "../connection_memory.ts";
import { HeaderAssembler } from "./header_assembler.ts";
import { DEFAULT_LIMITS } from "./limits.ts";

const LIMITS = {
  ...DEFAULT_LIMITS,
  maxHeaderBlockBytes: 10,
  maxContinuations: 3,
};

Deno.test("HeaderAssembler puts a block together", () => {
  const assembler = new HeaderAssembler(LIMITS, new ByteBudget(100));
  for (const streamId of [1, 3]) {
    assertEquals(assembler.begin(bytesSpan(1, 2), streamId, true), true);
    assertEquals(assembler.streamId, streamId);
    assertEquals(assembler.append(bytesSpan(3)), true);
    assertEquals(assembler.append(bytesSpan()), true);
    const { bytes, start, end } = assembler.end();
    assertEquals([...bytes.subarray(start, end)], [1, 2, 3]);
    assertEquals(assembler.streamId, 0);
  }
});

Deno.test("HeaderAssembler bounds bytes and parts", () => {
  const bytes = new HeaderAssembler(LIMITS, new ByteBudget(100));
  assertEquals(bytes.begin(bytesSpan(...Array(9).fill(0)), 1, false), true);
  assertEquals(bytes.append(bytesSpan(0, 0)), false);
  const parts = new HeaderAssembler(LIMITS, new ByteBudget(100));
  parts.begin(bytesSpan(), 1, false);
  assertEquals(
    [1, 2, 3, 4].map(() => parts.append(bytesSpan())),
    [true, true, true, false],
  );
});

Deno.test("HeaderAssembler holds a block within its budget, and gives it back", () => {
  const parent = new ByteBudget(9);
  const assembler = new HeaderAssembler(LIMITS, new ByteBudget(100, parent));
  assertEquals(assembler.begin(bytesSpan(1, 2, 3), 1, false), true);
  assertEquals(parent.usedBytes, 3);
  assertEquals(assembler.append(bytesSpan(4)), true);
  assertEquals(parent.usedBytes, 6);
  // Growing takes a copy, for which there is no room.
  assertEquals(assembler.append(bytesSpan(5, 6, 7)), false);
  assertEquals(parent.usedBytes, 6);
  assembler.end();
  assertEquals(parent.usedBytes, 0);
});

function bytesSpan(
  ...bytes: readonly number[]
): { bytes: Uint8Array; start: number; end: number } {
  return {
    bytes: Uint8Array.of(9, ...bytes, 9),
    start: 1,
    end: bytes.length + 1,
  };
}
