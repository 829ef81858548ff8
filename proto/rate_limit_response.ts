/**
 * Encodes and decodes `envoy.service.ratelimit.v3.RateLimitResponse`, the
 * answer to a rate limit request.
 *
 * @module
 */

import {
  type JsonObject,
  readStruct,
  type StructDraft,
  toObject,
  writeStruct,
} from "./struct.ts";
import { type MalformedFault, WireReader } from "./wire.ts";
import { WireWriter } from "./wire_writer.ts";

/** `RateLimitResponse.Code`. */
export const CODE = { UNKNOWN: 0, OK: 1, OVER_LIMIT: 2 } as const;

/** One of the numbers of {@linkcode CODE}. */
export type Code = typeof CODE[keyof typeof CODE];

/** `RateLimitResponse.RateLimit.Unit`; WEEK was added last, hence its number. */
export const UNIT = {
  UNKNOWN: 0,
  SECOND: 1,
  MINUTE: 2,
  HOUR: 3,
  DAY: 4,
  MONTH: 5,
  YEAR: 6,
  WEEK: 7,
} as const;

/** Name of a unit, as on the wire. */
export type UnitName = keyof typeof UNIT;

/** The limit that a status was judged by. */
export interface CurrentLimit {
  /** Requests allowed in one unit, an unsigned 32-bit value. */
  readonly requestsPerUnit: number;
  /** Number of the unit, see {@linkcode UNIT}. */
  readonly unit: number;
  /** Name of the rule, where it has one. */
  readonly name?: string;
}

/** The decision on one descriptor. */
export interface DescriptorStatus {
  /** The decision. */
  readonly code: Code;
  /** The limit that applied; absent when none did. */
  readonly currentLimit?: CurrentLimit;
  /** Requests that remain in the window, an unsigned 32-bit value. */
  readonly limitRemaining: number;
  /** Whole seconds to the end of the window; absent when no limit applied. */
  readonly durationUntilResetSeconds?: number;
}

/** A header the proxy adds. */
export interface HeaderValue {
  /** Name of the header. */
  readonly key: string;
  /** Text of the header. */
  readonly value: string;
}

/** The answer to one request. */
export interface RateLimitResponse {
  /** The decision on the whole request. */
  readonly overallCode: Code;
  /** One status for each descriptor of the request, in its order. */
  readonly statuses: readonly DescriptorStatus[];
  /** Headers for the answer to the client; empty unless enabled. */
  readonly responseHeadersToAdd: readonly HeaderValue[];
  /** Metadata that the proxy may log or match on; absent unless enabled. */
  readonly dynamicMetadata?: JsonObject;
}

const RESPONSE_OVERALL_CODE = 1 << 3;
const RESPONSE_STATUSES = 2 << 3 | 2;
const RESPONSE_HEADERS_TO_ADD = 3 << 3 | 2;
const RESPONSE_DYNAMIC_METADATA = 6 << 3 | 2;
const STATUS_CODE = 1 << 3;
const STATUS_CURRENT_LIMIT = 2 << 3 | 2;
const STATUS_LIMIT_REMAINING = 3 << 3;
const STATUS_DURATION_UNTIL_RESET = 4 << 3 | 2;
const LIMIT_REQUESTS_PER_UNIT = 1 << 3;
const LIMIT_UNIT = 2 << 3;
const LIMIT_NAME = 3 << 3 | 2;
const DURATION_SECONDS = 1 << 3;
const HEADER_KEY = 1 << 3 | 2;
const HEADER_VALUE = 2 << 3 | 2;

// Room for what most answers need, so that the writer seldom grows.
const BYTES_PER_STATUS = 64;
const BYTES_BESIDE = 32;

/** A `CurrentLimit` while its fields are decoded. */
interface LimitDraft {
  requestsPerUnit: number;
  unit: number;
  name?: string;
}

/** Options of {@linkcode encodeRateLimitResponse}. */
interface EncodeResponseOptions {
  /**
   * A writer shared by many answers, with a buffer of some thousands of bytes,
   * which is much faster than a buffer for each. An answer may be kept, but it
   * keeps the memory of its neighbours in the buffer with it.
   *
   * @default {a buffer for each answer}
   */
  readonly writer?: WireWriter;
}

/**
 * Writes an answer, as proto3 has it: no field that has its default, a message
 * that is present even when it is empty.
 *
 * @throws {RangeError} When `dynamicMetadata` is nested deeper than
 * `MAX_STRUCT_DEPTH` levels.
 */
export function encodeRateLimitResponse(
  response: RateLimitResponse,
  options: EncodeResponseOptions = {},
): Uint8Array<ArrayBuffer> {
  const { overallCode, statuses, responseHeadersToAdd } = response;
  const writer = options.writer ??
    new WireWriter(BYTES_BESIDE + statuses.length * BYTES_PER_STATUS);
  // The writer may hold the beginning of an answer whose metadata was too deep.
  writer.reset();
  if (overallCode !== 0) writer.uint(1, overallCode);
  for (const status of statuses) {
    const mark = writer.open(2);
    writeStatus(writer, status);
    writer.close(mark);
  }
  for (const { key, value } of responseHeadersToAdd) {
    const mark = writer.open(3);
    if (key !== "") writer.text(1, key);
    if (value !== "") writer.text(2, value);
    writer.close(mark);
  }
  if (response.dynamicMetadata !== undefined) {
    const mark = writer.open(6);
    writeStruct(writer, response.dynamicMetadata);
    writer.close(mark);
  }
  return options.writer === undefined ? writer.finish() : writer.take();
}

