/**
 * The view of one rate limit request that the matcher and the decision read:
 * positions within the bytes that arrived, no copies and no strings.
 *
 * @module
 */

/** Largest number of hits one request or descriptor may carry. */
export const MAX_HITS: number = Number.MAX_SAFE_INTEGER;

const ENTRY_STRIDE = 4;
const DESCRIPTOR_STRIDE = 5;
const FIRST_ENTRIES = 16;
const FIRST_DESCRIPTORS = 8;
const FIRST_BYTES = 256;
const KEPT_ENTRIES = 16_384;
const KEPT_DESCRIPTORS = 8_192;
const FLAG_LIMIT = 1;
const FLAG_HITS = 2;
const FLAG_NEGATIVE = 4;
const UTF8 = new TextDecoder();

/** What one descriptor carries beside its entries. */
export interface DescriptorFields {
  /** Limit sent with the request (`RateLimitOverride`), absent when not sent. */
  readonly limit?: { readonly requestsPerUnit: number; readonly unit: number };
  /** The descriptor's own `hits_addend`; 0 looks without counting. */
  readonly hitsAddend?: number;
  /** True when the hits are given back instead of taken. */
  readonly isNegativeHits?: boolean;
}

/**
 * One request, as positions within {@linkcode RequestView.bytes}. A codec fills
 * it through `reset`, `setDomain`, `addEntry` and `endDescriptor`; readers use
 * the rest. Instances are reused: a caller that awaits between two reads must
 * own the instance it reads.
 */
export class RequestView {
  /** The bytes all positions refer to. */
  bytes: Uint8Array = new Uint8Array(0);
  /** First byte of the domain. */
  domainStart = 0;
  /** One past the last byte of the domain. */
  domainEnd = 0;
  /** The request's `hits_addend`; 0 when not sent, which counts as 1. */
  hitsAddend = 0;
  /** Number of descriptors. */
  descriptorCount = 0;

