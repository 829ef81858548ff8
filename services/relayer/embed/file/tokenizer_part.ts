/**
 * Reads a part of a tokenizer, such as its normalizer: it is of a known type, or
 * a sequence of such parts.
 *
 * @module
 */

import {
  type JsonObject,
  ModelFileError,
  toList,
  toObject,
  typeOf,
  unknownType,
} from "./model_json.ts";

/** The parts of one kind. */
export interface PartKind<Part> {
  /** What such a part is called. */
  readonly what: string;
  /** The name of the list that a sequence has. */
  readonly list: string;
  /** Reads a part, by its type. */
  readonly readers: Readonly<Record<string, (part: JsonObject) => Part>>;
  /** Makes one part of a sequence. */
  readonly join: (parts: readonly Part[]) => Part;
}

/** The type of a sequence. */
const SEQUENCE = "Sequence";
const MAX_PARTS = 256;
const MAX_DEPTH = 8;

/**
 * Reads a part, and those inside it.
 *
 * @throws {ModelFileError} when it is of another type or form, or nested deeply
 */
export function readPart<Part>(
  value: unknown,
  kind: PartKind<Part>,
  depth = 0,
): Part {
  const { what, readers } = kind;
  const part = toObject(value, `the ${what}`);
  const type = typeOf(part);
  if (type === SEQUENCE) {
    const parts = toList(part[kind.list], `the list of the ${what}`);
    if (parts.length > MAX_PARTS || depth > MAX_DEPTH) {
      throw new ModelFileError(
        `the ${what} has too many parts, or is nested too deeply`,
      );
    }
    return kind.join(parts.map((one) => readPart(one, kind, depth + 1)));
  }
  const read = Object.hasOwn(readers, type) ? readers[type] : undefined;
  if (read !== undefined) return read(part);
  throw unknownType(what, part, [SEQUENCE, ...Object.keys(readers)]);
}
