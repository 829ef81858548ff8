import { countRounds } from "../../../../tests/support/rounds.ts";
import { assert, assertEquals, assertRejects } from "@std/assert";
import { SeededRandom } from "../../../../tests/support/seeded_random.ts";
import { finish } from "../../concurrency/testing/finish.ts";
import { HashedEmbedder } from "../../embed/hashed_embedder.ts";
import { memoryWordsSteps } from "../ranking/memory_words.ts";
import { randomText } from "../testing/random_memories.ts";
import { VectorIndex } from "../vector_index.ts";
import { ColumnReader } from "./columns.ts";
import {
  ownerPieces,
  readOwner,
  type SnapshotMakers,
} from "./owner_columns.ts";

const OWNER = "0xa";
const NAMESPACES = ["n", "m", "a long one with ü"];
const EMBEDDER = new HashedEmbedder();
const MAKERS: SnapshotMakers = {
  width: EMBEDDER.width,
  model: EMBEDDER.model,
  wordsVersion: 2,
};

Deno.test("readOwner() gives an index that answers and changes as the one that was written", async () => {
  for (let seed = 1; seed <= countRounds(2); seed++) {
    const random = new SeededRandom(seed);
    const index = new VectorIndex(EMBEDDER.width);
    const changes = new Changes(random);
    for (let step = 0; step < 250; step++) await changes.make([index]);
    const bytes = toBytes(index);
    const other = new VectorIndex(EMBEDDER.width);
    const columns = await read(bytes, { random });
    assert(columns !== undefined);
    finish(other.adoptSteps(OWNER, columns));
    await assertSame(index, other, random);
    for (let step = 0; step < 250; step++) await changes.make([index, other]);
    await assertSame(index, other, random);
    finish(other.removeOwner(OWNER));
    assertEquals([other.size, other.bytes], [0, 0]);
  }
});

Deno.test("readOwner() gives what fills whole segments, and takes more behind them", async () => {
  const random = new SeededRandom(9);
  const index = new VectorIndex(EMBEDDER.width);
  const changes = new Changes(random);
  for (let step = 0; step < 4_500; step++) await changes.add([index], "n");
  const other = new VectorIndex(EMBEDDER.width);
  const columns = await read(toBytes(index), { random });
  finish(other.adoptSteps(OWNER, columns ?? []));
  await assertSame(index, other, random);
  for (let step = 0; step < 60; step++) await changes.make([index, other]);
  await assertSame(index, other, random);
});

Deno.test("readOwner() reads nothing of other stems, another embedder or another width", async () => {
  const random = new SeededRandom(1);
  const index = new VectorIndex(EMBEDDER.width);
  await new Changes(random).add([index], "n");
  const bytes = toBytes(index);
  for (const other of [{ width: 3 }, { model: "m" }, { wordsVersion: 3 }]) {
    const makers = { ...MAKERS, ...other };
    assertEquals(await read(bytes, { random, makers }), undefined);
  }
});

Deno.test("readOwner() throws a RangeError when bytes are cut, added or others", async () => {
  const random = new SeededRandom(5);
  const index = new VectorIndex(EMBEDDER.width);
  for (let step = 0; step < 5; step++) {
    await new Changes(random).add([index], "n");
  }
  const bytes = toBytes(index);
  await assertRejects(
    () => read(Uint8Array.of(...bytes, 0), { random }),
    RangeError,
    "something follows",
  );
  for (let round = 0; round < 40; round++) {
    const cut = bytes.slice(0, random.below(bytes.length));
    await assertRejects(() => read(cut, { random }), RangeError);
  }
  const typed = bytes.slice();
  typed[0] = 77;
  await assertRejects(() => read(typed, { random }), RangeError, "type");
});

Deno.test("VectorIndex.columnSteps() gives nothing where a vector is dense or a memory has none", () => {
  const memory = {
    ...{ id: "a", owner: OWNER, namespace: "n", blobId: "b", sizeBytes: 1 },
    ...{ createdAtMs: 0, importance: null, metadata: {} },
    words: finish(memoryWordsSteps("tea")),
  };
  const { width } = EMBEDDER;
  const vectors = [new Float32Array(width).fill(0.1), undefined];
  for (const vector of vectors) {
    const index = new VectorIndex(width);
    index.add({ ...memory, vector });
    assertEquals(finish(index.columnSteps(OWNER)), undefined);
  }
});

