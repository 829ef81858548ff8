/**
 * Problems as values: what a handler answers when it cannot do what was asked.
 *
 * @module
 */

import type { Fault, ParameterFault } from "../../shared/schema/fault.ts";
import {
  DEFINITIONS_POINTER,
  type JsonSchema,
  type JsonValue,
  type Shape,
} from "../../shared/schema/schema.ts";
import {
  parseProblemCode,
  PROBLEM_CODES,
  type ProblemCode,
  problemKind,
} from "./problem_catalog.ts";

/** One thing that is wrong with a request. */
export type RequestFault = Fault | ParameterFault;

/** What a problem says beside its code. */
export interface ProblemOptions {
  /**
   * What went wrong this time, for the person who reads it.
   * @default nothing is said beyond the title
   */
  readonly detail?: string;
  /**
   * Each thing that is wrong, with its place.
   * @default none
   */
  readonly errors?: readonly RequestFault[];
  /**
   * Further members of the body; none of them replaces a standard one.
   * @default none
   */
  readonly extensions?: Readonly<Record<string, JsonValue>>;
  /**
   * Further headers, their names in lower case.
   * @default none
   */
  readonly headers?: Readonly<Record<string, string>>;
  /**
   * When to try again, in milliseconds from now.
   * @default nothing is said
   */
  readonly retryAfterMs?: number;
}

/** An answer that tells what went wrong. */
export interface ProblemAnswer extends ProblemOptions {
  /** What it is. */
  readonly kind: "problem";
  /** The kind of problem. */
  readonly code: ProblemCode;
}

/** A problem of a kind. */
export function problem(
  code: ProblemCode,
  options: ProblemOptions = {},
): ProblemAnswer {
  return { ...options, kind: "problem", code };
}

/**
 * The problem of a request with faults. When all of them are of one kind that
 * has a code of its own, such as `bad_cron`, the problem has that code.
 */
export function invalidRequest(errors: readonly RequestFault[]): ProblemAnswer {
  const [first] = errors;
  const count = errors.length;
  const detail = first !== undefined && count === 1
    ? first.detail
    : `Cannot take the request: ${count} things are wrong with it`;
  return problem(codeOf(errors), { detail, errors });
}

function codeOf(errors: readonly RequestFault[]): ProblemCode {
  const [first] = errors;
  const code = first === undefined ? undefined : parseProblemCode(first.code);
  if (code === undefined || problemKind(code).status !== 422) return "invalid";
  return errors.every((error) => error.code === code) ? code : "invalid";
}

const PROBLEM_FAULT: JsonSchema = {
  type: "object",
  properties: {
    pointer: {
      type: "string",
      description: "The place in the body, a JSON pointer (RFC 6901)",
    },
    parameter: {
      type: "string",
      description: "The parameter of the query",
    },
    code: { type: "string", description: "The kind of fault" },
    detail: { type: "string", description: "What is wrong" },
  },
  required: ["code", "detail"],
  additionalProperties: false,
};

/** The body of a problem. */
export const PROBLEM_SHAPE: Shape = {
  json: {
    type: "object",
    description: "A problem (RFC 9457)",
    properties: {
      type: { type: "string", format: "uri" },
      title: { type: "string" },
      status: { type: "integer", minimum: 400, maximum: 599 },
      detail: { type: "string" },
      instance: { type: "string" },
      code: { type: "string", enum: PROBLEM_CODES },
      request_id: { type: "string" },
      errors: {
        type: "array",
        items: { $ref: `${DEFINITIONS_POINTER}ProblemFault` },
      },
      retry_after: {
        type: "integer",
        minimum: 1,
        description: "Seconds after which to try again",
      },
    },
    required: ["type", "title", "status", "instance", "code", "request_id"],
    // Each kind of problem may have members of its own.
    additionalProperties: true,
  },
  definitions: new Map([["ProblemFault", PROBLEM_FAULT]]),
};
