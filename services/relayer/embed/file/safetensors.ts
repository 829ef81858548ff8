/**
 * Reads the head of a file in the safetensors form: 8 bytes with the length of
 * the head, the head in JSON, then the numbers of all tensors one after the
 * other (https://github.com/huggingface/safetensors, "Format").
 *
 * The numbers themselves are not read here. Everything that the head says is
 * checked against the size of the file, so that later reads stay inside it.
 *
 * @module
 */

import { quote } from "../../../shared/quote.ts";
import {
  ModelFileError,
  parseObject,
  toCount,
  toList,
  toObject,
} from "./model_json.ts";

/** A file that is read piece by piece. */
export interface ByteFile {
  /** Its size. */
  readonly sizeBytes: number;
  /**
   * Fills `into` with the bytes from `offset` on.
   *
   * @throws when the file has fewer
   */
  readAt(offset: number, into: Uint8Array): Promise<void>;
}

/** Bytes of a number, by the type's name in the file. */
const NUMBER_BYTES = {
  ...{ F64: 8, I64: 8, U64: 8 },
  ...{ F32: 4, I32: 4, U32: 4 },
  ...{ F16: 2, BF16: 2, I16: 2, U16: 2 },
  ...{ I8: 1, U8: 1, BOOL: 1 },
} as const;

/** The type of the numbers of a tensor. */
export type NumberType = keyof typeof NUMBER_BYTES;

/** A tensor of a file. */
export interface Tensor {
  /** The type of its numbers. */
  readonly type: NumberType;
  /** How many numbers it has in each dimension. */
  readonly shape: readonly number[];
  /** Where its numbers begin in the file. */
  readonly fromByte: number;
  /** Bytes of one number. */
  readonly numberBytes: number;
  /** How many numbers it has. */
  readonly count: number;
}

/** The form allows 100 MB; a static model has three tensors at most. */
const MAX_HEAD_BYTES = 1_048_576;
const LENGTH_BYTES = 8;
const MAX_DIMENSIONS = 8;

/**
 * Reads which tensors a file has.
 *
 * @throws {ModelFileError} when the head is not of the form, or says what is
 * not in the file
 */
export async function readTensors(
  file: ByteFile,
): Promise<ReadonlyMap<string, Tensor>> {
  const { sizeBytes } = file;
  if (sizeBytes < LENGTH_BYTES) {
    throw new ModelFileError(`it has ${sizeBytes} bytes and so no head`);
  }
  const length = new DataView(new ArrayBuffer(LENGTH_BYTES));
  await file.readAt(0, new Uint8Array(length.buffer));
  const headBytes = length.getBigUint64(0, true);
  if (headBytes > BigInt(sizeBytes - LENGTH_BYTES)) {
    throw new ModelFileError(
      `its head is said to have ${headBytes} bytes, and the file has ` +
        `${sizeBytes}`,
    );
  }
  if (headBytes > BigInt(MAX_HEAD_BYTES)) {
    throw new ModelFileError(
      `its head has ${headBytes} bytes, more than ${MAX_HEAD_BYTES}`,
    );
  }
  const head = new Uint8Array(Number(headBytes));
  await file.readAt(LENGTH_BYTES, head);
  const dataFrom = LENGTH_BYTES + head.length;
  const tensors = new Map<string, Tensor>();
  const ends: (readonly [from: number, to: number, name: string])[] = [];
  for (const [name, value] of Object.entries(parseObject(head))) {
    if (name === "__metadata__") continue;
    const { from, to, ...tensor } = readTensor(name, value);
    tensors.set(name, { ...tensor, fromByte: dataFrom + from });
    ends.push([from, to, name]);
  }
  checkPlaces(ends, sizeBytes - dataFrom);
  return tensors;
}

function readTensor(
  name: string,
  value: unknown,
): Omit<Tensor, "fromByte"> & { readonly from: number; readonly to: number } {
  const called = `the tensor ${quote(name, { maxChars: 40 })}`;
  const { dtype, shape, data_offsets: offsets } = toObject(value, called);
  if (!isNumberType(dtype)) {
    throw new ModelFileError(
      `${called} has numbers of an unknown type ` +
        quote(String(dtype), { maxChars: 40 }),
    );
  }
  const sizes = toList(shape, `the shape of ${called}`)
    .map((size) => toCount(size, `a size of ${called}`));
  const [from, to, ...others] = toList(offsets, `the place of ${called}`)
    .map((offset) => toCount(offset, `an offset of ${called}`));
  if (from === undefined || to === undefined || others.length > 0) {
    throw new ModelFileError(`the place of ${called} is not two offsets`);
  }
  const count = sizes.reduce((product, size) => product * size, 1);
  const numberBytes = NUMBER_BYTES[dtype];
  if (
    sizes.length > MAX_DIMENSIONS || !Number.isSafeInteger(count * numberBytes)
  ) throw new ModelFileError(`the shape of ${called} is too large`);
  if (to - from !== count * numberBytes) {
    throw new ModelFileError(
      `${called} has ${to - from} bytes, and its shape needs ` +
        `${count * numberBytes}`,
    );
  }
  return { type: dtype, shape: sizes, numberBytes, count, from, to };
}

function isNumberType(value: unknown): value is NumberType {
  return typeof value === "string" && Object.hasOwn(NUMBER_BYTES, value);
}

/** Checks that the tensors fill the rest of the file, none over another. */
function checkPlaces(
  places: (readonly [from: number, to: number, name: string])[],
  bytes: number,
): void {
  let end = 0;
  for (const [from, to, name] of places.sort((a, b) => a[0] - b[0])) {
    if (from !== end) {
      const called = quote(name, { maxChars: 40 });
      throw new ModelFileError(
        from < end
          ? `the tensor ${called} lies over another one`
          : `there are ${from - end} bytes of no tensor before ${called}`,
      );
    }
    end = to;
  }
  if (end !== bytes) {
    throw new ModelFileError(
      `its tensors need ${end} bytes, and ${bytes} follow the head`,
    );
  }
}
