/**
 * Defines routes. Requests are matched, checked and answered by one table of
 * routes, and the OpenAPI document is made from it.
 *
 * @module
 */

import type { ParameterFault } from "../../shared/schema/fault.ts";
import { type QuerySchema, querySchema } from "../../shared/schema/query.ts";
import {
  findExample,
  type JsonValue,
  type ReadOutcome,
  readWhole,
  type Schema,
  type Shape,
  shape,
} from "../../shared/schema/schema.ts";
import type { Answer } from "./answer.ts";
import type { Access } from "./admission.ts";
import type { Call, CallContext } from "./call.ts";
import { FORM_MEDIA_TYPE } from "./json_body.ts";
import type { Routable } from "./locate.ts";
import { invalidRequest, type RequestFault } from "./problem_answer.ts";
import type { ProblemCode } from "./problem_catalog.ts";

/** The limits of a plan that the size of bodies depends on. */
export interface BodyLimits {
  /** Most bytes of a task's data. */
  readonly payloadBytes: number;
  /** Most tasks of a batch. */
  readonly batchSize: number;
}

/** A media type of a JSON body. */
type JsonMediaType = "application/json" | "application/merge-patch+json";

/** A media type of a body. */
type BodyMediaType = JsonMediaType | typeof FORM_MEDIA_TYPE;

/** Options of {@linkcode requiredBody} and {@linkcode optionalBody}. */
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
   * Advice for a client whose body is too large.
   * @default no advice
   */
  readonly tooLargeAdvice?: string;
  /**
   * The media types that the route accepts.
   * @default {["application/json"]}
   */
  readonly mediaTypes?: readonly JsonMediaType[];
  /**
   * A valid body, for the document.
   * @default the first example of the schema
   */
  readonly example?: JsonValue;
}

/** The body that a route accepts. */
export interface RouteBody<Body> {
  /** The schema of the body. */
  readonly shape: Shape;
  /** Whether the body may be left out. */
  readonly isOptional: boolean;
  /** The media types that the route accepts. */
  readonly mediaTypes: readonly BodyMediaType[];
  /** A valid body for the document, if the route gives one. */
  readonly example: JsonValue | undefined;
  /** Most values in the body, lists and objects included. */
  readonly maxValues: number;
  /** Advice for a client whose body is too large; absent for no advice. */
  readonly tooLargeAdvice: string | undefined;
  /** The largest body in bytes. */
  maxBytes(limits: BodyLimits): number;
  /** Reads parsed JSON; `undefined` stands for no body. */
  read(json: unknown): ReadOutcome<Body>;
}

/** The largest body in bytes, for routes that do not say otherwise. */
export const DEFAULT_MAX_BODY_BYTES = 65_536;

/** Enough for a list of 100,000 numbers twice over. */
const DEFAULT_MAX_VALUES = 262_144;

/** A body that must be sent. */
export function requiredBody<Body>(
  schema: Schema<Body>,
  options: RouteBodyOptions = {},
): RouteBody<Body> {
  return {
    ...toBodyFacts(schema, options),
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
    ...toBodyFacts(schema, options),
    isOptional: true,
    read: (json) => readWhole(schema, json === undefined ? {} : json),
  };
}

/** A form that a browser sends; its fields are read by the handler. */
export const FORM_BODY: RouteBody<URLSearchParams> = {
  ...toBodyFacts(shape({ type: "object" }), {}),
  mediaTypes: [FORM_MEDIA_TYPE],
  isOptional: false,
  read: (text) => ({ kind: "ok", value: new URLSearchParams(String(text)) }),
};

/** A query whose parameters are read by the handler. */
export const ANY_QUERY: QuerySchema<URLSearchParams> = {
  parameters: [],
  definitions: () => new Map(),
  read: (raw) => new URLSearchParams(raw),
};

function toBodyFacts(
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
    example: example ?? findExample(shape),
    tooLargeAdvice,
    maxValues,
    maxBytes: maxBytes ?? (() => DEFAULT_MAX_BODY_BYTES),
  };
}

/** The method of a route. GET routes answer HEAD as well. */
type RouteMethod = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";

