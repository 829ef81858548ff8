/**
 * Counter keys as bytes: prefix, domain, every key and value of the descriptor
 * and the unit of the limit, each followed by `_`. The start of the window is
 * appended by the store that has windows.
 *
 * @module
 */

import type { KeyPart } from "./snapshot.ts";
import type { LimitUnit } from "./unit.ts";

/**
 * How a key is written. `escaped` puts a backslash before each `_` and `\`
 * inside a domain, key or value, so that no two descriptors share a counter by
 * accident, and names the unit, so that no two limits of one descriptor do.
 * `reference` leaves separators as they are and the unit out, which gives the
 * bytes of the service this one replaces.
 */
export type CounterKeyFormat = "escaped" | "reference";

const SEPARATOR = 0x5f;
const ESCAPE = 0x5c;

/** A growing row of bytes into which the keys of one call are written. */
export class CounterKeyWriter {
  readonly #format: CounterKeyFormat;
  #bytes: Uint8Array;
  #length = 0;

  /** An empty writer. */
  constructor(format: CounterKeyFormat, initialBytes = 256) {
    this.#format = format;
    this.#bytes = new Uint8Array(initialBytes);
  }

  /** All bytes written so far; valid until the next write. */
  get bytes(): Uint8Array {
    return this.#bytes;
  }

  /** Where the next byte goes. */
  get length(): number {
    return this.#length;
  }

  /** Appends bytes as they are. */
  raw(bytes: Uint8Array): void {
    this.#reserve(bytes.length);
    this.#bytes.set(bytes, this.#length);
    this.#length += bytes.length;
  }

  /** Appends the bytes from `start` to `end` of a domain, key or value. */
  text(bytes: Uint8Array, start: number, end: number): void {
    this.#reserve(2 * (end - start));
    const escape = this.#format === "escaped";
    let at = this.#length;
    for (let i = start; i < end; i++) {
      const byte = bytes[i]!;
      if (escape && (byte === SEPARATOR || byte === ESCAPE)) {
        this.#bytes[at++] = ESCAPE;
      }
      this.#bytes[at++] = byte;
    }
    this.#length = at;
  }

  /** Appends the separator that ends a domain, key or value. */
  separator(): void {
    this.#reserve(1);
    this.#bytes[this.#length++] = SEPARATOR;
  }

  /** Appends the unit, which ends a key, where the format has it. */
  unit(unit: LimitUnit): void {
    if (this.#format === "reference") return;
    this.#reserve(unit.length);
    for (let i = 0; i < unit.length; i++) {
      // As configuration files write it; units are ASCII letters.
      this.#bytes[this.#length++] = unit.charCodeAt(i) | 0x20;
    }
    this.separator();
  }

  #reserve(count: number): void {
    const needed = this.#length + count;
    if (needed <= this.#bytes.length) return;
    const grown = new Uint8Array(Math.max(needed, 2 * this.#bytes.length));
    grown.set(this.#bytes.subarray(0, this.#length));
    this.#bytes = grown;
  }
}

/** One level of a rule, as far as its counter key goes. */
export interface KeyLevel {
  /** The key. */
  readonly key: string;
  /** The value that is part of the key; undefined when the request gives it. */
  readonly fixedValue: string | undefined;
}

/** Collects the pieces from the domain's beginning to the end of the rule. */
export function keyPartsOf(
  levels: readonly KeyLevel[],
  options: {
    readonly domainPrefix: Uint8Array;
    readonly format: CounterKeyFormat;
    /** The unit of the rule's limit; undefined when it has none to count. */
    readonly unit: LimitUnit | undefined;
  },
): KeyPart[] {
  const encoder = new TextEncoder();
  const parts: KeyPart[] = [];
  let writer = new CounterKeyWriter(options.format);
  writer.raw(options.domainPrefix);
  for (const [index, level] of levels.entries()) {
    const key = encoder.encode(level.key);
    writer.text(key, 0, key.length);
    writer.separator();
    if (level.fixedValue === undefined) {
      parts.push({ bytes: written(writer), valueOfEntry: index });
      writer = new CounterKeyWriter(options.format);
    } else {
      const value = encoder.encode(level.fixedValue);
      writer.text(value, 0, value.length);
    }
    writer.separator();
  }
  if (options.unit !== undefined) writer.unit(options.unit);
  parts.push({ bytes: written(writer), valueOfEntry: -1 });
  return parts;
}

/** What every counter key of a domain begins with. */
export function domainKeyPrefix(
  domain: string,
  options: { readonly prefix: string; readonly format: CounterKeyFormat },
): Uint8Array {
  const encoder = new TextEncoder();
  const writer = new CounterKeyWriter(options.format);
  writer.raw(encoder.encode(options.prefix));
  const bytes = encoder.encode(domain);
  writer.text(bytes, 0, bytes.length);
  writer.separator();
  return written(writer);
}

function written(writer: CounterKeyWriter): Uint8Array {
  return writer.bytes.slice(0, writer.length);
}
