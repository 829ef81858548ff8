/**
 * Header compression: the tables of HPACK and its decoder (RFC 7541).
 *
 * @module
 */

import type { ByteSpan } from "./byte_span.ts";
import { HuffmanDecoder, type HuffmanSteps } from "./huffman.ts";

/** Names in the last entries of the static table, which have no value. */
const NAMES_ALONE = [
  "accept-language accept-ranges accept access-control-allow-origin age",
  "allow authorization cache-control content-disposition content-encoding",
  "content-language content-length content-location content-range",
  "content-type cookie date etag expect expires from host if-match",
  "if-modified-since if-none-match if-range if-unmodified-since",
  "last-modified link location max-forwards proxy-authenticate",
  "proxy-authorization range referer refresh retry-after server set-cookie",
  "strict-transport-security transfer-encoding user-agent vary via",
  "www-authenticate",
].join(" ").split(" ");

/** The static table as names and values; the first entry has index 1. */
export const STATIC_FIELDS:
  readonly (readonly [name: string, value: string])[] = [
    [":authority", ""],
    [":method", "GET"],
    [":method", "POST"],
    [":path", "/"],
    [":path", "/index.html"],
    [":scheme", "http"],
    [":scheme", "https"],
    [":status", "200"],
    [":status", "204"],
    [":status", "206"],
    [":status", "304"],
    [":status", "400"],
    [":status", "404"],
    [":status", "500"],
    ["accept-charset", ""],
    ["accept-encoding", "gzip, deflate"],
    ...NAMES_ALONE.map((name) => [name, ""] as const),
  ];

/** What an entry counts beyond its name and value (RFC 7541, section 4.1). */
const ENTRY_OVERHEAD_BYTES = 32;

/** The size of a table until it is changed. */
export const DEFAULT_TABLE_BYTES = 4_096;

/**
 * An entry of a table. It keeps the meaning of a field instead of its text, so
 * that a field sent as an index need not be parsed again.
 */
interface TableEntry<Meaning> {
  /** What the name means. */
  readonly nameKind: number;
  /** Length of the name. */
  readonly nameBytes: number;
  /** What name and value mean together. */
  readonly meaning: Meaning;
  /** What the entry counts: name, value and overhead. */
  readonly sizeBytes: number;
}

