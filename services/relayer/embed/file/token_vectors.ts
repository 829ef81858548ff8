/**
 * The vectors of a static model's tokens, in memory as one signed byte for each
 * number and a factor for each row.
 *
 * A byte takes a quarter of the memory of a float: 7.6 MB in place of 30 MB for
 * a vocabulary of 30,000 with 256 numbers each, 128 MB in place of 512 MB for
 * 500,000. It costs little exactness: the error of a number is at most 1/254 of
 * its row's largest, which turns a vector by less than .0001 in cosine. Files
 * with bytes are kept as they are.
 *
 * @module
 */

import { ModelFileError } from "./model_json.ts";
import type { ByteFile, NumberType, Tensor } from "./safetensors.ts";

/** The names under which known programs write the vectors. */
const ROW_NAMES = ["embeddings", "embedding.weight", "0"];
/** The widest vectors that the relayer takes, see EMBEDDING_WIDTH. */
const MAX_WIDTH = 8_192;
/** The most memory that the vectors may take. */
const MAX_BYTES = 1_073_741_824;
/** About how much of the file is read at a time. */
const PIECE_BYTES = 1_048_576;
const MAX_BYTE = 127;

/** Reads numbers of a type from bytes of the file. */
type ToNumbers<Numbers> = (bytes: Uint8Array<ArrayBuffer>) => Numbers;
type ByType<Numbers> = Readonly<
  Partial<Record<NumberType, ToNumbers<Numbers>>>
>;

// The form is little-endian, and so is every machine that the runtime supports.
const FLOATS: ByType<Float32Array> = {
  F64: ({ buffer }) => new Float32Array(new Float64Array(buffer)),
  F32: ({ buffer }) => new Float32Array(buffer),
  F16: ({ buffer }) => new Float32Array(new Float16Array(buffer)),
  BF16: ({ buffer }) =>
    new Float32Array(
      Uint32Array.from(new Uint16Array(buffer), (half) => half << 16).buffer,
    ),
};
const WHOLE: ByType<ArrayLike<number>> = {
  I64: ({ buffer }) => Float64Array.from(new BigInt64Array(buffer), Number),
  U64: ({ buffer }) => Float64Array.from(new BigUint64Array(buffer), Number),
  I32: ({ buffer }) => new Int32Array(buffer),
  U32: ({ buffer }) => new Uint32Array(buffer),
  I16: ({ buffer }) => new Int16Array(buffer),
  U16: ({ buffer }) => new Uint16Array(buffer),
};

/** The vectors of all tokens. */
export class TokenVectors {
  /** How many numbers a vector has. */
  readonly width: number;
  /** How many tokens have a vector; their ids go from 0 on. */
  readonly tokens: number;
  readonly #rows: Int8Array;
  /** The row of each token. */
  readonly #rowOf: Uint32Array | undefined;
  /** What the numbers of a token's row are multiplied by. */
  readonly #factors: Float32Array;

  private constructor(
    { width, rows, rowOf, factors }: {
      readonly width: number;
      readonly rows: Int8Array;
      readonly rowOf: Uint32Array | undefined;
      readonly factors: Float32Array;
    },
  ) {
    this.width = width;
    this.tokens = factors.length;
    this.#rows = rows;
    this.#rowOf = rowOf;
    this.#factors = factors;
  }

  /**
   * Reads the vectors, and the weights and the rows of tokens where the file
   * has such tensors; never has more than a piece of the file in memory.
   *
   * @throws {ModelFileError} when the tensors do not fit together or hold
   * something that is no number
   */
  static async read(
    file: ByteFile,
    tensors: ReadonlyMap<string, Tensor>,
  ): Promise<TokenVectors> {
    const name = ROW_NAMES.find((one) => tensors.has(one)) ?? "";
    const tensor = tensors.get(name);
    if (tensor === undefined) {
      throw new ModelFileError(
        'it has no tensor "embeddings", so it is no static embedding model',
      );
    }
    const [rowCount = 0, width = 0, ...more] = tensor.shape;
    if (
      more.length > 0 || rowCount < 1 || width < 1 || width > MAX_WIDTH ||
      rowCount * width > MAX_BYTES
    ) {
      throw new ModelFileError(
        `the shape of "${name}" is ${tensor.shape.join(" × ")}, not rows of ` +
          `1 to ${MAX_WIDTH} numbers, ${MAX_BYTES} in all at most`,
      );
    }
    const { rows, scales } = await readRows(file, tensor, { rowCount, width });
    const mapping = tensors.get("mapping");
    const rowOf = mapping &&
      Uint32Array.from(await readList(file, mapping, "mapping"));
    if (rowOf?.some((row) => row >= rowCount) === true) {
      throw new ModelFileError(
        `"mapping" names rows that "${name}" does not have`,
      );
    }
    const tokens = rowOf?.length ?? rowCount;
    const weightTensor = tensors.get("weights");
    const weights = weightTensor &&
      await readList(file, weightTensor, "weights");
    if (weights !== undefined && weights.length !== tokens) {
      throw new ModelFileError(
        `"weights" has ${weights.length} numbers for ${tokens} tokens`,
      );
    }
    const factors = Float32Array.from(
      { length: tokens },
      (_, token) =>
        (scales[rowOf?.[token] ?? token] ?? 0) * (weights?.[token] ?? 1),
    );
    return new TokenVectors({ width, rows, rowOf, factors });
  }

