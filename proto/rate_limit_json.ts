/**
 * Reads requests and writes answers in proto3's JSON mapping
 * (https://protobuf.dev/programming-guides/json).
 *
 * @module
 */

import { JsonFields } from "./json_fields.ts";
import type {
  DescriptorEntry,
  RateLimitDescriptor,
  RateLimitOverride,
  RateLimitRequest,
} from "./rate_limit_request.ts";
import {
  CODE,
  type CurrentLimit,
  type DescriptorStatus,
  type RateLimitResponse,
  UNIT,
} from "./rate_limit_response.ts";
import { MAX_HITS } from "./request_view.ts";

/** Outcome of reading a request: the request, or why it is not valid. */
type JsonRequest =
  | { readonly kind: "ok"; readonly request: RateLimitRequest }
  | InvalidJson;

/** The JSON is not a valid request. */
interface InvalidJson {
  /** Tells the outcomes apart. */
  readonly kind: "invalid";
  /**
   * What is wrong, such as `Cannot read request: unknown field "descriptor" at
   * "$"`.
   */
  readonly reason: string;
  /**
   * Path to what is wrong, such as `descriptors[2].entries[0].value`; `$` is
   * the whole request; absent when the text is not JSON.
   */
  readonly path?: string;
}

const UINT32_MAX = 4_294_967_295;

// Both spellings of each field, as proto3 accepts them.
const REQUEST_NAMES = {
  domain: "domain",
  descriptors: "descriptors",
  hitsAddend: "hitsAddend",
  hits_addend: "hitsAddend",
} as const;
const DESCRIPTOR_NAMES = {
  entries: "entries",
  limit: "limit",
  hitsAddend: "hitsAddend",
  hits_addend: "hitsAddend",
  isNegativeHits: "isNegativeHits",
  is_negative_hits: "isNegativeHits",
} as const;
const ENTRY_NAMES = { key: "key", value: "value" } as const;
const LIMIT_NAMES = {
  requestsPerUnit: "requestsPerUnit",
  requests_per_unit: "requestsPerUnit",
  unit: "unit",
} as const;

/**
 * Reads a request from JSON text, or from the value such text stands for.
 * Field names in camelCase and snake_case, enums by name or number, 64-bit
 * numbers as text or number; `null` is an absent field. A field that is
 * unknown, or that comes in both spellings, makes the request invalid. A name
 * that comes twice in the same spelling is not noticed: the last one counts.
 *
 * The caller bounds the size of the text.
 */
export function requestFromJson(input: unknown): JsonRequest {
  let value = input;
  if (typeof input === "string") {
    try {
      value = JSON.parse(input);
    } catch (error) {
      return { kind: "invalid", reason: notJson(error) };
    }
  }
  const fields = new JsonFields();
  const request = readRequest(fields, value);
  if (fields.invalid === undefined) return { kind: "ok", request };
  const { what, path } = fields.invalid;
  return { kind: "invalid", reason: `Cannot read request: ${what}`, path };
}

/**
 * Writes an answer as compact JSON: camelCase names, enums by name and, where
 * this version knows no name, by number, and no field that has its default. A
 * number in the metadata that JSON has no form for becomes its name as text.
 *
 * @throws {TypeError} When the metadata contains itself.
 */
export function responseToJson(response: RateLimitResponse): string {
  const { overallCode, statuses, responseHeadersToAdd } = response;
  const { dynamicMetadata } = response;
  // Fields that are undefined are left out.
  return JSON.stringify({
    overallCode: overallCode === 0 ? undefined : findName(CODE, overallCode),
    statuses: statuses.length === 0 ? undefined : statuses.map(statusToJson),
    responseHeadersToAdd: responseHeadersToAdd.length === 0
      ? undefined
      : responseHeadersToAdd.map(({ key, value }) => ({
        key: key || undefined,
        value: value || undefined,
      })),
    dynamicMetadata,
  }, dynamicMetadata === undefined ? undefined : finiteOrName);
}

function readRequest(fields: JsonFields, value: unknown): RateLimitRequest {
  const parts = fields.object(value, REQUEST_NAMES);
  const hitsAddend = fields.uint("hitsAddend", parts.hitsAddend, UINT32_MAX);
  return {
    domain: fields.text("domain", parts.domain) ?? "",
    descriptors: fields.list(
      "descriptors",
      parts.descriptors,
      (item) => readDescriptor(fields, item),
    ),
    ...(hitsAddend !== undefined && { hitsAddend }),
  };
}

function readDescriptor(
  fields: JsonFields,
  value: unknown,
): RateLimitDescriptor {
  const parts = fields.object(value, DESCRIPTOR_NAMES);
  const limit = parts.limit === undefined
    ? undefined
    : readLimit(fields, parts.limit);
  const hitsAddend = fields.uint("hitsAddend", parts.hitsAddend, MAX_HITS);
  const isNegativeHits = fields.bool("isNegativeHits", parts.isNegativeHits);
  return {
    entries: fields.list(
      "entries",
      parts.entries,
      (item) => readEntry(fields, item),
    ),
    ...(limit !== undefined && { limit }),
    ...(hitsAddend !== undefined && { hitsAddend }),
    ...(isNegativeHits !== undefined && { isNegativeHits }),
  };
}

function readEntry(fields: JsonFields, value: unknown): DescriptorEntry {
  const parts = fields.object(value, ENTRY_NAMES);
  return {
    key: fields.text("key", parts.key) ?? "",
    value: fields.text("value", parts.value) ?? "",
  };
}

function readLimit(fields: JsonFields, value: unknown): RateLimitOverride {
  fields.enter("limit");
  const parts = fields.object(value, LIMIT_NAMES);
  const requestsPerUnit = fields.uint(
    "requestsPerUnit",
    parts.requestsPerUnit,
    UINT32_MAX,
  );
  const unit = fields.enum("unit", parts.unit, UNIT);
  fields.leave();
  return { requestsPerUnit: requestsPerUnit ?? 0, unit: unit ?? 0 };
}

/** Says where V8 stopped parsing; the client's text itself is not repeated. */
function notJson(error: unknown): string {
  const place = /\(line \d+ column \d+\)/.exec(String(error))?.[0];
  const where = place === undefined ? "" : ` ${place}`;
  return `Cannot read request: the text is not JSON${where}`;
}

function statusToJson(status: DescriptorStatus): Record<string, unknown> {
  const { code, currentLimit, limitRemaining } = status;
  const seconds = status.durationUntilResetSeconds;
  return {
    code: code === 0 ? undefined : findName(CODE, code),
    currentLimit: currentLimit && limitToJson(currentLimit),
    limitRemaining: limitRemaining || undefined,
    durationUntilReset: seconds === undefined ? undefined : `${seconds}s`,
  };
}

function limitToJson(limit: CurrentLimit): Record<string, unknown> {
  const { requestsPerUnit, unit, name } = limit;
  return {
    requestsPerUnit: requestsPerUnit || undefined,
    unit: unit === 0 ? undefined : findName(UNIT, unit),
    name: name || undefined,
  };
}

function findName(
  numbers: Readonly<Record<string, number>>,
  number: number,
): string | number {
  for (const name in numbers) if (numbers[name] === number) return name;
  return number;
}

function finiteOrName(_name: string, value: unknown): unknown {
  const isOdd = typeof value === "number" && !Number.isFinite(value);
  return isOdd ? String(value) : value;
}
