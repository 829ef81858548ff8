import { assertEquals, assertNotEquals } from "@std/assert";
import { SeededRandom } from "../../../tests/support/seeded_random.ts";
import { coarseQuery } from "./dense_rows.ts";
import { RowArena } from "./row_arena.ts";

Deno.test("RowArena sums products, for few and for many columns", () => {
  const random = new SeededRandom(11);
  for (const width of [1, 31, 32, 33, 100, 1_536]) {
    const arena = new RowArena(width);
    const rows = Array.from(
      { length: 40 },
      () => Int8Array.from({ length: width }, () => random.below(255) - 127),
    );
    const places = Uint32Array.from(rows, (row) => arena.add(row));
    for (const share of [0.02, 1]) {
      const query = Float32Array.from(
        { length: width },
        () => random.chance(share) ? random.next() - 0.5 : 0,
      );
      const sums = new Int32Array(40);
      const coarse = coarseQuery(query);
      arena.scan(coarse, { places, count: 40, sums });
      const expected = rows.map((row) => {
        let sum = 0;
        coarse.columns.forEach((column, at) =>
          sum += (row[column] ?? 0) * (coarse.values[at] ?? 0)
        );
        return sum;
      });
      assertEquals([...sums], expected);
    }
  }
});

Deno.test("RowArena sums the largest numbers without an overflow", () => {
  const width = 1_536;
  const arena = new RowArena(width);
  const places = Uint32Array.of(
    arena.add(new Int8Array(width).fill(127)),
    arena.add(new Int8Array(width).fill(-127)),
  );
  const sums = new Int32Array(2);
  const query = new Float32Array(width).fill(1);
  const coarse = coarseQuery(query);
  const { values } = coarse;
  arena.scan(coarse, { places, count: 2, sums });
  const expected = 127 * width * (values[0] ?? 0);
  assertNotEquals(expected, 0);
  assertEquals([...sums], [expected, -expected]);
});

Deno.test("RowArena gives the place of a removed row to the next one", () => {
  const arena = new RowArena(4);
  const first = arena.add(Int8Array.of(1, 2, 3, 4));
  const second = arena.add(Int8Array.of(5, 6, 7, 8));
  arena.remove(first);
  assertEquals(arena.add(Int8Array.of(1, 0, 0, 0)), first);
  assertNotEquals(arena.add(Int8Array.of(1, 0, 0, 0)), second);
});

Deno.test("RowArena keeps what it has when it grows", () => {
  const arena = new RowArena(1_024);
  const places = Uint32Array.from(
    { length: 2_000 },
    (_, row) => arena.add(new Int8Array(1_024).fill(row % 100)),
  );
  const sums = new Int32Array(2_000);
  const query = new Float32Array(1_024);
  query[1_023] = 1;
  const coarse = coarseQuery(query);
  const { values } = coarse;
  arena.scan(coarse, {
    places,
    count: 2_000,
    sums,
  });
  assertEquals(
    [...sums],
    Array.from({ length: 2_000 }, (_, row) => row % 100 * (values[0] ?? 0)),
  );
});
