/**
 * `envoy.service.ratelimit.v3.RateLimitResponse` as values.
 *
 * @module
 */

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
  /** Its text. */
  readonly value: string;
}

/** A JSON value, the shape of `google.protobuf.Struct` and what it holds. */
export type JsonValue =
  | null
  | boolean
  | number
  | string
  | readonly JsonValue[]
  | JsonObject;

/** A JSON object, `google.protobuf.Struct`. */
export interface JsonObject {
  /** Value by name. */
  readonly [name: string]: JsonValue;
}

/** The answer to one request. */
export interface RateLimitResponse {
  /** The decision on the whole request. */
  readonly overallCode: Code;
  /** One status for each descriptor of the request, in its order. */
  readonly statuses: readonly DescriptorStatus[];
  /** Headers for the answer to the client; empty unless enabled. */
  readonly responseHeadersToAdd: readonly HeaderValue[];
  /** What the proxy may log or match on; absent unless enabled. */
  readonly dynamicMetadata?: JsonObject;
}
