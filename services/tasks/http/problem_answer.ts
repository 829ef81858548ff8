/**
 * Problems as values: what a handler answers when it cannot do what was asked,
 * and what clients are told when the service fails.
 *
 * @module
 */

import type { Logger } from "../../shared/logger.ts";
import type { Fault, ParameterFault } from "../../shared/schema/fault.ts";
import {
  DEFINITIONS_POINTER,
  type JsonSchema,
  type JsonValue,
  said,
  type Shape,
} from "../../shared/schema/schema.ts";
import { StoreFailedError } from "../../shared/store_failed.ts";
import { SecretsError } from "../engine/tenant_keys.ts";
import { StoreMovedError } from "../store/moved.ts";
import { StoreBusyError } from "../store/store.ts";
import {
  parseProblemCode,
  PROBLEM_CODES,
  type ProblemCode,
  problemKind,
} from "./problem_catalog.ts";

/** One thing that is wrong with a request. */
export type RequestFault = Fault | ParameterFault;

/** What a problem says in addition to its code. */
interface ProblemOptions {
  /**
   * What went wrong this time, for the person who reads it.
   * @default nothing is said beyond the title
   */
  readonly detail?: string | undefined;
  /**
   * Each thing that is wrong, with its place.
   * @default none
   */
  readonly errors?: readonly RequestFault[] | undefined;
  /**
   * Further members of the body; none of them replaces a standard one.
   * @default none
   */
  readonly extensions?: Readonly<Record<string, JsonValue>> | undefined;
  /**
   * Further headers, their names in lower case.
   * @default none
   */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /**
   * How many milliseconds the client should wait before it tries again.
   * @default nothing is said
   */
  readonly retryAfterMs?: number | undefined;
}

/** An answer that tells what went wrong. */
export interface ProblemAnswer extends ProblemOptions {
  /** Tells a problem from other answers. */
  readonly kind: "problem";
  /** The kind of problem. */
  readonly code: ProblemCode;
}

/** Makes a problem. */
export function problem(
  code: ProblemCode,
  options: ProblemOptions = {},
): ProblemAnswer {
  return { ...options, kind: "problem", code };
}

/**
 * The problem of a request with faults. When all faults have a problem code of
 * their own and it is the same one, such as `bad_cron`, the problem has that
 * code.
 */
export function invalidRequest(errors: readonly RequestFault[]): ProblemAnswer {
  const [first] = errors;
  const count = errors.length;
  const detail = first !== undefined && count === 1
    ? first.detail
    : `Cannot accept the request: it has ${count} faults`;
  return problem(pickCode(errors), { detail, errors });
}

function pickCode(errors: readonly RequestFault[]): ProblemCode {
  const [first] = errors;
  const code = first === undefined ? undefined : parseProblemCode(first.code);
  if (code === undefined || problemKind(code).status !== 422) return "invalid";
  return errors.every((error) => error.code === code) ? code : "invalid";
}

const PROBLEM_FAULT: JsonSchema = {
  type: "object",
  description: "One fault of a request, and where it is",
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

/** The schema of a problem's body. */
export const PROBLEM_SHAPE: Shape = {
  json: {
    type: "object",
    description: "A problem (RFC 9457)",
    properties: {
      type: said("The page about this kind of problem", {
        type: "string",
        format: "uri",
      }),
      title: said("The kind of problem, for people"),
      status: said("That of the HTTP answer", {
        type: "integer",
        minimum: 400,
        maximum: 599,
      }),
      detail: said("What is wrong this time and what to do, for people"),
      instance: said("The path that stands for this request"),
      code: said("The kind of problem, for programs", {
        type: "string",
        enum: PROBLEM_CODES,
      }),
      request_id: said("By what the service's log knows the request"),
      errors: {
        type: "array",
        description: "The faults of the request, the first of many",
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
  definitions: () => new Map([["ProblemFault", PROBLEM_FAULT]]),
};

/** How long to wait after the store failed; the disk may have room by then. */
const STORE_RETRY_MS = 5_000;

/** How long to wait for secrets, whose key the operator has to provide. */
const SECRETS_RETRY_MS = 60_000;

/** The problem of a request whose handler threw. The error is logged. */
export function problemOfError(
  error: unknown,
  { requestId, logger }: {
    readonly requestId: string;
    readonly logger: Logger;
  },
): ProblemAnswer {
  if (error instanceof StoreBusyError) {
    return problem("overloaded", {
      detail: "Cannot write: too many writes are waiting",
      retryAfterMs: error.retryAfterMs,
    });
  }
  if (error instanceof SecretsError) {
    logger.error("Cannot answer request: secrets cannot be opened", {
      request: requestId,
      error: error.message,
    });
    return problem("secrets_unavailable", {
      detail: "Cannot use secrets: no master key that is configured opens them",
      retryAfterMs: SECRETS_RETRY_MS,
    });
  }
  if (error instanceof StoreMovedError) {
    logger.error("Cannot answer request: the data has moved", {
      request: requestId,
      error: error.message,
    });
    return problem("store_unavailable", {
      detail: "Cannot answer: the data of the service has moved to another " +
        "store, which another instance serves; nothing was written",
      retryAfterMs: STORE_RETRY_MS,
    });
  }
  if (error instanceof StoreFailedError) {
    // A stack trace says nothing about a full disk, so it is not logged.
    logger.error("Cannot answer request: the store failed", {
      request: requestId,
      error: error.message,
    });
    return problem("store_unavailable", {
      detail: "Cannot answer: the store failed; the request may have taken " +
        "effect",
      retryAfterMs: STORE_RETRY_MS,
    });
  }
  logger.error("Cannot answer request: the handler failed", {
    request: requestId,
    error: error instanceof Error
      ? error.stack ?? error.message
      : String(error),
  });
  return problem("internal");
}