  /** Memory that copies into this view are written to. */
  #own: Uint8Array = new Uint8Array(0);
  #entryCount = 0;
  #entries: Int32Array = new Int32Array(ENTRY_STRIDE * FIRST_ENTRIES);
  #descriptors: Int32Array = new Int32Array(
    DESCRIPTOR_STRIDE * FIRST_DESCRIPTORS,
  );
  #hits: Float64Array = new Float64Array(FIRST_DESCRIPTORS);

  /**
   * Empties the view and points it at `bytes`. Memory that a huge request took
   * is released, so that no caller can make a pooled view hold it for good.
   */
  reset(bytes: Uint8Array): void {
    this.bytes = bytes;
    this.domainStart = 0;
    this.domainEnd = 0;
    this.hitsAddend = 0;
    this.descriptorCount = 0;
    this.#entryCount = 0;
    if (this.#entries.length > ENTRY_STRIDE * KEPT_ENTRIES) {
      this.#entries = new Int32Array(ENTRY_STRIDE * FIRST_ENTRIES);
    }
    if (this.#hits.length > KEPT_DESCRIPTORS) {
      this.#descriptors = new Int32Array(DESCRIPTOR_STRIDE * FIRST_DESCRIPTORS);
      this.#hits = new Float64Array(FIRST_DESCRIPTORS);
    }
  }

  /** Bytes of memory that a copy takes, approximately. */
  get footprintBytes(): number {
    return this.bytes.length + 4 * ENTRY_STRIDE * this.#entryCount +
      (4 * DESCRIPTOR_STRIDE + 8) * this.descriptorCount;
  }

  /**
   * Makes `target` hold the same request, in memory of its own that is not
   * filled by others. The memory of an earlier copy is reused.
   */
  copyInto(target: RequestView): void {
    const { bytes } = this;
    if (target.#own.length < bytes.length) {
      target.#own = new Uint8Array(Math.max(FIRST_BYTES, bytes.length));
    }
    target.reset(target.#own);
    target.#own.set(bytes);
    target.domainStart = this.domainStart;
    target.domainEnd = this.domainEnd;
    target.hitsAddend = this.hitsAddend;
    target.descriptorCount = this.descriptorCount;
    target.#entryCount = this.#entryCount;
    const cells = ENTRY_STRIDE * this.#entryCount;
    if (target.#entries.length < cells) {
      target.#entries = new Int32Array(this.#entries.length);
    }
    for (let at = 0; at < cells; at++) target.#entries[at] = this.#entries[at]!;
    const count = this.descriptorCount;
    if (target.#hits.length < count) {
      target.#descriptors = new Int32Array(this.#descriptors.length);
      target.#hits = new Float64Array(this.#hits.length);
    }
    for (let at = 0; at < DESCRIPTOR_STRIDE * count; at++) {
      target.#descriptors[at] = this.#descriptors[at]!;
    }
    for (let at = 0; at < count; at++) target.#hits[at] = this.#hits[at]!;
  }

  /** Sets the positions of the domain. */
  setDomain(start: number, end: number): void {
    this.domainStart = start;
    this.domainEnd = end;
  }

  /** Adds an entry to the descriptor that the next `endDescriptor` closes. */
  addEntry(
    keyStart: number,
    keyEnd: number,
    valueStart: number,
    valueEnd: number,
  ): void {
    const at = this.#entryCount * ENTRY_STRIDE;
    if (at === this.#entries.length) this.#entries = doubled(this.#entries);
    this.#entries[at] = keyStart;
    this.#entries[at + 1] = keyEnd;
    this.#entries[at + 2] = valueStart;
    this.#entries[at + 3] = valueEnd;
    this.#entryCount++;
  }

  /** Closes a descriptor: it holds every entry added since the last one. */
  endDescriptor(fields: DescriptorFields): void {
    const descriptor = this.descriptorCount;
    const at = descriptor * DESCRIPTOR_STRIDE;
    if (at === this.#descriptors.length) {
      this.#descriptors = doubled(this.#descriptors);
      const hits = new Float64Array(this.#hits.length * 2);
      hits.set(this.#hits);
      this.#hits = hits;
    }
    this.#descriptors[at] = descriptor === 0
      ? 0
      : this.lastEntry(descriptor - 1);
    this.#descriptors[at + 1] = this.#entryCount;
    this.#descriptors[at + 2] = (fields.limit === undefined ? 0 : FLAG_LIMIT) |
      (fields.hitsAddend === undefined ? 0 : FLAG_HITS) |
      (fields.isNegativeHits === true ? FLAG_NEGATIVE : 0);
    this.#descriptors[at + 3] = fields.limit?.requestsPerUnit ?? 0;
    this.#descriptors[at + 4] = fields.limit?.unit ?? 0;
    this.#hits[descriptor] = fields.hitsAddend ?? 0;
    this.descriptorCount++;
  }

  /** Index of the first entry of `descriptor`. */
  firstEntry(descriptor: number): number {
    return this.#descriptors[descriptor * DESCRIPTOR_STRIDE]!;
  }

  /** One past the index of the last entry of `descriptor`. */
  lastEntry(descriptor: number): number {
    return this.#descriptors[descriptor * DESCRIPTOR_STRIDE + 1]!;
  }

  /** True when `descriptor` brought a limit of its own. */
  hasLimit(descriptor: number): boolean {
    return (this.#descriptors[descriptor * DESCRIPTOR_STRIDE + 2]! &
      FLAG_LIMIT) !== 0;
  }

  /** Requests per unit of the descriptor's own limit, an unsigned 32-bit value. */
  limitRequestsPerUnit(descriptor: number): number {
    return this.#descriptors[descriptor * DESCRIPTOR_STRIDE + 3]! >>> 0;
  }

  /** Unit of the descriptor's own limit, the number on the wire. */
  limitUnit(descriptor: number): number {
    return this.#descriptors[descriptor * DESCRIPTOR_STRIDE + 4]!;
  }

  /** True when `descriptor` brought a `hits_addend` of its own. */
  hasHitsAddend(descriptor: number): boolean {
    return (this.#descriptors[descriptor * DESCRIPTOR_STRIDE + 2]! &
      FLAG_HITS) !== 0;
  }

  /** The descriptor's own `hits_addend`, at most {@linkcode MAX_HITS}. */
  descriptorHitsAddend(descriptor: number): number {
    return this.#hits[descriptor]!;
  }

  /** True when the descriptor's hits are given back. */
  isNegativeHits(descriptor: number): boolean {
    return (this.#descriptors[descriptor * DESCRIPTOR_STRIDE + 2]! &
      FLAG_NEGATIVE) !== 0;
  }

  /** The text from byte `start` to byte `end`. */
  text(start: number, end: number): string {
    return UTF8.decode(this.bytes.subarray(start, end));
  }

  /** An entry's key as text. */
  keyText(entry: number): string {
    return this.text(this.keyStart(entry), this.keyEnd(entry));
  }

  /** An entry's value as text. */
  valueText(entry: number): string {
    return this.text(this.valueStart(entry), this.valueEnd(entry));
  }

  /** First byte of an entry's key. */
  keyStart(entry: number): number {
    return this.#entries[entry * ENTRY_STRIDE]!;
  }

  /** One past the last byte of an entry's key. */
  keyEnd(entry: number): number {
    return this.#entries[entry * ENTRY_STRIDE + 1]!;
  }

  /** First byte of an entry's value. */
  valueStart(entry: number): number {
    return this.#entries[entry * ENTRY_STRIDE + 2]!;
  }

  /** One past the last byte of an entry's value. */
  valueEnd(entry: number): number {
    return this.#entries[entry * ENTRY_STRIDE + 3]!;
  }
}

function doubled(from: Int32Array): Int32Array {
  const to = new Int32Array(from.length * 2);
  to.set(from);
  return to;
}
