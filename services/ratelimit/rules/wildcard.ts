/**
 * Patterns with asterisks: one pattern, and the first match among many.
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

  /** The parts between its asterisks that are not empty. */
  get literals(): readonly Uint8Array[] {
    return [
      this.#prefix,
      ...this.#middle.map(({ bytes }) => bytes),
      this.#suffix,
    ].filter(({ length }) => length > 0);
  }

  /** True when the bytes from `start` to `end` match the whole pattern. */
  matches(bytes: Uint8Array, start: number, end: number): boolean {
    if (end - start < this.#minBytes) return false;
    if (!standsAt(this.#prefix, bytes, start)) return false;
    const suffixStart = end - this.#suffix.length;
    if (!standsAt(this.#suffix, bytes, suffixStart)) return false;
    let from = start + this.#prefix.length;
    for (const part of this.#middle) {
      // The leftmost place leaves the most room for the parts behind it, so no
      // choice ever has to be undone.
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

/** Most bytes of a pattern by which it is looked up. */
const GRAM_BYTES = 4;
/** Number of patterns up to which trying one after the other is faster. */
const FEW = 4;

/** A pattern, and the value that is stored for it. */
interface WildcardEntry<Found> {
  /** The pattern. */
  readonly wildcard: Wildcard;
  /** The value of the pattern. */
  readonly found: Found;
}

/**
 * Patterns in an order, of which the first match counts. Each is indexed by up
 * to four bytes that a value must contain to match it: those by which the
 * fewest other patterns are indexed. So a value is compared with few of a
 * thousand patterns.
 */
export class WildcardSet<Found> {
  readonly #entries: WildcardEntry<Found>[] = [];
  /**
   * For each length of a gram, the indexes of patterns by their gram, a number.
   */
  readonly #grams: ReadonlyArray<Map<number, number[]>> = Array.from(
    { length: GRAM_BYTES + 1 },
    () => new Map(),
  );
  /** Index of the first pattern that consists of asterisks only. */
  #always = Infinity;

  /** Number of patterns. */
  get size(): number {
    return this.#entries.length;
  }

  /** All patterns in their order. */
  [Symbol.iterator](): Iterator<WildcardEntry<Found>> {
    return this.#entries[Symbol.iterator]();
  }

  /** Adds a pattern after the others. */
  add(wildcard: Wildcard, found: Found): void {
    const index = this.#entries.push({ wildcard, found }) - 1;
    const { literals } = wildcard;
    // A longer gram occurs in fewer values, whatever the patterns are.
    const length = literals.reduce(
      (longest, { length }) => Math.max(longest, Math.min(length, GRAM_BYTES)),
      0,
    );
    if (length === 0) {
      this.#always = Math.min(this.#always, index);
      return;
    }
    const lists = this.#grams[length]!;
    let rarest = 0;
    let fewest = Infinity;
    for (const literal of literals) {
      for (let at = 0; at + length <= literal.length; at++) {
        const gram = gramAt(literal, at, length);
        const count = lists.get(gram)?.length ?? 0;
        if (count >= fewest) continue;
        rarest = gram;
        fewest = count;
      }
    }
    const list = lists.get(rarest);
    if (list === undefined) lists.set(rarest, [index]);
    else list.push(index);
  }

  /**
   * Returns the value of the first pattern that the bytes from `start` to `end`
   * match.
   */
  firstMatch(bytes: Uint8Array, start: number, end: number): Found | undefined {
    const entries = this.#entries;
    if (entries.length <= FEW) {
      for (const { wildcard, found } of entries) {
        if (wildcard.matches(bytes, start, end)) return found;
      }
      return undefined;
    }
    let best = this.#always;
    for (let length = 1; length <= GRAM_BYTES; length++) {
      const lists = this.#grams[length]!;
      if (lists.size === 0) continue;
      for (let at = start; at + length <= end; at++) {
        const list = lists.get(gramAt(bytes, at, length));
        if (list === undefined) continue;
        for (const index of list) {
          if (index >= best) break;
          if (entries[index]!.wildcard.matches(bytes, start, end)) best = index;
        }
      }
    }
    return entries[best]?.found;
  }
}

/** Returns up to four bytes as one number. */
function gramAt(bytes: Uint8Array, at: number, length: number): number {
  let gram = bytes[at]!;
  if (length > 1) gram |= bytes[at + 1]! << 8;
  if (length > 2) gram |= bytes[at + 2]! << 16;
  if (length > 3) gram |= bytes[at + 3]! << 24;
  return gram;
}
