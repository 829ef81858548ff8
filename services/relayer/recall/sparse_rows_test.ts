import { assert, assertEquals } from "@std/assert";
import { SeededRandom } from "../../../tests/support/seeded_random.ts";
import { finish } from "../concurrency/testing/finish.ts";
import { SparseRows } from "./sparse_rows.ts";
import {
  Candidates,
  cosine,
  createRowQuery,
  euclideanLength,
  packVector,
  type RowQuery,
} from "./vector_rows.ts";

const WIDTH = 64;

interface Row {
  row: number;
  readonly id: number;
  readonly vector: Float32Array;
}

function createVector(random: SeededRandom): Float32Array {
  return Float32Array.from(
    { length: WIDTH },
    () => random.chance(0.1) ? random.next() - 0.5 : 0,
  );
}

/** The cosine summed over all columns one by one, zeros among them. */
function exactCosine(values: Float32Array, query: RowQuery): number {
  return cosine({ values, length: euclideanLength(values) }, query);
}

/** Ids and cosines of the closest rows, as `SparseRows` finds them. */
function found(
  rows: SparseRows<Row>,
  vector: Float32Array,
): readonly (readonly [number, number])[] {
  const query = createRowQuery(vector);
  const candidates = new Candidates<Row>(5);
  finish(rows.collectSteps({ query, candidates }));
  return candidates.sorted()
    .map(({ entry }) => [entry.id, rows.cosine(entry, query)] as const)
    .sort(([one, left], [other, right]) => right - left || one - other)
    .slice(0, 5);
}

Deno.test("SparseRows finds what a plain search finds to the last bit, in full segments and after removals", () => {
  for (const seed of [1, 2]) {
    const random = new SeededRandom(seed);
    const rows = new SparseRows<Row>(WIDTH);
    const kept = new Map<number, Row>();
    for (let id = 0; id < 9_000; id++) {
      const entry = { row: 0, id, vector: createVector(random) };
      rows.add(entry, packVector(entry.vector));
      kept.set(id, entry);
      if (id % 2 === 0 && seed === 2) continue;
      const gone = kept.get(random.below(id + 1));
      if (gone === undefined || random.below(3) > 0) continue;
      rows.remove(gone);
      kept.delete(gone.id);
    }
    for (const entry of [...kept.values()].slice(0, 4_500)) {
      rows.remove(entry);
      kept.delete(entry.id);
    }
    assertEquals(rows.size, kept.size);
    for (let round = 0; round < 20; round++) {
      const vector = createVector(random);
      const query = createRowQuery(vector);
      const expected = [...kept.values()]
        .map((entry) => [entry.id, exactCosine(entry.vector, query)] as const)
        .sort(([one, left], [other, right]) => right - left || one - other)
        .slice(0, 5);
      assertEquals(found(rows, vector), expected);
    }
  }
});

Deno.test("SparseRows finds what is there all the time, whatever comes and goes between two steps", () => {
  const random = new SeededRandom(3);
  const rows = new SparseRows<Row>(WIDTH);
  const others: Row[] = [];
  const stable: Row[] = [];
  const add = (id: number, vector = createVector(random)): Row => {
    const entry = { row: 0, id, vector };
    rows.add(entry, packVector(vector));
    return entry;
  };
  const wanted = createVector(random);
  for (let id = 0; id < 13_000; id++) {
    if (id % 3_000 === 7) stable.push(add(id, wanted));
    else others.push(add(id));
  }
  for (let round = 0; round < 5; round++) {
    const query = createRowQuery(wanted);
    const candidates = new Candidates<Row>(stable.length);
    const steps = rows.collectSteps({ query, candidates });
    while (steps.next().done !== true) {
      for (let change = 0; change < 1_500 && others.length > 0; change++) {
        const at = random.below(others.length);
        const gone = others[at];
        others[at] = others.at(-1) ?? others[at]!;
        others.pop();
        if (gone !== undefined) rows.remove(gone);
      }
      for (let change = 0; change < 900; change++) others.push(add(20_000));
    }
    const ids = new Set(candidates.sorted().map(({ entry }) => entry.id));
    for (const { id } of stable) assert(ids.has(id), `${round} ${id}`);
  }
});

Deno.test("SparseRows gives back the room of what is removed", () => {
  const random = new SeededRandom(4);
  const rows = new SparseRows<Row>(WIDTH);
  const entries = Array.from({ length: 10_000 }, (_, id) => {
    const entry = { row: 0, id, vector: createVector(random) };
    rows.add(entry, packVector(entry.vector));
    return entry;
  });
  const full = rows.bytes;
  for (const entry of entries.slice(0, 9_900)) rows.remove(entry);
  assert(rows.bytes < full / 20, `${rows.bytes} of ${full}`);
  for (const entry of entries.slice(9_900)) rows.remove(entry);
  assertEquals([rows.size, rows.bytes], [0, 0]);
  assertEquals(rows.sample(5), []);
});
