/**
 * Decodes `envoy.service.ratelimit.v3.RateLimitRequest` into a view of
 * positions, and encodes it from plain values.
 *
 * @module
 */

import {
  type DescriptorFields,
  MAX_HITS,
  type RequestView,
} from "./request_view.ts";
import { writeUtf8 } from "./utf8.ts";
import { type DecodeFault, WireReader } from "./wire.ts";
import { WireWriter } from "./wire_writer.ts";

/** One level of a descriptor. */
export interface DescriptorEntry {
  /** Name of the level. */
  readonly key: string;
  /** What the level is counted by; may be empty. */
  readonly value: string;
}

/** A limit that takes the place of the configured one. */
export interface RateLimitOverride {
  /** Requests allowed in one unit, an unsigned 32-bit value. */
  readonly requestsPerUnit: number;
  /** Number of the unit: those of `UNIT`, a WEEK being 7. */
  readonly unit: number;
}

/** What a request is counted by. */
export interface RateLimitDescriptor {
  /** The levels, from the outermost inward. */
  readonly entries: readonly DescriptorEntry[];
  /** A limit that the client sets for this descriptor. */
  readonly limit?: RateLimitOverride;
  /**
   * Hits in place of the request's, 0 to {@linkcode MAX_HITS}; 0 looks without
   * counting.
   */
  readonly hitsAddend?: number;
  /** True to give the hits back instead of taking them. */
  readonly isNegativeHits?: boolean;
}

/** One request to judge. */
export interface RateLimitRequest {
  /** Domain of the rules that apply. */
  readonly domain: string;
  /** The descriptors to count. */
  readonly descriptors: readonly RateLimitDescriptor[];
  /** Hits the request adds, an unsigned 32-bit value; 0 or absent counts as 1. */
  readonly hitsAddend?: number;
}

/** Options of {@linkcode decodeRateLimitRequest}. */
interface DecodeRequestOptions {
  /**
   * Most descriptors a request may hold; those beyond are counted but not kept.
   *
   * @default {Infinity}
   */
  readonly maxDescriptors?: number;
}

// Tags: field number times eight plus wire type. A known number with another
// wire type is an unknown field, as in every protobuf library.
const REQUEST_DOMAIN = 1 << 3 | 2;
const REQUEST_DESCRIPTORS = 2 << 3 | 2;
const REQUEST_HITS_ADDEND = 3 << 3;
const DESCRIPTOR_ENTRIES = 1 << 3 | 2;
const DESCRIPTOR_LIMIT = 2 << 3 | 2;
const DESCRIPTOR_HITS_ADDEND = 3 << 3 | 2;
const DESCRIPTOR_IS_NEGATIVE_HITS = 4 << 3;
const ENTRY_KEY = 1 << 3 | 2;
const ENTRY_VALUE = 2 << 3 | 2;
const LIMIT_REQUESTS_PER_UNIT = 1 << 3;
const LIMIT_UNIT = 2 << 3;
const UINT64_VALUE = 1 << 3;

const UINT32_MAX = 4_294_967_295;
const NO_FIELDS: DescriptorFields = {};

/** A {@linkcode DescriptorFields} while its fields are decoded. */
interface FieldsDraft {
  limit?: { requestsPerUnit: number; unit: number };
  hitsAddend?: number;
  isNegativeHits?: boolean;
}

/**
 * Reads one request into `view`, which then refers to `bytes`: the caller must
 * not change them while it reads the view. Unknown fields are skipped, since
 * newer proxies send them; a field that comes twice follows proto3: the last
 * scalar wins, messages merge.
 *
 * @returns Undefined, or why the request cannot be taken; the view is then empty.
 */
