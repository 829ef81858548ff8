/**
 * The kinds of problems a route may answer with: its own, and those that follow
 * from what it is.
 *
 * @module
 */

import { PROBLEM_CODES, type ProblemCode } from "./problem_catalog.ts";
import type { AnyRoute } from "./route.ts";

/** All kinds of problems of a route, in the order of the catalogue. */
export function problemsOf(route: AnyRoute): readonly ProblemCode[] {
  const codes = new Set<ProblemCode>([
    ...route.problems,
    "bad_host",
    "invalid",
    "rate_limited",
    "internal",
    "overloaded",
    "store_unavailable",
  ]);
  for (const code of implied(route)) codes.add(code);
  return PROBLEM_CODES.filter((code) => codes.has(code));
}

function* implied(route: AnyRoute): Generator<ProblemCode> {
  if (route.path.includes("/:")) yield "not_found";
  if (route.hosts === "tenant") {
    yield "tenant_not_found";
    yield "tenant_suspended";
  }
  if (route.access.kind !== "public") {
    yield "missing_credentials";
    yield "invalid_credentials";
    yield "token_expired";
    yield "forbidden";
  }
  if (route.body !== undefined) {
    yield "malformed_json";
    yield "request_timeout";
    yield "too_large";
    yield "unsupported_media_type";
  }
  if (route.isIdempotent === true) {
    yield "bad_header";
    yield "idempotency_in_progress";
    yield "idempotency_key_reused";
  }
  if (route.conditions !== undefined) {
    yield "bad_header";
    yield "precondition_failed";
  }
}
