/**
 * Values with asterisks: each stands for zero or more characters, the parts
 * between them must occur in order and without overlap.
 *
 * @module
 */

/** A part between asterisks, prepared for a search in linear time. */
interface Part {
  readonly bytes: Uint8Array;
  /** Knuth, Morris and Pratt's failure function of `bytes`. */
  readonly failure: Int32Array;
}

/** A pattern with at least one asterisk, matched in linear time on bytes. */
export class Wildcard {
  /** The pattern as the configuration writes it. */
  readonly pattern: string;
  readonly #prefix: Uint8Array;
  readonly #suffix: Uint8Array;
  readonly #middle: readonly Part[];
  readonly #minBytes: number;

  /** Prepares `pattern`; every `*` in it is a wildcard. */
  constructor(pattern: string) {
    const encoder = new TextEncoder();
    const parts = pattern.split("*").map((part) => encoder.encode(part));
    this.pattern = pattern;
    this.#prefix = parts[0]!;
    this.#suffix = parts.at(-1)!;
    this.#middle = parts.slice(1, -1).filter((part) => part.length > 0)
      .map((bytes) => ({ bytes, failure: failureFunction(bytes) }));
    this.#minBytes = parts.reduce((sum, part) => sum + part.length, 0);
  }

  /** True when the bytes from `start` to `end` match the whole pattern. */
  matches(bytes: Uint8Array, start: number, end: number): boolean {
    if (end - start < this.#minBytes) return false;
    if (!standsAt(this.#prefix, bytes, start)) return false;
    const suffixStart = end - this.#suffix.length;
    if (!standsAt(this.#suffix, bytes, suffixStart)) return false;
    let from = start + this.#prefix.length;
    for (const part of this.#middle) {
      // The leftmost place leaves the most room for what follows, so no
      // choice ever has to be taken back.
      from = endOfFirst(part, { bytes, from, to: suffixStart });
      if (from === -1) return false;
    }
    return true;
  }
}

function standsAt(part: Uint8Array, bytes: Uint8Array, at: number): boolean {
  for (let i = 0; i < part.length; i++) {
    if (part[i] !== bytes[at + i]) return false;
  }
  return true;
}

interface SearchRange {
  readonly bytes: Uint8Array;
  readonly from: number;
  readonly to: number;
}

function endOfFirst(part: Part, range: SearchRange): number {
  let matched = 0;
  for (let at = range.from; at < range.to; at++) {
    const byte = range.bytes[at]!;
    while (matched > 0 && part.bytes[matched] !== byte) {
      matched = part.failure[matched - 1]!;
    }
    if (part.bytes[matched] === byte) matched++;
    if (matched === part.bytes.length) return at + 1;
  }
  return -1;
}

function failureFunction(bytes: Uint8Array): Int32Array {
  const failure = new Int32Array(bytes.length);
  let matched = 0;
  for (let at = 1; at < bytes.length; at++) {
    while (matched > 0 && bytes[matched] !== bytes[at]) {
      matched = failure[matched - 1]!;
    }
    if (bytes[matched] === bytes[at]) matched++;
    failure[at] = matched;
  }
  return failure;
}
