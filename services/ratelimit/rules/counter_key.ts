/**
 * Counter keys as bytes: prefix, domain, every key and value of the descriptor
 * and the unit of the limit, each followed by `_`. The start of the window is
 * appended by the store that has windows.
 *
 * @module
 */

import { TextBytes } from "../../../proto/utf8.ts";
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
/** Memory that a cleared writer keeps. */
const MAX_KEPT_BYTES = 16_384;
const ESCAPE = 0x5c;
/** Memory in which the parts of many rules stand. */
const BLOCK_BYTES = 65_536;

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

  /**
   * Begins again with no bytes, in the same memory unless that has grown large: one
   * request of many keys must not hold it for ever.
   */
  clear(): void {
    this.#length = 0;
    if (this.#bytes.length > MAX_KEPT_BYTES) {
      this.#bytes = new Uint8Array(MAX_KEPT_BYTES);
    }
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
  /** The value or pattern; empty for any value. */
  readonly value: string;
  /** The pattern stands in the counter key for every value that it matches. */
  readonly shareThreshold: boolean;
}

/** Whether the value of a level in counter keys is that of the request. */
function isGiven({ value, shareThreshold }: KeyLevel): boolean {
  return value === "" || (value.includes("*") && !shareThreshold);
}

/** A piece of a counter key: fixed bytes, then the value of one entry. */
interface KeyPart {
  /** Bytes that are the same for every request, escaped. */
  readonly bytes: Uint8Array;
  /** Index of the entry whose value follows; -1 after the last part. */
  readonly valueOfEntry: number;
}

/** A rule, as far as its counter key goes. */
interface KeyedRule {
  /** Its number among all rules. */
  readonly id: number;
  /** From the top to the rule. */
  readonly levels: readonly KeyLevel[];
  /** What it counts by; undefined when it has nothing to count. */
  readonly limit: { readonly unit: LimitUnit } | undefined;
}

/**
 * What is the same in the counter keys of all requests to a rule, written for the
 * first of them: of ten thousand rules few have requests.
 */
export class RuleKeys {
  readonly #writer: KeyPartWriter;
  readonly #parts: (readonly KeyPart[] | undefined)[];

  /** The keys of so many rules. */
  constructor(writer: KeyPartWriter, rules: number) {
    this.#writer = writer;
    this.#parts = new Array<undefined>(rules).fill(undefined);
  }

  /**
   * What stands before the value of each entry in the counter key, and one
   * more part that stands at the end. Fixed values are part of them.
   *
   * @param domainPrefix What every counter key of the rule's domain begins with.
   */
  partsOf(rule: KeyedRule, domainPrefix: Uint8Array): readonly KeyPart[] {
    return this.#parts[rule.id] ??= this.#writer.parts(rule.levels, {
      domainPrefix,
      unit: rule.limit?.unit,
    });
  }
}

/** Writes what is the same in the counter keys of all requests to a rule. */
export class KeyPartWriter {
  // Making one for each rule would cost more than the writing.
  readonly #writer: CounterKeyWriter;
  readonly #text = new TextBytes();
  #block = new Uint8Array();
  #blockEnd = 0;

  /** A writer of one format. */
  constructor(format: CounterKeyFormat) {
    this.#writer = new CounterKeyWriter(format);
  }

  /** What every counter key of a domain begins with, after a prefix of all. */
  domainPrefix(domain: string, prefix: string): Uint8Array {
    const writer = this.#writer;
    writer.clear();
    writer.raw(new TextEncoder().encode(prefix));
    this.#part(domain);
    return this.#written();
  }

  /** The pieces from the domain's beginning to the end of the rule. */
  parts(
    levels: readonly KeyLevel[],
    { domainPrefix, unit }: {
      readonly domainPrefix: Uint8Array;
      /** The unit of the rule's limit; undefined when it has none to count. */
      readonly unit: LimitUnit | undefined;
    },
  ): KeyPart[] {
    const writer = this.#writer;
    // Most rules have one part; an array that is pushed to holds room for 17.
    let parts: KeyPart[] | undefined;
    writer.clear();
    writer.raw(domainPrefix);
    for (let index = 0; index < levels.length; index++) {
      const level = levels[index]!;
      this.#part(level.key);
      if (isGiven(level)) {
        (parts ??= []).push({ bytes: this.#written(), valueOfEntry: index });
        writer.clear();
        writer.separator();
      } else this.#part(level.value);
    }
    if (unit !== undefined) writer.unit(unit);
    const last = { bytes: this.#written(), valueOfEntry: -1 };
    return parts === undefined ? [last] : [...parts, last];
  }

  #part(text: string): void {
    const length = this.#text.write(text);
    this.#writer.text(this.#text.bytes, 0, length);
    this.#writer.separator();
  }

  /** A part of a block: the garbage collector looks at each buffer by itself. */
  #written(): Uint8Array {
    const { bytes, length } = this.#writer;
    if (this.#block.length - this.#blockEnd < length) {
      this.#block = new Uint8Array(Math.max(BLOCK_BYTES, length));
      this.#blockEnd = 0;
    }
    const start = this.#blockEnd;
    this.#blockEnd += length;
    const own = this.#block.subarray(start, this.#blockEnd);
    for (let i = 0; i < length; i++) own[i] = bytes[i]!;
    return own;
  }
}
