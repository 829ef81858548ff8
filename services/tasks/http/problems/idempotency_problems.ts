/**
 * Problems of requests that are sent again with an `Idempotency-Key`.
 *
 * @module
 */

import type { ProblemKind } from "../problem_kind.ts";

/** What a request can be refused for because of an earlier one. */
export const IDEMPOTENCY_PROBLEMS = {
  idempotency_in_progress: {
    status: 409,
    title: "The first request with this key is under way",
    description:
      "A request with the same Idempotency-Key has not been answered yet; try again.",
    example: {
      detail: "Cannot answer yet: the first request with this key is under way",
      extensions: { retry_after: 1 },
    },
  },
  idempotency_key_reused: {
    status: 422,
    title: "The idempotency key was used for another body",
    description:
      "The first request with this Idempotency-Key had another body; use a new key.",
    example: {
      detail: "Cannot use Idempotency-Key again: the body is another one",
    },
  },
} as const satisfies Readonly<Record<string, ProblemKind>>;
