/**
 * Parses JSON in pieces, so that no text holds up other requests, whatever its
 * shape: `JSON.parse` makes the million objects of a text of two megabytes in
 * one go.
 *
 * @module
 */

import { Buffer } from "node:buffer";
import {
  JsonShape,
  type JsonShapeFault,
  jsonShapeFault,
  type JsonShapeLimits,
} from "../../shared/http/json_shape.ts";
import type { MaybePromise } from "../../shared/settled.ts";
import type { SyntaxPlace } from "./json_syntax.ts";
import { NEVER_PAUSING, type Pausing } from "../../shared/slices.ts";

/** How a text is read. */
interface ReadJsonTextOptions {
  /** Bounds of the text's depth and size. */
  readonly limits: JsonShapeLimits;
  /**
   * Lets other requests go first between pieces.
   * @default it never does
   */
  readonly pausing?: Pausing | undefined;
  /**
   * About how many values are parsed in one go.
   * @default {512}
   */
  readonly pieceValues?: number | undefined;
  /**
   * Texts of up to so many bytes are parsed in one go.
   * @default {8192}
   */
  readonly shortBytes?: number | undefined;
}

/** The outcome of reading a text. */
type JsonTextOutcome =
  | { readonly kind: "ok"; readonly value: unknown }
  /** The text exceeds a bound, whether it is JSON or not. */
  | { readonly kind: "refused"; readonly fault: JsonShapeFault }
  /** The text is not JSON; everything before the place `from`, in bytes, is. */
  | { readonly kind: "malformed"; readonly from: SyntaxPlace };

/** A text of up to so many bytes is parsed in one go. */
const SHORT_BYTES = 8_192;
/** About how many bytes are parsed in one go; a string is never split. */
const PIECE_BYTES = 65_536;

/**
 * Parses a text in UTF-8. The value is the same as that of `JSON.parse`.
 *
 * @returns A value at once when the text is short, otherwise a promise.
 */
export function readJsonText(
  bytes: Uint8Array,
  options: ReadJsonTextOptions,
): MaybePromise<JsonTextOutcome> {
  if (bytes.length > (options.shortBytes ?? SHORT_BYTES)) {
    return new JsonReader(bytes, options).read();
  }
  const fault = jsonShapeFault(bytes, options.limits);
  if (fault !== undefined) return { kind: "refused", fault };
  return parseWhole(bytes);
}

/** A list or an object that is filled piece by piece. */
interface Container {
  readonly value: unknown[] | Record<string, unknown>;
  /** Where the part begins that is not parsed yet. */
  from: number;
  /** What the syntax allows there. */
  state: SyntaxPlace["state"];
}

class JsonReader {
  readonly #bytes: Uint8Array;
  readonly #shape: JsonShape;
  readonly #pausing: Pausing;
  readonly #piece: { readonly values: number; readonly bytes: number };
  /**
   * The lists and objects that are open and made piece by piece, the outermost
   * first.
   */
  readonly #open: Container[] = [];
  #root: Container | undefined;

  constructor(bytes: Uint8Array, options: ReadJsonTextOptions) {
    const { limits, pausing, pieceValues = 512 } = options;
    this.#bytes = bytes;
    this.#shape = new JsonShape(bytes, limits);
    this.#pausing = pausing ?? NEVER_PAUSING;
    this.#piece = { values: pieceValues, bytes: PIECE_BYTES };
  }

