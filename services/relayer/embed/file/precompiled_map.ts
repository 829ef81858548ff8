/**
 * The map of characters that SentencePiece writes for its normalization: a tree
 * of UTF-8 bytes in double-array form (Aoe 1989, as the library Darts writes
 * it), whose leaves point at replacements that end with a zero byte.
 *
 * A group of a character and its marks is replaced as a whole where the map has
 * it, as huggingface/tokenizers does it; else each character for itself.
 *
 * @module
 */

import { ModelFileError, toText } from "./model_json.ts";

const LENGTH_BYTES = 4;
const MAX_BASE64_CHARS = 8_388_608;
/** The longest group that is looked up as a whole, in bytes. */
const MAX_GROUP_BYTES = 5;
/**
 * Characters with their marks. Longer groups that Unicode knows, such as flags
 * and syllables of Hangul, have more bytes than are looked up as a whole.
 */
const GROUP = /\r\n|\p{Cc}|[^\p{Cc}][\p{M}\u200c\u200d\u0e33\u0eb3]*/gu;
const ASCII = 128;
const LEAF = 1 << 8;
const ENCODER = new TextEncoder();

/** Replaces characters. */
export class PrecompiledMap {
  readonly #units: Uint32Array;
  readonly #replacements: Uint8Array;
  /** What each character of ASCII becomes, since most are of it. */
  readonly #ascii: readonly string[];

  /**
   * Reads a map from the text of a tokenizer's file.
   *
   * @throws {ModelFileError} when it is not of the form
   */
  constructor(base64: unknown) {
    const bytes = toBytes(toText(base64, "precompiled_charsmap"));
    const treeBytes = bytes.length < LENGTH_BYTES
      ? 0
      : new DataView(bytes.buffer).getUint32(0, true);
    const end = LENGTH_BYTES + treeBytes;
    if (treeBytes === 0 || treeBytes % 4 !== 0 || end > bytes.length) {
      throw new ModelFileError(
        `precompiled_charsmap has ${bytes.length} bytes, and its tree is said ` +
          `to have ${treeBytes}`,
      );
    }
    this.#units = new Uint32Array(bytes.slice(LENGTH_BYTES, end).buffer);
    this.#replacements = bytes.subarray(end);
    this.#ascii = Array.from({ length: ASCII }, (_, code) => {
      const character = String.fromCharCode(code);
      return this.#find(character) ?? character;
    });
  }

  /** The text with its characters replaced. */
  apply(text: string): string {
    const parts: string[] = [];
    for (const [group] of text.matchAll(GROUP)) {
      const ascii = group.length === 1
        ? this.#ascii[group.charCodeAt(0)]
        : undefined;
      parts.push(ascii ?? this.#replaceGroup(group));
    }
    return parts.join("");
  }

  #replaceGroup(group: string): string {
    const whole = ENCODER.encode(group).length <= MAX_GROUP_BYTES
      ? this.#find(group)
      : undefined;
    if (whole !== undefined) return whole;
    return Array.from(group, (one) => this.#find(one) ?? one).join("");
  }

  /** The replacement of the shortest beginning that the map has. */
  #find(text: string): string | undefined {
    const units = this.#units;
    let place = offsetOf(units[0]!);
    for (const byte of ENCODER.encode(text)) {
      if (byte === 0) return undefined;
      place = (place ^ byte) >>> 0;
      const unit = units[place];
      // The label has the highest bit set in a unit that is a leaf's value.
      if (unit === undefined || (unit & 0x800000ff) !== byte) return undefined;
      place = (place ^ offsetOf(unit)) >>> 0;
      if ((unit & LEAF) === 0) continue;
      const value = units[place];
      return value === undefined
        ? undefined
        : this.#replacementAt(value & 0x7fffffff);
    }
    return undefined;
  }

  #replacementAt(from: number): string | undefined {
    if (from >= this.#replacements.length) return undefined;
    const end = this.#replacements.indexOf(0, from);
    const bytes = this.#replacements
      .subarray(from, end < 0 ? undefined : end);
    return new TextDecoder().decode(bytes);
  }
}

function offsetOf(unit: number): number {
  return (unit >>> 10) << ((unit & (1 << 9)) >>> 6);
}

function toBytes(base64: string): Uint8Array<ArrayBuffer> {
  try {
    if (base64.length <= MAX_BASE64_CHARS) {
      return Uint8Array.fromBase64(base64);
    }
  } catch {
    // Reported below.
  }
  throw new ModelFileError("precompiled_charsmap is not base64, or too long");
}