/** The answer of a route for one status. */
export interface AnswerShape {
  /** What the answer means. */
  readonly description: string;
  /**
   * The JSON body.
   * @default no body, or none that has a schema
   */
  readonly shape?: Shape;
  /**
   * A whole valid body, for the document.
   * @default the first example of the shape
   */
  readonly example?: JsonValue;
  /**
   * The media type of the body.
   * @default "application/json" where there is a shape
   */
  readonly contentType?: string;
  /**
   * The media type of the same answer as a page for people, which clients ask
   * for by Accept.
   * @default none
   */
  readonly pageType?: string;
  /**
   * Headers worth documenting, with their meaning.
   * @default none
   */
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

/** The facts of a route, without its handler. */
export interface RouteFacts extends Routable {
  /** The method. */
  readonly method: RouteMethod;
  /** The unique name of the operation, for generated clients. */
  readonly operationId: string;
  /** What the route does, in one line. */
  readonly summary: string;
  /**
   * Further description, in CommonMark.
   * @default nothing
   */
  readonly description?: string | undefined;
  /** The groups under which the document shows the route. */
  readonly tags: readonly string[];
  /** What the route requires of its callers. */
  readonly access: Access;
  /**
   * The schemas of the path's parameters, by name.
   * @default any text
   */
  readonly params?: Readonly<Record<string, Shape>>;
  /** The successful answers, by status. */
  readonly answers: Readonly<Record<number, AnswerShape>>;
  /**
   * Whether the route accepts an Idempotency-Key.
   * @default {false}
   */
  readonly isIdempotent?: boolean;
  /**
   * Whether the handler has an effect outside the store, such as a call, so that
   * its answer cannot be written in one transaction with the effect. A request
   * with an Idempotency-Key then holds the place of its answer first.
   * @default {false}
   */
  readonly hasOutsideEffect?: boolean;
  /**
   * The preconditions that the route heeds: If-None-Match of a read, or
   * If-Match of a change.
   * @default none
   */
  readonly conditions?: "read" | "change";
  /**
   * Whether the route heeds `Prefer: return=minimal`.
   * @default {false}
   */
  readonly heedsPrefer?: boolean;
  /**
   * Whether the document leaves the route out, such as a page for people.
   * @default {false}
   */
  readonly isUndocumented?: boolean;
  /**
   * Kinds of problems of this route, beside those that every such route has.
   */
  readonly problems: readonly ProblemCode[];
}

/** A route with its handler. */
export interface Route<Query, Body> extends RouteFacts {
  /**
   * The query's schema.
   * @default the route takes no parameters
   */
  readonly query?: QuerySchema<Query>;
  /**
   * The body.
   * @default no body is read
   */
  readonly body?: RouteBody<Body>;
  /** Answers a request. */
  readonly handle: (call: Call<Query, Body>) => Promise<Answer> | Answer;
}

/** A route whose query and body types are not known. */
export interface AnyRoute extends RouteFacts {
  /** The query's parameters. */
  readonly query: Pick<QuerySchema<unknown>, "parameters" | "definitions">;
  /** Facts about the body; absent when the route reads none. */
  readonly body: Omit<RouteBody<unknown>, "read"> | undefined;
  /**
   * Reads query and body by the route's schemas. When both are valid, `context`
   * becomes the call and the handler answers; otherwise the answer is a
   * problem. `json` is the parsed body, `undefined` without one.
   */
  answer(context: CallContext, json: unknown): Promise<Answer> | Answer;
}

const NO_QUERY: QuerySchema<object> = querySchema({});

/**
 * Makes a route for the table. The types of its query and body are not visible
 * outside, as the route itself reads both and passes them to its handler.
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
    const readQuery = query === undefined && context.rawQuery === ""
      ? {}
      : (query ?? NO_QUERY).read(context.rawQuery, queryFaults);
    const readBody = body?.read(json) ?? { kind: "ok", value: undefined };
    if (readQuery === undefined || readBody.kind === "invalid") {
      const faults: readonly RequestFault[] = readBody.kind === "invalid"
        ? [...queryFaults, ...readBody.faults]
        : queryFaults;
      return invalidRequest(faults);
    }
    // A route without schemas has the type `unknown` for both, which undefined
    // fits.
    return handle(Object.assign(context, {
      query: readQuery as Query,
      body: readBody.value as Body,
    }));
  }

  return { ...facts, query: query ?? NO_QUERY, body, answer };
}

/**
 * A number as people read it: `1,048,576`. The runtime's own formatter takes 20
 * ms to load, and every start would pay that for the descriptions of routes.
 */
export function shownNumber(number: number): string {
  return String(number).replaceAll(/\B(?=(?:\d{3})+$)/g, ",");
}