export function decodeRateLimitRequest(
  bytes: Uint8Array,
  view: RequestView,
  options: DecodeRequestOptions = {},
): DecodeFault | undefined {
  const maxDescriptors = options.maxDescriptors ?? Infinity;
  const reader = new WireReader(bytes);
  let count = 0;
  view.reset(bytes);
  while (reader.hasMore()) {
    const tag = reader.tag();
    switch (tag) {
      case REQUEST_DOMAIN:
        view.setDomain(reader.textStart(), reader.position);
        break;
      case REQUEST_DESCRIPTORS:
        if (++count > maxDescriptors) reader.skip(tag);
        else readDescriptor(reader, view);
        break;
      case REQUEST_HITS_ADDEND:
        view.hitsAddend = reader.uint32();
        break;
      default:
        reader.skip(tag);
    }
  }
  const malformed = reader.fault("request");
  if (malformed === undefined && count <= maxDescriptors) return undefined;
  view.reset(bytes);
  return malformed ?? tooMany(count, maxDescriptors);
}

function tooMany(count: number, maxDescriptors: number): DecodeFault {
  return {
    kind: "too_many_descriptors",
    reason: `Cannot accept request: it holds ${count} descriptors, ` +
      `${maxDescriptors} are allowed`,
    count,
  };
}

/** The most bytes of UTF-8 that a UTF-16 code unit takes. */
const MAX_BYTES_PER_UNIT = 3;

/**
 * Fills `view` from a request of plain values, whose numbers must be in their
 * ranges, as if the request had been encoded and decoded.
 *
 * @param memory Buffer for the texts, used when they fit; the caller must not
 * change it while it reads the view.
 * @returns Undefined, or why the request cannot be taken; the view is then
 * empty.
 */
export function viewRateLimitRequest(
  request: RateLimitRequest,
  view: RequestView,
  options: DecodeRequestOptions & { readonly memory: Uint8Array },
): DecodeFault | undefined {
  const { maxDescriptors = Infinity, memory } = options;
  const { domain, descriptors, hitsAddend = 0 } = request;
  const units = descriptors.reduce(
    (sum, { entries }) =>
      entries.reduce(
        (total, { key, value }) => total + key.length + value.length,
        sum,
      ),
    domain.length,
  );
  const room = units * MAX_BYTES_PER_UNIT;
  const bytes = room <= memory.length ? memory : new Uint8Array(room);
  view.reset(bytes);
  if (descriptors.length > maxDescriptors) {
    return tooMany(descriptors.length, maxDescriptors);
  }
  let end = writeUtf8(bytes, domain, 0);
  view.setDomain(0, end);
  view.hitsAddend = hitsAddend;
  for (const descriptor of descriptors) {
    for (const { key, value } of descriptor.entries) {
      const start = end;
      const middle = writeUtf8(bytes, key, start);
      end = writeUtf8(bytes, value, middle);
      view.addEntry(start, middle, middle, end);
    }
    view.endDescriptor(descriptor);
  }
  view.bytes = bytes.subarray(0, end);
  return undefined;
}

/**
 * Writes a request, for a client.
 *
 * @throws {RangeError} When a number does not fit its field.
 */
export function encodeRateLimitRequest(
  request: RateLimitRequest,
): Uint8Array<ArrayBuffer> {
  const writer = new WireWriter();
  if (request.domain !== "") writer.text(1, request.domain);
  for (const descriptor of request.descriptors) {
    const mark = writer.open(2);
    writeDescriptor(writer, descriptor);
    writer.close(mark);
  }
  const hitsAddend = request.hitsAddend ?? 0;
  assertRange("hitsAddend", hitsAddend, { max: UINT32_MAX });
  if (hitsAddend !== 0) writer.uint(3, hitsAddend);
  return writer.finish();
}

