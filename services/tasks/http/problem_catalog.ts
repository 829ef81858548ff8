/**
 * All kinds of problems the API answers with. Each stands with those of its
 * subject, in the first of these files that fits:
 *
 * - `problems/service_problems.ts`: nothing is wrong with the request
 * - `problems/idempotency_problems.ts`: it is sent again with a key
 * - `problems/http_problems.ts`: it is no good whatever it asks for
 * - `problems/caller_problems.ts`: whose it is, and what and how much it may
 * - `problems/value_problems.ts`: a value in its body or query
 * - `problems/state_problems.ts`: what it is about is missing, in the way, or
 *   in another state or version
 *
 * @module
 */

import type { ProblemKind } from "./problem_kind.ts";
import { CALLER_PROBLEMS } from "./problems/caller_problems.ts";
import { HTTP_PROBLEMS } from "./problems/http_problems.ts";
import { IDEMPOTENCY_PROBLEMS } from "./problems/idempotency_problems.ts";
import { SERVICE_PROBLEMS } from "./problems/service_problems.ts";
import { STATE_PROBLEMS } from "./problems/state_problems.ts";
import { VALUE_PROBLEMS } from "./problems/value_problems.ts";

/** The code of a kind of problem. */
export type ProblemCode =
  | keyof typeof HTTP_PROBLEMS
  | keyof typeof STATE_PROBLEMS
  | keyof typeof CALLER_PROBLEMS
  | keyof typeof VALUE_PROBLEMS
  | keyof typeof IDEMPOTENCY_PROBLEMS
  | keyof typeof SERVICE_PROBLEMS;

/** Every kind of problem by its code; within a status in this order. */
const PROBLEM_KINDS: Readonly<Record<ProblemCode, ProblemKind>> = {
  ...HTTP_PROBLEMS,
  ...STATE_PROBLEMS,
  ...CALLER_PROBLEMS,
  ...VALUE_PROBLEMS,
  ...IDEMPOTENCY_PROBLEMS,
  ...SERVICE_PROBLEMS,
};

/** All codes, in the order of their status codes. */
export const PROBLEM_CODES: readonly ProblemCode[] =
  (Object.keys(PROBLEM_KINDS) as ProblemCode[]).toSorted((one, other) =>
    problemKind(one).status - problemKind(other).status
  );

/** Reads a code; `undefined` when there is none of that name. */
export function parseProblemCode(text: string): ProblemCode | undefined {
  return PROBLEM_CODES.find((code) => code === text);
}

/** What is known of a kind of problem. */
export function problemKind(code: ProblemCode): ProblemKind {
  return PROBLEM_KINDS[code];
}
