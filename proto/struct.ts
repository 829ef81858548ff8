/**
 * Encodes and decodes `google.protobuf.Struct`, a JSON object in protobuf's
 * form.
 *
 * @module
 */

import type { WireReader } from "./wire.ts";
import type { WireWriter } from "./wire_writer.ts";

/** A JSON value, the shape of `google.protobuf.Struct` and what it holds. */
export type JsonValue =
  | null
  | boolean
  | number
  | string
  | readonly JsonValue[]
  | JsonObject;

/** A JSON object, `google.protobuf.Struct`. */
export interface JsonObject {
  /** Value by name. */
  readonly [name: string]: JsonValue;
}

/**
 * Levels of objects and lists a Struct may hold, the Struct itself being the
 * first. A level takes up to three nested messages, and protobuf libraries
 * refuse more than a hundred.
 */
export const MAX_STRUCT_DEPTH = 32;

const STRUCT_FIELDS = 1 << 3 | 2;
const FIELD_KEY = 1 << 3 | 2;
const FIELD_VALUE = 2 << 3 | 2;
const LIST_VALUES = 1 << 3 | 2;
const VALUE_NULL = 1 << 3;
const VALUE_NUMBER = 2 << 3 | 1;
const VALUE_TEXT = 3 << 3 | 2;
const VALUE_BOOL = 4 << 3;
const VALUE_STRUCT = 5 << 3 | 2;
const VALUE_LIST = 6 << 3 | 2;

/**
 * The fields of a Struct while it is decoded; the last field of a name wins.
 */
export type StructDraft = Map<string, JsonValue>;

/** A Value while it is decoded: a oneof, of which the last member wins. */
type ValueDraft =
  | { readonly kind: "plain"; readonly value: JsonValue }
  | { readonly kind: "struct"; readonly fields: StructDraft }
  | { readonly kind: "list"; readonly values: JsonValue[] };

/** A writer or reader of a Struct, with the number of levels it is inside. */
interface Nesting<T> {
  readonly wire: T;
  readonly depth: number;
}

/**
 * Writes the fields of a Struct into the message that is open.
 *
 * @throws {RangeError} When `object` is nested over {@linkcode MAX_STRUCT_DEPTH}
 * levels deep, as one that holds itself is.
 */
export function writeStruct(writer: WireWriter, object: JsonObject): void {
  writeFields({ wire: writer, depth: 1 }, object);
}

/**
 * Reads a Struct field and merges it into `draft`. A fault is kept by the
 * reader, see `reader.fault`.
 */
export function readStruct(reader: WireReader, draft: StructDraft): void {
  readFields({ wire: reader, depth: 1 }, draft);
}

/** Returns the object whose fields were decoded. */
export function toObject(draft: StructDraft): JsonObject {
  // `fromEntries` makes own properties even for a name such as "__proto__".
  return Object.fromEntries(draft);
}

function writeFields(at: Nesting<WireWriter>, object: JsonObject): void {
  const { wire: writer, depth } = at;
  if (depth > MAX_STRUCT_DEPTH) throw tooDeep();
  for (const [key, value] of Object.entries(object)) {
    const field = writer.open(1);
    if (key !== "") writer.text(1, key);
    const mark = writer.open(2);
    writeValue(at, value);
    writer.close(mark);
    writer.close(field);
  }
}

function writeValue(at: Nesting<WireWriter>, value: JsonValue): void {
  const writer = at.wire;
  if (value === null) return writer.uint(1, 0);
  if (typeof value === "number") return writer.double(2, value);
  if (typeof value === "string") return writer.text(3, value);
  if (typeof value === "boolean") return writer.bool(4, value);
  const inner = { wire: writer, depth: at.depth + 1 };
  const isList = isJsonList(value);
  const mark = writer.open(isList ? 6 : 5);
  if (isList) writeList(inner, value);
  else writeFields(inner, value);
  writer.close(mark);
}

function writeList(
  at: Nesting<WireWriter>,
  values: readonly JsonValue[],
): void {
  if (at.depth > MAX_STRUCT_DEPTH) throw tooDeep();
  for (const value of values) {
    const mark = at.wire.open(1);
    writeValue(at, value);
    at.wire.close(mark);
  }
}

function tooDeep(): RangeError {
  return new RangeError(
    `Cannot encode metadata: it is nested over ${MAX_STRUCT_DEPTH} levels deep`,
  );
}

function readFields(at: Nesting<WireReader>, draft: StructDraft): void {
  const reader = at.wire;
  const outer = reader.open();
  if (isTooDeep(at)) return;
  while (reader.hasMore()) {
    const tag = reader.tag();
    if (tag === STRUCT_FIELDS) readField(at, draft);
    else reader.skip(tag);
  }
  reader.close(outer);
}

function readField(at: Nesting<WireReader>, draft: StructDraft): void {
  const reader = at.wire;
  const outer = reader.open();
  let key = "";
  let value: ValueDraft | undefined;
  while (reader.hasMore()) {
    const tag = reader.tag();
    if (tag === FIELD_KEY) key = reader.text();
    else if (tag === FIELD_VALUE) value = readValue(at, value);
    else reader.skip(tag);
  }
  reader.close(outer);
  draft.set(key, toJsonValue(value));
}

function readList(at: Nesting<WireReader>, values: JsonValue[]): void {
  const reader = at.wire;
  const outer = reader.open();
  if (isTooDeep(at)) return;
  while (reader.hasMore()) {
    const tag = reader.tag();
    if (tag === LIST_VALUES) values.push(toJsonValue(readValue(at, undefined)));
    else reader.skip(tag);
  }
  reader.close(outer);
}

function readValue(
  at: Nesting<WireReader>,
  before: ValueDraft | undefined,
): ValueDraft | undefined {
  const reader = at.wire;
  const inner = { wire: reader, depth: at.depth + 1 };
  const outer = reader.open();
  let draft = before;
  while (reader.hasMore()) {
    const tag = reader.tag();
    switch (tag) {
      case VALUE_NULL:
        reader.int32();
        draft = { kind: "plain", value: null };
        break;
      case VALUE_NUMBER:
        draft = { kind: "plain", value: reader.double() };
        break;
      case VALUE_TEXT:
        draft = { kind: "plain", value: reader.text() };
        break;
      case VALUE_BOOL:
        draft = { kind: "plain", value: reader.bool() };
        break;
      case VALUE_STRUCT:
        if (draft?.kind !== "struct") {
          draft = { kind: "struct", fields: new Map() };
        }
        readFields(inner, draft.fields);
        break;
      case VALUE_LIST:
        if (draft?.kind !== "list") draft = { kind: "list", values: [] };
        readList(inner, draft.values);
        break;
      default:
        reader.skip(tag);
    }
  }
  reader.close(outer);
  return draft;
}

/** Returns the value that was decoded; a Value without a kind is null. */
function toJsonValue(draft: ValueDraft | undefined): JsonValue {
  if (draft === undefined) return null;
  if (draft.kind === "struct") return toObject(draft.fields);
  return draft.kind === "list" ? draft.values : draft.value;
}

function isTooDeep(at: Nesting<WireReader>): boolean {
  if (at.depth <= MAX_STRUCT_DEPTH) return false;
  at.wire.fail(
    `metadata is nested over ${MAX_STRUCT_DEPTH} levels deep ` +
      `at byte ${at.wire.position}`,
  );
  return true;
}

/** `Array.isArray` that narrows a readonly array too. */
function isJsonList(
  value: readonly JsonValue[] | JsonObject,
): value is readonly JsonValue[] {
  return Array.isArray(value);
}
