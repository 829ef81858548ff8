/**
 * The tables of HPACK (RFC 7541, section 2.3 and appendix A).
 *
 * @module
 */

/** The fixed entries as name and value; the first has index 1. */
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
    ["accept-language", ""],
    ["accept-ranges", ""],
    ["accept", ""],
    ["access-control-allow-origin", ""],
    ["age", ""],
    ["allow", ""],
    ["authorization", ""],
    ["cache-control", ""],
    ["content-disposition", ""],
    ["content-encoding", ""],
    ["content-language", ""],
    ["content-length", ""],
    ["content-location", ""],
    ["content-range", ""],
    ["content-type", ""],
    ["cookie", ""],
    ["date", ""],
    ["etag", ""],
    ["expect", ""],
    ["expires", ""],
    ["from", ""],
    ["host", ""],
    ["if-match", ""],
    ["if-modified-since", ""],
    ["if-none-match", ""],
    ["if-range", ""],
    ["if-unmodified-since", ""],
    ["last-modified", ""],
    ["link", ""],
    ["location", ""],
    ["max-forwards", ""],
    ["proxy-authenticate", ""],
    ["proxy-authorization", ""],
    ["range", ""],
    ["referer", ""],
    ["refresh", ""],
    ["retry-after", ""],
    ["server", ""],
    ["set-cookie", ""],
    ["strict-transport-security", ""],
    ["transfer-encoding", ""],
    ["user-agent", ""],
    ["vary", ""],
    ["via", ""],
    ["www-authenticate", ""],
  ];

/** What an entry counts beyond its name and value (RFC 7541, section 4.1). */
export const ENTRY_OVERHEAD_BYTES = 32;

/** The size of a table that nobody has changed. */
export const DEFAULT_TABLE_BYTES = 4_096;

/**
 * An entry. Instead of texts it keeps what they mean, so that a field that is
 * sent as a number need not be understood again.
 */
export interface TableEntry<Meaning> {
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

  /** Another number after each change. */
  get generation(): number {
    return this.#generation;
  }

  /** The entry with the number `index`, 0 for the newest. */
  at(index: number): TableEntry<Meaning> | undefined {
    if (index >= this.#count) return undefined;
    return this.#entries[(this.#newest + index) % this.#entries.length];
  }

  /** Adds an entry; older ones make room, and one too large empties all. */
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

  /** Sets the largest size; false when it is more than was agreed. */
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
