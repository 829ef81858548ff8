/**
 * The body a route takes.
 *
 * @module
 */

import {
  exampleOf,
  type JsonValue,
  type ReadOutcome,
  readWhole,
  type Schema,
  type Shape,
} from "../../shared/schema/schema.ts";

/** Bounds of a plan that bodies depend on. */
export interface BodyLimits {
  /** Most bytes of a task's data. */
  readonly payloadBytes: number;
  /** Most tasks of a batch. */
  readonly batchSize: number;
}

/** A type of body that is JSON. */
export type JsonMediaType = "application/json" | "application/merge-patch+json";

/** How a body is taken. */
export interface RouteBodyOptions {
  /**
   * The largest body in bytes, by the plan of the tenant.
   * @default 64 KiB
   */
  readonly maxBytes?: (limits: BodyLimits) => number;
  /**
   * Most values of the body, lists and objects counted too.
   * @default {262144}
   */
  readonly maxValues?: number;
  /**
   * What the client is told to do about a body that is larger.
   * @default nothing
   */
  readonly tooLargeAdvice?: string;
  /**
   * The types that are taken.
   * @default {["application/json"]}
   */
  readonly mediaTypes?: readonly JsonMediaType[];
  /**
   * A good body, for the document.
   * @default the first example of the schema
   */
  readonly example?: JsonValue;
}

/** The body a route takes. */
export interface RouteBody<Body> {
  /** What it looks like. */
  readonly shape: Shape;
  /** Whether it may be left out. */
  readonly isOptional: boolean;
  /** The types that are taken. */
  readonly mediaTypes: readonly JsonMediaType[];
  /** A good body, if one is written down. */
  readonly example: JsonValue | undefined;
  /** Most values of the body. */
  readonly maxValues: number;
  /** What the client is told to do about a larger one; nothing if absent. */
  readonly tooLargeAdvice: string | undefined;
  /** The largest body in bytes. */
  maxBytes(limits: BodyLimits): number;
  /** Reads parsed JSON; `undefined` is no body. */
  read(json: unknown): ReadOutcome<Body>;
}

/** The largest body of a route that says nothing about it, in bytes. */
export const DEFAULT_MAX_BODY_BYTES = 65_536;

/** Enough for a list of 100,000 numbers twice over. */
const DEFAULT_MAX_VALUES = 262_144;

/** A body that has to be there. */
export function requiredBody<Body>(
  schema: Schema<Body>,
  options: RouteBodyOptions = {},
): RouteBody<Body> {
  return {
    ...factsOf(schema, options),
    isOptional: false,
    read: (json) => readWhole(schema, json ?? null),
  };
}

/** A body that may be left out, which is read as `undefined`. */
export function optionalBody<Body>(
  schema: Schema<Body>,
  options: RouteBodyOptions = {},
): RouteBody<Body | undefined> {
  return {
    ...factsOf(schema, options),
    isOptional: true,
    read: (json) =>
      json === undefined
        ? { kind: "ok", value: undefined }
        : readWhole(schema, json),
  };
}

function factsOf(
  shape: Shape,
  options: RouteBodyOptions,
): Omit<RouteBody<never>, "read" | "isOptional"> {
  const {
    maxBytes,
    maxValues = DEFAULT_MAX_VALUES,
    mediaTypes = ["application/json"],
    example,
    tooLargeAdvice,
  } = options;
  return {
    shape,
    mediaTypes,
    example: example ?? exampleOf(shape),
    tooLargeAdvice,
    maxValues,
    maxBytes: maxBytes ?? (() => DEFAULT_MAX_BODY_BYTES),
  };
}
