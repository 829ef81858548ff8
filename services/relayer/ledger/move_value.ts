/**
 * Values on the ledger: each is made once, and is both JSON as a full node
 * shows it and bytes in BCS.
 *
 * @module
 */

import { BcsWriter } from "../../../sdk/vault/bcs.ts";

/** A value. */
export interface MoveValue {
  /** The value as JSON. */
  readonly json: unknown;
  /** Writes the value in BCS. */
  readonly write: (writer: BcsWriter) => unknown;
}

/** A type: makes its values. */
type MoveType<T> = (value: T) => MoveValue;

/**
 * Makes a type from how its values are written; JSON has a value as it is
 * unless told.
 */
function createType<T>(
  write: (writer: BcsWriter, value: T) => unknown,
  show: (value: T) => unknown = (value) => value,
): MoveType<T> {
  return (value) => ({
    json: show(value),
    write: (writer) => write(writer, value),
  });
}

/** An address, or the id of another object. */
export const address: MoveType<string> = createType((writer, id) =>
  writer.address(id)
);

/** The id of an object itself. */
export const uid: MoveType<string> = createType(
  (to, id) => to.address(id),
  (id) => ({ id }),
);

/** A number of 8 bits. */
export const u8: MoveType<number> = createType((writer, value) =>
  writer.u8(value)
);

/** A number of 64 bits, which JSON has as a text. */
export const u64: MoveType<bigint | number> = createType(
  (writer, value) => writer.u64(BigInt(value)),
  String,
);

/** A truth value. */
export const bool: MoveType<boolean> = createType((writer, value) =>
  writer.bool(value)
);

/** A text. */
export const string: MoveType<string> = createType((writer, text) =>
  writer.string(text)
);

/** Bytes. */
export const bytes: MoveType<Uint8Array> = createType(
  (writer, value) => writer.byteVector(value),
  (value) => [...value],
);

/** An option without a value. */
export const NONE: MoveValue = {
  json: null,
  write: (writer) => writer.bool(false),
};

/** A sequence. */
export function vector(values: readonly MoveValue[]): MoveValue {
  return {
    json: values.map(({ json }) => json),
    write: (writer) => writer.vector(values, (_, value) => value.write(writer)),
  };
}

/** The fields of a struct, in the order that BCS and JSON have. */
export type MoveFields = Readonly<Record<string, MoveValue>>;

/** A struct of a type within another value. */
export function struct(type: string, fields: MoveFields): MoveValue {
  return {
    json: { type, fields: fieldsJson(fields) },
    write: (writer) => writeFields(writer, fields),
  };
}

/** Fields as JSON. */
export function fieldsJson(
  fields: MoveFields,
): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    Object.entries(fields).map(([name, { json }]) => [name, json]),
  );
}

/** Fields in BCS. */
export function fieldsBytes(fields: MoveFields): Uint8Array<ArrayBuffer> {
  const writer = new BcsWriter();
  writeFields(writer, fields);
  return writer.toBytes();
}

function writeFields(writer: BcsWriter, fields: MoveFields): void {
  for (const { write } of Object.values(fields)) write(writer);
}
