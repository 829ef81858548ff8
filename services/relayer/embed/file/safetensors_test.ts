import { assert, assertEquals, assertRejects } from "@std/assert";
import { ModelFileError } from "./model_json.ts";
import { type ByteFile, readTensors } from "./safetensors.ts";
import { floatRows, toSafetensors, withHead } from "./testing/model_folder.ts";

/** A file in memory; a read outside it is a defect of its reader. */
function inMemory(bytes: Uint8Array): ByteFile {
  return {
    sizeBytes: bytes.length,
    readAt(offset, into) {
      assert(offset >= 0 && offset + into.length <= bytes.length);
      into.set(bytes.subarray(offset, offset + into.length));
      return Promise.resolve();
    },
  };
}

Deno.test("readTensors() gives type, shape and place of each tensor when the file is whole", async () => {
  const bytes = toSafetensors({
    embeddings: floatRows([[1, 2, 3], [4, 5, 6]]),
    mapping: { dtype: "I32", shape: [1], data: Int32Array.of(1) },
  });
  const tensors = await readTensors(inMemory(bytes));
  const from = bytes.length - 28;
  assertEquals([...tensors], [
    ["embeddings", {
      ...{ type: "F32", shape: [2, 3], numberBytes: 4, count: 6 },
      fromByte: from,
    }],
    ["mapping", {
      ...{ type: "I32", shape: [1], numberBytes: 4, count: 1 },
      fromByte: from + 24,
    }],
  ]);
});

Deno.test("readTensors() says what is wrong when a head does not fit its file", async () => {
  const data = [new Uint8Array(16)];
  const one = (changes: Readonly<Record<string, unknown>>): Uint8Array =>
    withHead(
      JSON.stringify({
        a: { dtype: "F32", shape: [2, 2], data_offsets: [0, 16], ...changes },
      }),
      data,
    );
  const lying = one({});
  new DataView(lying.buffer).setBigUint64(0, 2n ** 63n, true);
  const two = (second: readonly number[]): Uint8Array =>
    withHead(
      JSON.stringify({
        a: { dtype: "F32", shape: [2], data_offsets: [0, 8] },
        b: { dtype: "F32", shape: [2], data_offsets: second },
      }),
      data,
    );
  const cases: readonly (readonly [bytes: Uint8Array, told: string])[] = [
    [new Uint8Array(7), "it has 7 bytes and so no head"],
    [lying, "its head is said to have 9223372036854775808 bytes"],
    [withHead("{", data), "it is not JSON in UTF-8"],
    [withHead("[]", data), "the whole is not an object"],
    [one({ dtype: "F99" }), 'numbers of an unknown type "F99"'],
    [one({ dtype: "toString" }), 'numbers of an unknown type "toString"'],
    [one({ shape: [2, 3] }), "has 16 bytes, and its shape needs 24"],
    [one({ shape: [-2, -2] }), "is not a whole number from 0"],
    [one({ shape: [2 ** 32, 2 ** 32] }), 'the shape of the tensor "a" is too'],
    [
      one({ shape: new Array(9).fill(1) }),
      'the shape of the tensor "a" is too',
    ],
    [one({ shape: "2" }), 'the shape of the tensor "a" is not a list'],
    [one({ data_offsets: [16, 0] }), "has -16 bytes"],
    [one({ data_offsets: [0] }), "is not two offsets"],
    [one({ data_offsets: [16, 32] }), "there are 16 bytes of no tensor before"],
    [two([4, 12]), 'the tensor "b" lies over another one'],
    [withHead("{}", data), "its tensors need 0 bytes, and 16 follow the head"],
    [one({}).subarray(0, -1), "its tensors need 16 bytes, and 15 follow"],
    [withHead(" ".repeat(1_048_577), []), "more than 1048576"],
  ];
  for (const [bytes, told] of cases) {
    await assertRejects(
      () => readTensors(inMemory(bytes)),
      ModelFileError,
      told,
    );
  }
});
