/**
 * The standard health service over a {@linkcode HealthBoard}, by
 * https://github.com/grpc/grpc/blob/master/doc/health-checking.md.
 *
 * @module
 */

import {
  decodeHealthCheckRequest,
  decodeHealthListRequest,
  encodeHealthCheckResponse,
  encodeHealthListResponse,
} from "../../../proto/health.ts";
import type { HealthBoard } from "./health_board.ts";
import { GRPC_STATUS, GrpcFailure } from "./method.ts";
import type { GrpcAnswer, GrpcCall, GrpcMethods } from "./method.ts";

/**
 * Largest request to Watch, in bytes: it stays in memory as long as the watch
 * does, so strangers may not choose its size.
 */
export const MAX_WATCH_REQUEST_BYTES = 4_096;

/** Check, Watch and List of `grpc.health.v1.Health`, answered by `board`. */
export function healthMethods(board: HealthBoard): GrpcMethods {
  return {
    "/grpc.health.v1.Health/Check": {
      kind: "unary",
      handle: (request) => check(board, request),
    },
    "/grpc.health.v1.Health/Watch": {
      kind: "server_stream",
      handle: (request, call) => watch(board, { request, call }),
    },
    "/grpc.health.v1.Health/List": {
      kind: "unary",
      handle: (request) => list(board, request),
    },
  };
}

function check(board: HealthBoard, bytes: Uint8Array): GrpcAnswer {
  const request = decodeHealthCheckRequest(bytes);
  if ("kind" in request) return invalid(request.reason);
  const status = board.get(request.service);
  if (status === undefined) {
    return new GrpcFailure(GRPC_STATUS.NOT_FOUND, "unknown service");
  }
  return encodeHealthCheckResponse({ status });
}

interface WatchOptions {
  readonly request: Uint8Array;
  readonly call: GrpcCall;
}

async function* watch(
  board: HealthBoard,
  options: WatchOptions,
): AsyncGenerator<GrpcAnswer> {
  if (options.request.length > MAX_WATCH_REQUEST_BYTES) {
    yield invalid(
      `Cannot watch: request has ${options.request.length} bytes, ` +
        `more than ${MAX_WATCH_REQUEST_BYTES}`,
    );
    return;
  }
  const request = decodeHealthCheckRequest(options.request);
  if ("kind" in request) {
    yield invalid(request.reason);
    return;
  }
  const statuses = board.watch(request.service, options.call.signal);
  if (statuses === undefined) {
    yield new GrpcFailure(
      GRPC_STATUS.RESOURCE_EXHAUSTED,
      `Cannot watch: ${board.watcherCount} watches are open already`,
    );
    return;
  }
  for await (const status of statuses) {
    yield encodeHealthCheckResponse({ status });
  }
}

function list(board: HealthBoard, bytes: Uint8Array): GrpcAnswer {
  const request = decodeHealthListRequest(bytes);
  if ("kind" in request) return invalid(request.reason);
  return encodeHealthListResponse({ statuses: board.list() });
}

function invalid(reason: string): GrpcFailure {
  return new GrpcFailure(GRPC_STATUS.INVALID_ARGUMENT, reason);
}