/** Random changes that are made to several indexes alike. */
class Changes {
  readonly #random: SeededRandom;
  readonly #ids: string[] = [];
  #count = 0;

  constructor(random: SeededRandom) {
    this.#random = random;
  }

  async make(indexes: readonly VectorIndex[]): Promise<void> {
    const random = this.#random;
    if (random.chance(0.01)) {
      const namespace = random.pick(NAMESPACES);
      for (const index of indexes) index.removeNamespace(OWNER, namespace);
    }
    if (this.#ids.length === 0 || random.chance(0.65)) {
      return await this.add(indexes, random.pick(NAMESPACES));
    }
    const id = random.pick(this.#ids);
    for (const index of indexes) index.remove(OWNER, id);
  }

  async add(
    indexes: readonly VectorIndex[],
    namespace: string,
  ): Promise<void> {
    const random = this.#random;
    const isAgain = this.#ids.length > 0 && random.chance(0.1);
    const id = isAgain ? random.pick(this.#ids) : `memory ${this.#count++}`;
    if (!isAgain) this.#ids.push(id);
    const text = randomText(random);
    const memory = {
      ...{ id, owner: OWNER, namespace, blobId: `blob ${random.below(99)}` },
      sizeBytes: random.below(1_000),
      createdAtMs: 1e12 + random.below(1_000),
      importance: random.chance(0.3) ? null : random.next(),
      metadata: random.chance(0.5) ? {} : { number: random.below(9), x: "ü" },
      vector: await embedText(text),
      words: random.chance(0.1) ? undefined : finish(memoryWordsSteps(text)),
    };
    for (const index of indexes) index.add(memory);
  }
}

async function embedText(text: string): Promise<Float32Array> {
  const outcome = await EMBEDDER.embed([text]);
  const vector = outcome.kind === "ok" ? outcome.vectors[0] : undefined;
  assert(vector !== undefined);
  return vector;
}

/** Checks that two indexes find the same for random queries. */
async function assertSame(
  index: VectorIndex,
  other: VectorIndex,
  random: SeededRandom,
): Promise<void> {
  assertEquals(other.size, index.size);
  assertEquals(other.countMemories(OWNER), index.countMemories(OWNER));
  for (let round = 0; round < 20; round++) {
    const text = randomText(random);
    const vector = await embedText(text);
    for (const namespace of NAMESPACES) {
      const asked = { owner: OWNER, namespace, vector, limit: 10 };
      const fused = { text, explain: true, vectorWeight: 0.3 };
      for (const query of [asked, { ...asked, fused }]) {
        const [one, two] = [index, other].map((searched) =>
          rounded(finish(searched.searchSteps(query)))
        );
        assertEquals(two, one);
      }
    }
  }
}

/**
 * Rounds all numbers, since sums made in another order differ in their last
 * bits.
 */
function rounded(value: unknown): unknown {
  return JSON.parse(
    JSON.stringify(
      value,
      (_, member) =>
        typeof member === "number" ? Number(member.toPrecision(5)) : member,
    ),
  );
}

function toBytes(index: VectorIndex): Uint8Array {
  const columns = finish(index.columnSteps(OWNER));
  assert(columns !== undefined);
  // Pieces are copied, since one may be a view of memory that is used again.
  const pieces = [...ownerPieces(columns, MAKERS)].map((piece) =>
    new Uint8Array(piece)
  );
  return new Uint8Array(pieces.flatMap((piece) => [...piece]));
}

async function read(
  bytes: Uint8Array,
  { random, makers = MAKERS }: {
    readonly random: SeededRandom;
    readonly makers?: SnapshotMakers;
  },
) {
  let from = 0;
  const reader = new ColumnReader(() => {
    if (from === bytes.length) return Promise.resolve(undefined);
    const part = bytes.slice(from, from + 1 + random.below(10_000));
    from += part.length;
    return Promise.resolve(part);
  });
  return await readOwner(reader, makers);
}