  /** All bytes that the vectors are made of, to tell two models apart. */
  get parts(): readonly (Int8Array | Float32Array | Uint32Array)[] {
    const rowOf = this.#rowOf;
    const parts = [this.#rows, this.#factors];
    return rowOf === undefined ? parts : [...parts, rowOf];
  }

  /** Adds the vector of a token to `sums`. */
  addTo(sums: Float64Array, token: number): void {
    const { width } = this;
    const factor = this.#factors[token] ?? 0;
    const rows = this.#rows;
    let from = (this.#rowOf?.[token] ?? token) * width;
    for (let at = 0; at < width; at++) sums[at]! += factor * rows[from++]!;
  }
}

/** Reads rows as bytes, each with the factor that gives its numbers back. */
async function readRows(
  file: ByteFile,
  tensor: Tensor,
  { rowCount, width }: { readonly rowCount: number; readonly width: number },
): Promise<
  { readonly rows: Int8Array; readonly scales: Float32Array }
> {
  const { type, fromByte, numberBytes } = tensor;
  const toNumbers = FLOATS[type];
  const rows = new Int8Array(rowCount * width);
  const scales = new Float32Array(rowCount).fill(1);
  if (type !== "I8" && toNumbers === undefined) {
    throw new ModelFileError(
      `its vectors are of ${type}; known are F64, F32, F16, BF16 and I8`,
    );
  }
  const rowBytes = width * numberBytes;
  const perPiece = Math.max(1, Math.floor(PIECE_BYTES / rowBytes));
  for (let row = 0; row < rowCount; row += perPiece) {
    const count = Math.min(perPiece, rowCount - row);
    const bytes = new Uint8Array(count * rowBytes);
    await file.readAt(fromByte + row * rowBytes, bytes);
    if (toNumbers === undefined) {
      rows.set(new Int8Array(bytes.buffer), row * width);
      continue;
    }
    const numbers = toNumbers(bytes);
    for (let one = 0; one < count; one++) {
      scales[row + one] = packRow(numbers, {
        ...{ from: one * width, width },
        ...{ rows, to: (row + one) * width },
      });
    }
  }
  return { rows, scales };
}

/** Writes a row as bytes, and returns the factor that gives it back. */
function packRow(
  numbers: Float32Array,
  { from, width, rows, to }: {
    readonly from: number;
    readonly width: number;
    readonly rows: Int8Array;
    readonly to: number;
  },
): number {
  let largest = 0;
  let sum = 0;
  for (let at = from; at < from + width; at++) {
    const number = numbers[at]!;
    sum += number - number;
    const size = Math.abs(number);
    if (size > largest) largest = size;
  }
  // The difference of a number to itself is 0, unless it is infinite or NaN.
  if (sum !== 0) {
    throw new ModelFileError("a vector holds what is no finite number");
  }
  // Of the smallest numbers there are, the factor would be 0 or the inverse
  // infinite; they say nothing.
  const scale = Math.fround(largest / MAX_BYTE);
  const inverse = 1 / scale;
  if (!Number.isFinite(inverse)) return 0;
  for (let at = 0; at < width; at++) {
    // The same as rounding, in a third of the time.
    rows[to + at] = (numbers[from + at]! * inverse + 128.5 | 0) - 128;
  }
  return scale;
}

/** Reads a tensor with one number for each token. */
async function readList(
  file: ByteFile,
  { type, shape, count, numberBytes, fromByte }: Tensor,
  name: "mapping" | "weights",
): Promise<ArrayLike<number>> {
  const toNumbers = (name === "mapping" ? WHOLE : FLOATS)[type];
  if (toNumbers === undefined || shape[0] !== count) {
    throw new ModelFileError(
      `"${name}" has numbers of ${type} in the shape ${shape.join(" × ")}, ` +
        `not a ${name === "mapping" ? "whole number" : "float"} for each token`,
    );
  }
  if (count > MAX_BYTES / 8) throw new ModelFileError(`"${name}" is too large`);
  const bytes = new Uint8Array(count * numberBytes);
  await file.readAt(fromByte, bytes);
  const numbers = toNumbers(bytes);
  const isFit = name === "mapping"
    ? (number: number) => number >= 0
    : Number.isFinite;
  for (let at = 0; at < count; at++) {
    if (isFit(Math.fround(numbers[at]!))) continue;
    throw new ModelFileError(`"${name}" holds ${numbers[at]}`);
  }
  return numbers;
}
