/**
 * Writes counter keys as bytes: prefix, domain, every key and value of the
 * descriptor and the window of the limit, each followed by `_`. The start of the
 * window is appended by the store that has windows.
 *
 * @module
 */

import { TextBytes } from "../../../proto/utf8.ts";
import { UNIT_WORDS } from "./unit.ts";

/**
 * How a key is written. `escaped` puts a backslash before each `_` and `\`
 * inside a domain, key or value, so that no two descriptors share a counter by
 * accident, and names the window, so that no two limits of one descriptor do.
 * `reference` leaves separators as they are and the window out, which gives the
 * bytes of the service this one replaces; only a window that service does not
 * know, and a further limit of one descriptor, are named.
 */
export type CounterKeyFormat = "escaped" | "reference";

const SEPARATOR = 0x5f;
/** Most bytes of memory that a cleared writer keeps. */
const MAX_KEPT_BYTES = 16_384;
const ESCAPE = 0x5c;
/** Bytes of a block of memory that holds the parts of many rules. */
const BLOCK_BYTES = 65_536;

/** The window of a limit, as far as the counter key depends on it. */
interface KeyWindow {
  /** Name of the window: `day`, or `15m`. */
  readonly window: string;
  /**
   * True for a limit that has others beside it.
   *
   * @default {false}
   */
  readonly isFurther?: boolean;
}

/** A growing byte buffer into which the keys of one call are written. */
export class CounterKeyWriter {
  readonly #format: CounterKeyFormat;
  #bytes: Uint8Array;
  #length = 0;

  /** Makes an empty writer. */
  constructor(format: CounterKeyFormat, initialBytes = 256) {
    this.#format = format;
    this.#bytes = new Uint8Array(initialBytes);
  }

  /** All bytes written so far; valid until the next write. */
  get bytes(): Uint8Array {
    return this.#bytes;
  }

  /** Number of bytes written, which is the place of the next one. */
  get length(): number {
    return this.#length;
  }

  /**
   * Begins again without bytes. The memory is kept unless it has grown large,
   * so that one request with many keys does not hold it forever.
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

  /** Appends the window, which ends a key, if the format includes it. */
  window({ window, isFurther = false }: KeyWindow): void {
    const isLeftOut = this.#format === "reference" && !isFurther &&
      UNIT_WORDS.includes(window);
    if (isLeftOut) return;
    this.#reserve(window.length);
    for (let i = 0; i < window.length; i++) {
      // Names of windows are ASCII.
      this.#bytes[this.#length++] = window.charCodeAt(i);
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

/** One level of a rule, as far as the counter key depends on it. */
export interface KeyLevel {
  /** The key. */
  readonly key: string;
  /** The value or pattern; empty for any value. */
  readonly value: string;
  /**
   * True when the counter key has the pattern in place of the value that it
   * matches.
   */
  readonly shareThreshold: boolean;
}

/** True when the value of a level in counter keys comes from the request. */
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

/** A rule, as far as its counter key depends on it. */
interface KeyedRule {
  /** Number of the rule among all rules. */
  readonly id: number;
  /** Levels from the top to the rule. */
  readonly levels: readonly KeyLevel[];
  /** The limit, whose window is in the key; undefined for an unlimited rule. */
  readonly limit: Pick<KeyWindow, "window"> | undefined;
  /** Empty for the only rule of its descriptor, or the first. */
  readonly label: string;
}

/**
 * The parts of counter keys that are the same for all requests to a rule. They
 * are written at the first request: of ten thousand rules few have requests.
 */
export class RuleKeys {
  readonly #writer: KeyPartWriter;
  readonly #parts: (readonly KeyPart[] | undefined)[];

  /** Makes an empty cache for the keys of so many rules. */
  constructor(writer: KeyPartWriter, rules: number) {
    this.#writer = writer;
    this.#parts = new Array<undefined>(rules).fill(undefined);
  }

  /**
   * Returns the parts of a rule's counter key: one that precedes the value of
   * each entry, and one that stands at the end. Values that the rule fixes are
   * within the parts.
   *
   * @param domainPrefix Beginning of every counter key of the rule's domain.
   */
  getParts(rule: KeyedRule, domainPrefix: Uint8Array): readonly KeyPart[] {
    return this.#parts[rule.id] ??= this.#writer.parts(rule.levels, {
      domainPrefix,
      window: rule.limit &&
        { window: rule.limit.window, isFurther: rule.label !== "" },
    });
  }
}

/**
 * Writes the parts of counter keys that are the same for all requests to a
 * rule.
 */
export class KeyPartWriter {
  // One writer for all rules: making one for each would cost more than the
  // writing.
  readonly #writer: CounterKeyWriter;
  readonly #text = new TextBytes();
  #block = new Uint8Array();
  #blockEnd = 0;

  /** Makes a writer of one format. */
  constructor(format: CounterKeyFormat) {
    this.#writer = new CounterKeyWriter(format);
  }

  /**
   * Returns the beginning of every counter key of a domain: the prefix of all
   * keys, then the domain.
   */
  domainPrefix(domain: string, prefix: string): Uint8Array {
    const writer = this.#writer;
    writer.clear();
    writer.raw(new TextEncoder().encode(prefix));
    this.#part(domain);
    return this.#written();
  }

  /**
   * Returns the parts of a counter key, from the domain to the end of the rule.
   */
  parts(
    levels: readonly KeyLevel[],
    { domainPrefix, window }: {
      readonly domainPrefix: Uint8Array;
      /** The window of the rule's limit; undefined when it has none to count. */
      readonly window: KeyWindow | undefined;
    },
  ): KeyPart[] {
    const writer = this.#writer;
    // Most rules have one part, and an array that grows by push() reserves room
    // for 17.
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
    if (window !== undefined) writer.window(window);
    const last = { bytes: this.#written(), valueOfEntry: -1 };
    return parts === undefined ? [last] : [...parts, last];
  }

  #part(text: string): void {
    const length = this.#text.write(text);
    this.#writer.text(this.#text.bytes, 0, length);
    this.#writer.separator();
  }

  /**
   * Copies what was written into a shared block: the garbage collector visits
   * each buffer on its own.
   */
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