/** The entries a peer has added, newest first (RFC 7541, section 4). */
export class DynamicTable<Meaning> {
  // A ring: an entry counts 32 bytes at least, so this is enough.
  readonly #entries: (TableEntry<Meaning> | undefined)[] = Array(
    DEFAULT_TABLE_BYTES / ENTRY_OVERHEAD_BYTES,
  );
  #newest = 0;
  #count = 0;
  #sizeBytes = 0;
  #maxBytes = DEFAULT_TABLE_BYTES;
  #generation = 0;

  /** Number of entries. */
  get count(): number {
    return this.#count;
  }

  /** What all entries count. */
  get sizeBytes(): number {
    return this.#sizeBytes;
  }

  /** A number that changes with each change of the table. */
  get generation(): number {
    return this.#generation;
  }

  /** The entry with the number `index`, 0 for the newest. */
  at(index: number): TableEntry<Meaning> | undefined {
    if (index >= this.#count) return undefined;
    return this.#entries[(this.#newest + index) % this.#entries.length];
  }

  /**
   * Adds an entry and evicts the oldest ones to make room; an entry larger than
   * the table empties it and is not added.
   */
  add(entry: TableEntry<Meaning>): void {
    this.#generation++;
    this.#evictTo(this.#maxBytes - entry.sizeBytes);
    if (entry.sizeBytes > this.#maxBytes) return;
    const length = this.#entries.length;
    this.#newest = (this.#newest + length - 1) % length;
    this.#entries[this.#newest] = entry;
    this.#count++;
    this.#sizeBytes += entry.sizeBytes;
  }

  /** Sets the largest size; false when it exceeds the agreed maximum. */
  resize(maxBytes: number): boolean {
    if (maxBytes > DEFAULT_TABLE_BYTES) return false;
    this.#generation++;
    this.#maxBytes = maxBytes;
    this.#evictTo(maxBytes);
    return true;
  }

  #evictTo(sizeBytes: number): void {
    while (this.#count > 0 && this.#sizeBytes > sizeBytes) {
      const oldest = (this.#newest + this.#count - 1) % this.#entries.length;
      this.#sizeBytes -= this.#entries[oldest]!.sizeBytes;
      this.#entries[oldest] = undefined;
      this.#count--;
    }
  }
}

/**
 * Parses header fields for a decoder. The bytes it gets are valid during the
 * call only; the decoder keeps the returned meaning in its table.
 */
export interface FieldReader<Meaning> {
  /** What a name means, as a number. */
  nameKind(name: ByteSpan): number;
  /** What a value means under such a name. */
  meaning(nameKind: number, value: ByteSpan): Meaning;
  /** Takes a field; `sizeBytes` is what it counts in a list of headers. */
  field(meaning: Meaning, sizeBytes: number): void;
}

/** What the HPACK decoders of many connections share. */
export interface HpackShared<Meaning> {
  /** Parses the fields. */
  readonly reader: FieldReader<Meaning>;
  /** The static table. */
  readonly staticTable: readonly TableEntry<Meaning>[];
  /** Decodes names. */
  readonly names: HuffmanDecoder;
  /** Decodes values. */
  readonly values: HuffmanDecoder;
}

/** Makes what the HPACK decoders of many connections share. */
export function hpackShared<Meaning>(
  reader: FieldReader<Meaning>,
  steps: HuffmanSteps,
): HpackShared<Meaning> {
  const encoder = new TextEncoder();
  const span = (text: string): ByteSpan => {
    const bytes = encoder.encode(text);
    return { bytes, start: 0, end: bytes.length };
  };
  const staticTable = STATIC_FIELDS.map(([name, value]) => {
    const nameKind = reader.nameKind(span(name));
    const sizeBytes = name.length + value.length + ENTRY_OVERHEAD_BYTES;
    const meaning = reader.meaning(nameKind, span(value));
    return { nameKind, nameBytes: name.length, meaning, sizeBytes };
  });
  const names = new HuffmanDecoder(steps);
  const values = new HuffmanDecoder(steps);
  return { reader, staticTable, names, values };
}

/** Decodes the header blocks of one connection, in their order. */
export class HpackDecoder<Meaning> {
  readonly #shared: HpackShared<Meaning>;
  readonly #table = new DynamicTable<Meaning>();
  readonly #name: ByteSpan = { bytes: new Uint8Array(0), start: 0, end: 0 };
  readonly #value: ByteSpan = { bytes: new Uint8Array(0), start: 0, end: 0 };
  #bytes = new Uint8Array(0);
  #at = 0;
  #end = 0;

  /** A decoder whose table is empty. */
  constructor(shared: HpackShared<Meaning>) {
    this.#shared = shared;
  }

  /** The entries the peer has added. */
  get table(): DynamicTable<Meaning> {
    return this.#table;
  }

  /**
   * Decodes a whole block and hands its fields to the reader.
   *
   * @returns False when the block breaks the rules; the table may differ from
   * the peer's then, so that no further block can be decoded.
   */
  decode(block: ByteSpan): boolean {
    this.#bytes = block.bytes as Uint8Array<ArrayBuffer>;
    this.#at = block.start;
    this.#end = block.end;
    const { reader } = this.#shared;
    let begun = false;
    while (this.#at < this.#end) {
      const byte = this.#bytes[this.#at]!;
      if ((byte & 0x80) !== 0) {
        const entry = this.#entry(this.#integer(0x7f));
        if (entry === undefined) return false;
        reader.field(entry.meaning, entry.sizeBytes);
        begun = true;
      } else if ((byte & 0x60) === 0x20) {
        // Only at the beginning of a block (RFC 7541, section 4.2).
        if (begun) return false;
        const maxBytes = this.#integer(0x1f);
        if (maxBytes < 0 || !this.#table.resize(maxBytes)) return false;
      } else {
        if (!this.#literal((byte & 0x40) !== 0)) return false;
        begun = true;
      }
    }
    return true;
  }

  #literal(isIndexed: boolean): boolean {
    const { reader, names, values } = this.#shared;
    const index = this.#integer(isIndexed ? 0x3f : 0x0f);
    let nameKind: number;
    let nameBytes: number;
    if (index === 0) {
      if (!this.#string(this.#name, names)) return false;
      nameKind = reader.nameKind(this.#name);
      nameBytes = this.#name.end - this.#name.start;
    } else {
      const entry = this.#entry(index);
      if (entry === undefined) return false;
      nameKind = entry.nameKind;
      nameBytes = entry.nameBytes;
    }
    const value = this.#value;
    if (!this.#string(value, values)) return false;
    const meaning = reader.meaning(nameKind, value);
    const sizeBytes = nameBytes + value.end - value.start +
      ENTRY_OVERHEAD_BYTES;
    if (isIndexed) {
      this.#table.add({ nameKind, nameBytes, meaning, sizeBytes });
    }
    reader.field(meaning, sizeBytes);
    return true;
  }

  /** The entry with an index of both tables; undefined when there is none. */
  #entry(index: number): TableEntry<Meaning> | undefined {
    if (index < 1) return undefined;
    const { staticTable } = this.#shared;
    if (index <= staticTable.length) return staticTable[index - 1];
    return this.#table.at(index - 1 - staticTable.length);
  }

  #string(span: ByteSpan, decoder: HuffmanDecoder): boolean {
    if (this.#at >= this.#end) return false;
    const isCoded = (this.#bytes[this.#at]! & 0x80) !== 0;
    const length = this.#integer(0x7f);
    if (length < 0 || length > this.#end - this.#at) return false;
    span.bytes = this.#bytes;
    span.start = this.#at;
    span.end = this.#at + length;
    this.#at += length;
    return !isCoded || decoder.decode(span);
  }

  /**
   * Reads an integer that begins in the bits of `mask` (RFC 7541, section 5.1).
   * Four further bytes at most are read, which is enough for real headers.
   *
   * @returns The integer; -1 when it is cut short or too large.
   */
  #integer(mask: number): number {
    const first = this.#bytes[this.#at++]! & mask;
    if (first < mask) return first;
    let value = mask;
    for (let shift = 0; shift < 28; shift += 7) {
      if (this.#at >= this.#end) return -1;
      const byte = this.#bytes[this.#at++]!;
      value += (byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    return -1;
  }
}