function readDescriptor(reader: WireReader, view: RequestView): void {
  const outer = reader.open();
  let fields: FieldsDraft | undefined;
  while (reader.hasMore()) {
    const tag = reader.tag();
    switch (tag) {
      case DESCRIPTOR_ENTRIES:
        readEntry(reader, view);
        break;
      case DESCRIPTOR_LIMIT:
        fields ??= {};
        fields.limit ??= { requestsPerUnit: 0, unit: 0 };
        readLimit(reader, fields.limit);
        break;
      case DESCRIPTOR_HITS_ADDEND:
        fields ??= {};
        fields.hitsAddend = readHits(reader, fields.hitsAddend ?? 0);
        break;
      case DESCRIPTOR_IS_NEGATIVE_HITS:
        fields ??= {};
        fields.isNegativeHits = reader.bool();
        break;
      default:
        reader.skip(tag);
    }
  }
  if (fields?.hitsAddend !== undefined && fields.hitsAddend > MAX_HITS) {
    reader.fail(
      `hits_addend of descriptor ${view.descriptorCount} is over ${MAX_HITS}`,
    );
  }
  reader.close(outer);
  view.endDescriptor(fields ?? NO_FIELDS);
}

function readEntry(reader: WireReader, view: RequestView): void {
  const outer = reader.open();
  let keyStart = 0;
  let keyEnd = 0;
  let valueStart = 0;
  let valueEnd = 0;
  while (reader.hasMore()) {
    const tag = reader.tag();
    if (tag === ENTRY_KEY) {
      keyStart = reader.textStart();
      keyEnd = reader.position;
    } else if (tag === ENTRY_VALUE) {
      valueStart = reader.textStart();
      valueEnd = reader.position;
    } else reader.skip(tag);
  }
  reader.close(outer);
  view.addEntry(keyStart, keyEnd, valueStart, valueEnd);
}

function readLimit(
  reader: WireReader,
  limit: { requestsPerUnit: number; unit: number },
): void {
  const outer = reader.open();
  while (reader.hasMore()) {
    const tag = reader.tag();
    if (tag === LIMIT_REQUESTS_PER_UNIT) {
      limit.requestsPerUnit = reader.uint32();
    } else if (tag === LIMIT_UNIT) limit.unit = reader.int32();
    else reader.skip(tag);
  }
  reader.close(outer);
}

function readHits(reader: WireReader, before: number): number {
  const outer = reader.open();
  let hits = before;
  while (reader.hasMore()) {
    const tag = reader.tag();
    if (tag === UINT64_VALUE) hits = reader.uint64();
    else reader.skip(tag);
  }
  reader.close(outer);
  return hits;
}

function writeDescriptor(
  writer: WireWriter,
  descriptor: RateLimitDescriptor,
): void {
  const { entries, limit, hitsAddend, isNegativeHits } = descriptor;
  for (const { key, value } of entries) {
    const mark = writer.open(1);
    if (key !== "") writer.text(1, key);
    if (value !== "") writer.text(2, value);
    writer.close(mark);
  }
  if (limit !== undefined) {
    const { requestsPerUnit, unit } = limit;
    assertRange("requestsPerUnit", requestsPerUnit, { max: UINT32_MAX });
    assertRange("unit", unit, { min: -0x8000_0000, max: 0x7fff_ffff });
    const mark = writer.open(2);
    if (requestsPerUnit !== 0) writer.uint(1, requestsPerUnit);
    if (unit !== 0) writer.int(2, unit);
    writer.close(mark);
  }
  if (hitsAddend !== undefined) {
    assertRange("hitsAddend", hitsAddend, { max: MAX_HITS });
    const mark = writer.open(3);
    if (hitsAddend !== 0) writer.uint(1, hitsAddend);
    writer.close(mark);
  }
  if (isNegativeHits === true) writer.bool(4, true);
}

function assertRange(
  name: string,
  value: number,
  { min = 0, max }: { readonly min?: number; readonly max: number },
): void {
  if (Number.isInteger(value) && value >= min && value <= max) return;
  throw new RangeError(
    `Cannot encode request: ${name} is ${value}, not a whole number ` +
      `from ${min} to ${max}`,
  );
}