/**
 * Reads an answer. Fields that {@linkcode RateLimitResponse} does not have are
 * skipped, a code this version does not know is UNKNOWN, and the part of a
 * second that a duration may have is dropped.
 *
 * @returns The answer, or a fault for malformed bytes (`"kind" in result`).
 */
export function decodeRateLimitResponse(
  bytes: Uint8Array,
): RateLimitResponse | MalformedFault {
  const reader = new WireReader(bytes);
  const statuses: DescriptorStatus[] = [];
  const responseHeadersToAdd: HeaderValue[] = [];
  let overallCode: Code = CODE.UNKNOWN;
  let metadata: StructDraft | undefined;
  while (reader.hasMore()) {
    const tag = reader.tag();
    switch (tag) {
      case RESPONSE_OVERALL_CODE:
        overallCode = toCode(reader.int32());
        break;
      case RESPONSE_STATUSES:
        statuses.push(readStatus(reader));
        break;
      case RESPONSE_HEADERS_TO_ADD:
        responseHeadersToAdd.push(readHeader(reader));
        break;
      case RESPONSE_DYNAMIC_METADATA:
        metadata ??= new Map();
        readStruct(reader, metadata);
        break;
      default:
        reader.skip(tag);
    }
  }
  const fault = reader.fault("response");
  if (fault !== undefined) return fault;
  const response = { overallCode, statuses, responseHeadersToAdd };
  if (metadata === undefined) return response;
  return { ...response, dynamicMetadata: toObject(metadata) };
}

function writeStatus(writer: WireWriter, status: DescriptorStatus): void {
  const { code, currentLimit, durationUntilResetSeconds } = status;
  if (code !== 0) writer.uint(1, code);
  if (currentLimit !== undefined) {
    const { requestsPerUnit, unit, name } = currentLimit;
    const mark = writer.open(2);
    if (requestsPerUnit !== 0) writer.uint(1, requestsPerUnit);
    if (unit !== 0) writer.int(2, unit);
    if (name !== undefined && name !== "") writer.text(3, name);
    writer.close(mark);
  }
  if (status.limitRemaining !== 0) writer.uint(3, status.limitRemaining);
  if (durationUntilResetSeconds !== undefined) {
    const mark = writer.open(4);
    if (durationUntilResetSeconds !== 0) {
      writer.int(1, durationUntilResetSeconds);
    }
    writer.close(mark);
  }
}

function readStatus(reader: WireReader): DescriptorStatus {
  const outer = reader.open();
  let code: Code = CODE.UNKNOWN;
  let currentLimit: LimitDraft | undefined;
  let limitRemaining = 0;
  let seconds: number | undefined;
  while (reader.hasMore()) {
    const tag = reader.tag();
    switch (tag) {
      case STATUS_CODE:
        code = toCode(reader.int32());
        break;
      case STATUS_CURRENT_LIMIT:
        currentLimit ??= { requestsPerUnit: 0, unit: 0 };
        readLimit(reader, currentLimit);
        break;
      case STATUS_LIMIT_REMAINING:
        limitRemaining = reader.uint32();
        break;
      case STATUS_DURATION_UNTIL_RESET:
        seconds = readSeconds(reader, seconds ?? 0);
        break;
      default:
        reader.skip(tag);
    }
  }
  reader.close(outer);
  return {
    code,
    ...(currentLimit !== undefined && { currentLimit }),
    limitRemaining,
    ...(seconds !== undefined && { durationUntilResetSeconds: seconds }),
  };
}

function readLimit(reader: WireReader, limit: LimitDraft): void {
  const outer = reader.open();
  while (reader.hasMore()) {
    const tag = reader.tag();
    switch (tag) {
      case LIMIT_REQUESTS_PER_UNIT:
        limit.requestsPerUnit = reader.uint32();
        break;
      case LIMIT_UNIT:
        limit.unit = reader.int32();
        break;
      case LIMIT_NAME: {
        // A proto3 text has no presence: an empty name means no name.
        const name = reader.text();
        if (name === "") delete limit.name;
        else limit.name = name;
        break;
      }
      default:
        reader.skip(tag);
    }
  }
  reader.close(outer);
}

function readSeconds(reader: WireReader, before: number): number {
  const outer = reader.open();
  let seconds = before;
  while (reader.hasMore()) {
    const tag = reader.tag();
    if (tag === DURATION_SECONDS) seconds = reader.int64();
    else reader.skip(tag);
  }
  reader.close(outer);
  return seconds;
}

function readHeader(reader: WireReader): HeaderValue {
  const outer = reader.open();
  let key = "";
  let value = "";
  while (reader.hasMore()) {
    const tag = reader.tag();
    if (tag === HEADER_KEY) key = reader.text();
    else if (tag === HEADER_VALUE) value = reader.text();
    else reader.skip(tag);
  }
  reader.close(outer);
  return { key, value };
}

function toCode(number: number): Code {
  if (number === CODE.OK || number === CODE.OVER_LIMIT) return number;
  return CODE.UNKNOWN;
}
