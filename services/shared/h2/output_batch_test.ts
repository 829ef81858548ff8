import { assertEquals } from "@std/assert";
import { BufferPool } from "../connection_memory.ts";
import { OUTPUT_BYTES, OutputBatch } from "./output_batch.ts";

Deno.test("OutputBatch gathers what is written up to the flush", () => {
  const written: Uint8Array[] = [];
  const batch = new OutputBatch(makePool(), (b) => written.push(b));
  batch.reserve(6);
  batch.append(Uint8Array.of(1, 2));
  batch.append32Bits(0x8000_0001);
  assertEquals(written, []);
  batch.flush();
  batch.flush();
  assertEquals(written, [Uint8Array.of(1, 2, 0x80, 0, 0, 1)]);
});

Deno.test("OutputBatch hands on what fills its buffer, in order", () => {
  const written: Uint8Array[] = [];
  const batch = new OutputBatch(makePool(), (b) => written.push(b));
  for (let count = 0; count < 10; count++) {
    batch.reserve(16_393);
    batch.append(new Uint8Array(16_393).fill(count));
  }
  batch.flush();
  const all = written.flatMap((bytes) => [...bytes]);
  assertEquals(all.length, 163_930);
  assertEquals(
    all.every((byte, at) => byte === Math.floor(at / 16_393)),
    true,
  );
});

Deno.test("OutputBatch shares buffers, not what is in them", () => {
  const pool = makePool();
  const written: Uint8Array[] = [];
  const first = new OutputBatch(pool, (b) => written.push(b));
  const second = new OutputBatch(pool, (b) => written.push(b));
  first.reserve(1);
  first.append(Uint8Array.of(1));
  second.reserve(1);
  second.append(Uint8Array.of(2));
  first.flush();
  first.reserve(1);
  first.append(Uint8Array.of(3));
  second.flush();
  first.flush();
  assertEquals(written.map(([byte]) => byte), [1, 2, 3]);
});

function makePool(): BufferPool {
  return new BufferPool(OUTPUT_BYTES, 4);
}
