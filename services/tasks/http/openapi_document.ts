/**
 * The parts of the OpenAPI document that do not come from the routes.
 *
 * @module
 */

import { MAX_KEY_HEADER_LENGTH } from "./idempotency.ts";
import type {
  OpenApiComponents,
  OpenApiParameter,
  OpenApiReference,
  OpenApiSecurityScheme,
} from "../../shared/openapi/document.ts";
import type { JsonObject, JsonValue } from "../../shared/schema/schema.ts";
import {
  PROBLEM_CODES,
  type ProblemCode,
  problemKind,
} from "./problem_catalog.ts";

/** Request headers, by the name of their component. */
export const HEADER_PARAMETERS = {
  IdempotencyKey: {
    name: "Idempotency-Key",
    in: "header",
    required: false,
    description: "Makes the request take effect once however often it is " +
      "sent; kept for 24 hours",
    schema: { type: "string", maxLength: MAX_KEY_HEADER_LENGTH },
  },
  IfMatch: {
    name: "If-Match",
    in: "header",
    required: false,
    description: "Changes it only if it has one of these entity tags still",
    schema: { type: "string" },
  },
  IfNoneMatch: {
    name: "If-None-Match",
    in: "header",
    required: false,
    description: "Answers 304 if it has one of these entity tags still",
    schema: { type: "string" },
  },
  Prefer: {
    name: "Prefer",
    in: "header",
    required: false,
    description: "With `return=minimal` the answer names what was made " +
      "instead of showing it (RFC 7240)",
    schema: { type: "string" },
  },
} as const satisfies Readonly<Record<string, OpenApiParameter>>;

/** What parameters of paths mean, by the segment before them. */
export const PATH_PARAMETERS: Readonly<Record<string, string>> = {
  "": "The tenant's domain",
  alerts: "The alert's id (`alr_…`)",
  calendars: "What `repeat.calendars` calls it",
  deliveries: "The delivery's id (`dlv_…`)",
  keys: "The key's id (`dk_…`)",
  leases: "The lease's id (`lse_…`)",
  operations: "The operation's id (`opr_…`)",
  problems: "The `code` of a problem",
  secrets: "The name of a value, or the id of a credential (`wk_…`)",
  tasks: "The task's id (`tsk_…`)",
  users: "The user's id (`usr_…`)",
  webhooks: "The webhook's id (`whk_…`)",
  workers: "The worker's id (`wrk_…`) or name",
};

/** The ways to authenticate, by name. */
export const SECURITY_SCHEMES = {
  apiKey: {
    type: "http",
    scheme: "bearer",
    description: "An API key of the tenant: dk_…",
  },
  userToken: {
    type: "http",
    scheme: "bearer",
    bearerFormat: "JWT",
    description: "A user's token of the identity provider",
  },
  workerToken: {
    type: "http",
    scheme: "bearer",
    description: "A credential of the worker as one token: wk_…",
  },
  workerPair: {
    type: "http",
    scheme: "basic",
    description: "A credential of the worker: its key and its secret",
  },
  leaseToken: {
    type: "http",
    scheme: "bearer",
    description: "The token that came with the lease",
  },
  operatorToken: {
    type: "http",
    scheme: "bearer",
    description: "The token of who runs the service",
  },
} as const satisfies Readonly<Record<string, OpenApiSecurityScheme>>;

/**
 * The components other than the schemas of the routes; problems have their
 * pages at `origin`.
 */
export function sharedComponents(
  origin: string,
): Omit<OpenApiComponents, "schemas"> {
  return {
    parameters: HEADER_PARAMETERS,
    examples: Object.fromEntries(PROBLEM_CODES.map((code) => [code, {
      summary: problemKind(code).title,
      description: problemKind(code).description,
      value: problemExample(code, origin),
    }])),
    securitySchemes: SECURITY_SCHEMES,
  };
}

/** The reference to the example of a kind of problem. */
export function problemExampleReference(code: ProblemCode): OpenApiReference {
  return { $ref: `#/components/examples/${code}` };
}

/**
 * A problem as an answer may have it, which has its page at `origin`, such as
 * `https://tasks.example.com`.
 */
export function problemExample(code: ProblemCode, origin: string): JsonValue {
  const { status, title, example } = problemKind(code);
  const requestId = "req_0b9f7a52c1de4f0f8f4be1a7d6f0a3c2";
  const standard: JsonObject = {
    type: `${origin}/problems/${code}`,
    title,
    status,
    detail: example.detail,
    instance: `/requests/${requestId}`,
    code,
    request_id: requestId,
  };
  return { ...example.extensions, ...standard };
}
