/**
 * Routes: one table from which requests are matched, checked and answered, and
 * the API's document is made.
 *
 * @module
 */

import type { ParameterFault } from "../../shared/schema/fault.ts";
import { queryOf, type QuerySchema } from "../../shared/schema/query.ts";
import {
  exampleOf,
  type JsonValue,
  type ReadOutcome,
  readWhole,
  type Schema,
  type Shape,
} from "../../shared/schema/schema.ts";
import type { Answer } from "./answer.ts";
import type { Access } from "./admission.ts";
import type { Call, CallContext } from "./call.ts";
import type { HostKind } from "./locate.ts";
import { invalidRequest, type RequestFault } from "./problem_answer.ts";
import type { ProblemCode } from "./problem_catalog.ts";

/** Bounds of a plan that bodies depend on. */
export interface BodyLimits {
  /** Most bytes of a task's data. */
  readonly payloadBytes: number;
  /** Most tasks of a batch. */
  readonly batchSize: number;
}

/** A type of body that is JSON. */
type JsonMediaType = "application/json" | "application/merge-patch+json";

/** How a body is taken. */
interface RouteBodyOptions {
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
   * The media types it accepts.
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
  /** The media types it accepts. */
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

/** A body that may be left out, which is read as an empty object. */
export function optionalBody<Body>(
  schema: Schema<Body>,
  options: RouteBodyOptions = {},
): RouteBody<Body> {
  return {
    ...factsOf(schema, options),
    isOptional: true,
    read: (json) => readWhole(schema, json === undefined ? {} : json),
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

/** A method a route is for; GET answers HEAD as well. */
type RouteMethod = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";

/** What an answer of a status looks like. */
export interface AnswerShape {
  /** What the answer means. */
  readonly description: string;
  /**
   * The JSON body.
   * @default no body, or none that has a schema
   */
  readonly shape?: Shape;
  /**
   * A whole good body, for the document.
   * @default the first example of the shape
   */
  readonly example?: JsonValue;
  /**
   * The type of the body.
   * @default "application/json" where there is a shape
   */
  readonly contentType?: string;
  /**
   * The type of the same for people, which Accept can ask for.
   * @default none
   */
  readonly pageType?: string;
  /**
   * Headers worth knowing, with what they tell.
   * @default none
   */
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

/** What a route is, apart from its handler. */
export interface RouteFacts {
  /** The method. */
  readonly method: RouteMethod;
  /** The path below the host's base path; a segment `:name` matches any one. */
  readonly path: string;
  /** The hosts that offer it. */
  readonly hosts: HostKind | "any";
  /**
   * Whether the path stands at the root of the host instead of below the base
   * path of the API.
   * @default {false}
   */
  readonly isOutsideBase?: boolean;
  /** Its name, for generated clients; unique. */
  readonly operationId: string;
  /** What it does, in a line. */
  readonly summary: string;
  /**
   * What else is worth knowing, in CommonMark.
   * @default nothing
   */
  readonly description?: string | undefined;
  /** The groups it is shown in. */
  readonly tags: readonly string[];
  /** Who may call it. */
  readonly access: Access;
  /**
   * What the path's parameters look like, by name.
   * @default any text
   */
  readonly params?: Readonly<Record<string, Shape>>;
  /** The good answers, by status. */
  readonly answers: Readonly<Record<number, AnswerShape>>;
  /**
   * Whether it takes an Idempotency-Key.
   * @default {false}
   */
  readonly isIdempotent?: boolean;
  /**
   * The preconditions it heeds: If-None-Match of a read, If-Match of a change.
   * @default none
   */
  readonly conditions?: "read" | "change";
  /**
   * Whether it heeds `Prefer: return=minimal`.
   * @default {false}
   */
  readonly heedsPrefer?: boolean;
  /**
   * Whether the document leaves it out, as pages for people are.
   * @default {false}
   */
  readonly isUndocumented?: boolean;
  /** Kinds of problems of its own, beside those that all such routes have. */
  readonly problems: readonly ProblemCode[];
}

/** A route with its handler. */
export interface Route<Query, Body> extends RouteFacts {
  /**
   * The query's schema.
   * @default no parameter is taken
   */
  readonly query?: QuerySchema<Query>;
  /**
   * The body.
   * @default none is read
   */
  readonly body?: RouteBody<Body>;
  /** Answers a request. */
  readonly handle: (call: Call<Query, Body>) => Promise<Answer> | Answer;
}

/** A route of whatever query and body. */
export interface AnyRoute extends RouteFacts {
  /** The query's parameters. */
  readonly query: Pick<QuerySchema<unknown>, "parameters" | "definitions">;
  /** Facts about the body; absent when none is read. */
  readonly body: Omit<RouteBody<unknown>, "read"> | undefined;
  /**
   * Reads query and body by the route's schemas, and lets the handler answer
   * when both are valid: `context` becomes the call that it gets. `json` is the
   * parsed body, `undefined` when there is none.
   */
  answer(context: CallContext, json: unknown): Promise<Answer> | Answer;
}

const NO_QUERY: QuerySchema<object> = queryOf({});

/**
 * Makes a route for the table. Its query and body types end here, where they
 * are read and handed over.
 */
export function defineRoute<Query, Body>(
  route: Route<Query, Body>,
): AnyRoute {
  const { query, body, handle, ...facts } = route;

  function answer(
    context: CallContext,
    json: unknown,
  ): Promise<Answer> | Answer {
    const queryFaults: ParameterFault[] = [];
    const readQuery = (query ?? NO_QUERY).read(context.rawQuery, queryFaults);
    const readBody = body?.read(json) ?? { kind: "ok", value: undefined };
    if (readQuery === undefined || readBody.kind === "invalid") {
      const faults: readonly RequestFault[] = readBody.kind === "invalid"
        ? [...queryFaults, ...readBody.faults]
        : queryFaults;
      return invalidRequest(faults);
    }
    // Without schemas both types are unknown, and so is nothing at all.
    return handle(Object.assign(context, {
      query: readQuery as Query,
      body: readBody.value as Body,
    }));
  }

  return { ...facts, query: query ?? NO_QUERY, body, answer };
}

/**
 * A number as people read it: `1,048,576`. The runtime's own formatter takes 20 ms to
 * be there, which each start would pay for its descriptions.
 */
export function shownNumber(number: number): string {
  return String(number).replaceAll(/\B(?=(?:\d{3})+$)/g, ",");
}
