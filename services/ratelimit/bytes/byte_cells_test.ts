import { assert, assertEquals } from "@std/assert";
import { ByteCells, GrowingBlock } from "./byte_cells.ts";

const CELL_BYTES = 32;

function createBytes(length: number, first: number): Uint8Array {
  return Uint8Array.from({ length }, (_, i) => first + i);
}

Deno.test("ByteCells keeps strings of any length apart", () => {
  const cells = new ByteCells();
  const heads: number[] = [];
  for (let length = 0; length < 200; length++) {
    heads.push(cells.store(createBytes(length + 3, length), 2, length + 2));
  }
  for (let length = 0; length < 200; length++) {
    const expected = createBytes(length + 3, length);
    assertEquals(
      cells.read(heads[length]!, length),
      expected.slice(2, length + 2),
    );
    assert(cells.matches(heads[length]!, length, expected, 2));
    for (let at = 2; at < length + 2; at++) {
      expected[at]! ^= 1;
      assert(!cells.matches(heads[length]!, length, expected, 2));
      expected[at]! ^= 1;
    }
  }
});

Deno.test("ByteCells needs no more memory when lengths change", () => {
  const cells = new ByteCells();
  const count = 512;
  let heads: number[] = [];
  for (let i = 0; i < count; i++) {
    heads.push(cells.store(createBytes(CELL_BYTES * 4, i), 0, CELL_BYTES * 4));
  }
  const most = cells.byteLength;
  for (let round = 0; round < 20; round++) {
    for (const head of heads) cells.remove(head);
    heads = [];
    // As many cells as at first, in strings of one to sixteen cells.
    const length = CELL_BYTES * (1 << round % 5);
    for (let i = 0; i < count * 4 * CELL_BYTES / length; i++) {
      heads.push(cells.store(createBytes(length, i), 0, length));
    }
    assertEquals(cells.byteLength, most);
    heads.forEach((head, i) =>
      assertEquals(cells.read(head, length), createBytes(length, i))
    );
  }
});

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
  // Beyond its first MiB the block grows in place.
  assert(moves <= 12, `${moves} times moved`);
});

Deno.test("GrowingBlock.reserve() leaves alone what is enough", () => {
  const block = new GrowingBlock();
  const { buffer } = block;
  assertEquals(block.reserve(buffer.byteLength), false);
  assert(block.buffer === buffer);
});
