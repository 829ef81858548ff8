/**
 * Problems of the service: nothing is wrong with the request.
 *
 * @module
 */

import type { ProblemKind } from "../problem_kind.ts";

/** What the service can fail for. */
export const SERVICE_PROBLEMS = {
  internal: {
    status: 500,
    title: "The service failed",
    description:
      "It is a fault of the service; its log tells more about this request id.",
    example: { detail: "Cannot answer: the service failed" },
  },
  overloaded: {
    status: 503,
    title: "The service is overloaded",
    description: "More is under way than can be taken; nothing was done.",
    example: {
      detail: "Cannot take more requests: too many are under way",
      extensions: { retry_after: 1 },
    },
  },
  not_ready: {
    status: 503,
    title: "The service is not ready",
    description:
      "Something that the service needs does not answer; `checks` tells what.",
    example: {
      detail: "Cannot serve: idp not ready",
      extensions: { retry_after: 2 },
    },
  },
  stopping: {
    status: 503,
    title: "The service is stopping",
    description:
      "The service stopped before it had an answer; whether the request was carried out is not known. Try again.",
    example: { detail: "Cannot answer: the service is stopping" },
  },
  store_unavailable: {
    status: 503,
    title: "The store does not answer",
    description:
      "The store failed, its disk may be full; whether something was written is not known. Try again.",
    example: {
      detail:
        "Cannot answer: the store failed, so whether something was written is not known",
      extensions: { retry_after: 5 },
    },
  },
  secrets_unavailable: {
    status: 503,
    title: "Secrets are not available",
    description:
      "No master key is configured, or none that is opens the secrets that are needed; all else works.",
    example: {
      detail: "Cannot keep secrets: no master key is configured",
      extensions: { retry_after: 60 },
    },
  },
} as const satisfies Readonly<Record<string, ProblemKind>>;