  async read(): Promise<JsonTextOutcome> {
    while (true) {
      const floor = this.#open.length === 0 ? -1 : this.#open.length;
      const stop = this.#shape.scan({ ...this.#piece, floor });
      if (stop.kind === "fault") return { kind: "refused", fault: stop.fault };
      if (stop.kind === "end") {
        return this.#root === undefined
          ? parseWhole(this.#bytes)
          : this.#malformed();
      }
      // A comma outside of all lists and objects is an error, which the parser
      // finds.
      const isGood = stop.kind === "comma" && this.#shape.depth > 0
        ? this.#takePieces()
        : stop.kind !== "close" || this.#close();
      if (!isGood) return this.#malformed();
      if (this.#root !== undefined && this.#open.length === 0) {
        return this.#shape.skipBlanks()
          ? { kind: "ok", value: this.#root.value }
          : this.#malformed();
      }
      const pause = this.#pausing.pause();
      if (pause !== undefined) await pause;
    }
  }

  /** Parses everything up to the comma that the scan has just passed. */
  #takePieces(): boolean {
    const shape = this.#shape;
    const { depth } = shape;
    if (this.#open.length === 0 && !this.#begin()) return false;
    while (this.#open.length < depth) if (!this.#descend()) return false;
    const inner = this.#open[depth - 1]!;
    const members = this.#parse(inner, shape.at - 1, "");
    if (members === undefined || countMembers(members) === 0) return false;
    addAll(inner.value, members);
    inner.from = shape.at;
    inner.state = Array.isArray(inner.value) ? "value" : "name";
    return true;
  }

  /** Creates the outermost list or object. */
  #begin(): boolean {
    if (decodeText(this.#bytes, 0, this.#shape.opensAt(1)).trim() !== "") {
      return false;
    }
    this.#root = this.#containerAt(1);
    this.#open.push(this.#root);
    return true;
  }

  /**
   * Parses what stands before the next open list or object, and creates that
   * one.
   */
  #descend(): boolean {
    const depth = this.#open.length;
    const outer = this.#open[depth - 1]!;
    // An empty list takes the place of the inner value, as it is valid in the
    // same places.
    const end = this.#shape.opensAt(depth + 1);
    const members = this.#parse(outer, end, "[]");
    if (members === undefined) return false;
    const inner = this.#containerAt(depth + 1);
    if (Array.isArray(members)) members[members.length - 1] = inner.value;
    else {
      const name: string = JSON.parse(
        decodeText(this.#shape.lastString(depth)),
      );
      defineMember(members, name, inner.value);
    }
    addAll(outer.value, members);
    this.#open.push(inner);
    return true;
  }

  /**
   * Parses the rest of the innermost list or object, up to its closing bracket.
   */
  #close(): boolean {
    const shape = this.#shape;
    const inner = this.#open.at(-1)!;
    const members = this.#parse(inner, shape.at, "");
    if (members === undefined || !this.#isClosed(inner)) return false;
    if (countMembers(members) > 0) addAll(inner.value, members);
    else if (inner.state === "value" || inner.state === "name") return false;
    shape.close();
    this.#open.pop();
    const outer = this.#open.at(-1);
    if (outer === undefined) return true;
    const hasMore = shape.takeComma();
    outer.from = shape.at;
    outer.state = !hasMore
      ? "after"
      : Array.isArray(outer.value)
      ? "value"
      : "name";
    return hasMore || this.#isClosed(outer);
  }

  /** Whether the next byte is the bracket that closes the list or object. */
  #isClosed({ value }: Container): boolean {
    return this.#bytes[this.#shape.at] ===
      (Array.isArray(value) ? CLOSE_LIST : CLOSE_OBJECT);
  }

  #containerAt(depth: number): Container {
    const isList = this.#shape.isList(depth);
    return {
      value: isList ? [] : {},
      from: this.#shape.opensAt(depth) + 1,
      state: isList ? "first_item" : "first_name",
    };
  }

  /**
   * Parses the members up to `end`, followed by the text `last`; undefined when
   * that is not JSON.
   */
  #parse(
    { value, from }: Container,
    end: number,
    last: string,
  ): Container["value"] | undefined {
    const text = decodeText(this.#bytes, from, end);
    return parse(
      Array.isArray(value) ? `[${text}${last}]` : `{${text}${last}}`,
    );
  }

  #malformed(): JsonTextOutcome {
    const open = this.#open.map(({ value }) =>
      Array.isArray(value) ? "list" : "object"
    );
    const inner = this.#open.at(-1);
    const isBegun = this.#root !== undefined;
    const from = inner ?? {
      from: isBegun ? this.#shape.at : 0,
      state: isBegun ? "after" : "value",
    };
    return {
      kind: "malformed",
      from: { at: from.from, open, state: from.state },
    };
  }
}

const CLOSE_LIST = 0x5d;
const CLOSE_OBJECT = 0x7d;

function parseWhole(bytes: Uint8Array): JsonTextOutcome {
  const text = decodeText(bytes);
  try {
    return { kind: "ok", value: JSON.parse(text) };
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    return { kind: "malformed", from: { at: 0, open: [], state: "value" } };
  }
}

function parse(text: string): Container["value"] | undefined {
  try {
    return JSON.parse(text);
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

function decodeText(bytes: Uint8Array, from = 0, end = bytes.length): string {
  // Faster than a TextDecoder, for texts of usual size.
  return Buffer.from(bytes.buffer, bytes.byteOffset + from, end - from)
    .toString("utf8");
}

function countMembers(members: Container["value"]): number {
  return Array.isArray(members) ? members.length : Object.keys(members).length;
}

function addAll(to: Container["value"], members: Container["value"]): void {
  if (Array.isArray(to)) {
    if (Array.isArray(members)) { for (const item of members) to.push(item); }
  } else if (!Array.isArray(members)) {
    for (const name of Object.keys(members)) {
      defineMember(to, name, members[name]);
    }
  }
}

/** Sets a member of an object, also one with the name `__proto__`. */
export function defineMember(
  to: Record<string, unknown>,
  name: string,
  value: unknown,
): void {
  if (name !== "__proto__") to[name] = value;
  else {
    Object.defineProperty(to, name, {
      value,
      enumerable: true,
      writable: true,
      configurable: true,
    });
  }
}
