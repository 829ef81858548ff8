import { assert, assertEquals, assertRejects } from "@std/assert";
import { ModelFileError } from "./model_json.ts";
import type { ByteFile } from "./safetensors.ts";
import { readTensors } from "./safetensors.ts";
import {
  floatRows,
  toSafetensors,
  type WrittenTensor,
} from "./testing/model_folder.ts";
import { TokenVectors } from "./token_vectors.ts";

async function read(
  tensors: Readonly<Record<string, WrittenTensor>>,
): Promise<TokenVectors> {
  const bytes = toSafetensors(tensors);
  const file: ByteFile = {
    sizeBytes: bytes.length,
    readAt(offset, into) {
      into.set(bytes.subarray(offset, offset + into.length));
      return Promise.resolve();
    },
  };
  return await TokenVectors.read(file, await readTensors(file));
}

function vectorOf(vectors: TokenVectors, token: number): readonly number[] {
  const sums = new Float64Array(vectors.width);
  vectors.addTo(sums, token);
  return [...sums];
}

const ROWS = [[0.5, -1.5, 0], [-3, 2.25, 1e-3], [0, 0, 0]];

Deno.test("TokenVectors keeps numbers within 1/254 of the row's largest when they are floats", async () => {
  const flat = ROWS.flat();
  const shape = [3, 3];
  const written: readonly WrittenTensor[] = [
    { dtype: "F32", shape, data: Float32Array.from(flat) },
    { dtype: "F64", shape, data: Float64Array.from(flat) },
    { dtype: "F16", shape, data: Float16Array.from(flat) },
    {
      ...{ dtype: "BF16", shape },
      data: Uint16Array.from(
        new Uint32Array(Float32Array.from(flat).buffer),
        (bits) => bits >>> 16,
      ),
    },
  ];
  for (const embeddings of written) {
    const vectors = await read({ embeddings });
    assertEquals([vectors.tokens, vectors.width], [3, 3]);
    for (const [token, row] of ROWS.entries()) {
      const most = Math.max(...row.map(Math.abs)) / 254 + 1e-6;
      vectorOf(vectors, token).forEach((number, at) =>
        assert(Math.abs(number - row[at]!) <= most, `${embeddings.dtype}`)
      );
    }
  }
});

Deno.test("TokenVectors keeps bytes as they are when the file has bytes", async () => {
  const vectors = await read({
    "embedding.weight": {
      ...{ dtype: "I8", shape: [2, 2] },
      data: Int8Array.of(-128, 127, 1, 0),
    },
  });
  assertEquals(vectorOf(vectors, 0), [-128, 127]);
  assertEquals(vectorOf(vectors, 1), [1, 0]);
});

Deno.test("TokenVectors takes row and weight of a token from the file when it has them", async () => {
  const vectors = await read({
    embeddings: { dtype: "I8", shape: [2, 1], data: Int8Array.of(10, 20) },
    mapping: {
      ...{ dtype: "I64", shape: [3] },
      data: BigInt64Array.of(1n, 0n, 1n),
    },
    weights: { dtype: "F32", shape: [3, 1], data: Float32Array.of(1, 2, 0.5) },
  });
  assertEquals(vectors.tokens, 3);
  assertEquals([0, 1, 2].map((token) => vectorOf(vectors, token)), [
    [20],
    [20],
    [10],
  ]);
});

Deno.test("TokenVectors.read() says what is wrong when tensors do not fit or hold no numbers", async () => {
  const embeddings = floatRows(ROWS);
  const cases: readonly (readonly [
    tensors: Readonly<Record<string, WrittenTensor>>,
    told: string,
  ])[] = [
    [{ other: embeddings }, 'it has no tensor "embeddings"'],
    [{
      embeddings: { dtype: "F32", shape: [9], data: new Float32Array(9) },
    }, 'the shape of "embeddings" is 9'],
    [{
      embeddings: { dtype: "F32", shape: [0, 4], data: new Float32Array(0) },
    }, 'the shape of "embeddings" is 0 × 4'],
    [{
      embeddings: { dtype: "I16", shape: [1, 1], data: new Int16Array(1) },
    }, "its vectors are of I16"],
    [{ embeddings: floatRows([[1, NaN]]) }, "no finite number"],
    [{ embeddings: floatRows([[1, -Infinity]]) }, "no finite number"],
    [{
      embeddings: { dtype: "F64", shape: [1, 1], data: Float64Array.of(1e300) },
    }, "no finite number"],
    [{
      embeddings,
      mapping: { dtype: "I32", shape: [1], data: Int32Array.of(3) },
    }, '"mapping" names rows that "embeddings" does not have'],
    [{
      embeddings,
      mapping: { dtype: "I32", shape: [1], data: Int32Array.of(-1) },
    }, '"mapping" holds -1'],
    [{
      embeddings,
      mapping: { dtype: "F32", shape: [1], data: Float32Array.of(0) },
    }, '"mapping" has numbers of F32'],
    [{
      embeddings,
      weights: { dtype: "F32", shape: [2], data: Float32Array.of(1, 1) },
    }, '"weights" has 2 numbers for 3 tokens'],
    [{
      embeddings,
      weights: { dtype: "F32", shape: [3], data: Float32Array.of(1, NaN, 1) },
    }, '"weights" holds NaN'],
  ];
  for (const [tensors, told] of cases) {
    await assertRejects(() => read(tensors), ModelFileError, told);
  }
});
