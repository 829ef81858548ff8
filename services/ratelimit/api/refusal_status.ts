/**
 * How a refusal is said in each protocol: the one place for it.
 *
 * @module
 */

import {
  GRPC_STATUS,
  GrpcFailure,
  type GrpcStatus,
} from "../../shared/grpc/method.ts";
import { problem } from "../../shared/http/problem.ts";
import type { Refusal, RefusalKind } from "./refusal.ts";

const STATUS: Readonly<
  Record<RefusalKind, { readonly grpc: GrpcStatus; readonly http: number }>
> = {
  malformed: { grpc: GRPC_STATUS.INVALID_ARGUMENT, http: 400 },
  invalid: { grpc: GRPC_STATUS.INVALID_ARGUMENT, http: 400 },
  too_large: { grpc: GRPC_STATUS.RESOURCE_EXHAUSTED, http: 413 },
  no_configuration: { grpc: GRPC_STATUS.UNAVAILABLE, http: 503 },
  store_unavailable: { grpc: GRPC_STATUS.UNAVAILABLE, http: 503 },
};

/** The refusal as the failure of a gRPC call. */
export function refusalFailure(refusal: Refusal): GrpcFailure {
  return new GrpcFailure(STATUS[refusal.why].grpc, refusal.reason);
}

/** The refusal as an HTTP answer. */
export function refusalProblem(refusal: Refusal): Response {
  const status = STATUS[refusal.why].http;
  return problem({ status, detail: refusal.reason });
}
