import { assert, assertEquals } from "@std/assert";
import { GrowingBlock } from "./growing_block.ts";

Deno.test("GrowingBlock.reserve() keeps what it holds and says when views are of no more use", () => {
  const block = new GrowingBlock();
  let view = new Uint32Array(block.buffer);
  let moves = 0;
  let written = 0;
  for (let bytes = 4; bytes < 6_000_000; bytes = (bytes * 1.3 + 4) & ~3) {
    if (block.reserve(bytes)) {
      moves++;
      view = new Uint32Array(block.buffer);
    }
    assert(block.buffer.byteLength >= bytes);
    assertEquals(view.byteLength, block.buffer.byteLength);
    for (; written < bytes / 4; written++) view[written] = written;
  }
  for (let i = 0; i < written; i++) assertEquals(view[i], i);
  // Beyond its first MiB it grows where it is.
  assert(moves <= 12, `${moves} times moved`);
});

Deno.test("GrowingBlock.reserve() leaves alone what is enough", () => {
  const block = new GrowingBlock();
  const { buffer } = block;
  assertEquals(block.reserve(buffer.byteLength), false);
  assert(block.buffer === buffer);
});
