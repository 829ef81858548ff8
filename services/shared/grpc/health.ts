/**
 * Health checks: a board with the status of each service, and the gRPC methods
 * of `grpc.health.v1.Health` that read it.
 *
 * @module
 */

import {
  decodeHealthCheckRequest,
  decodeHealthListRequest,
  encodeHealthCheckResponse,
  encodeHealthListResponse,
  SERVING_STATUS,
  type ServingStatus,
} from "../../../proto/health.ts";
import {
  GRPC_STATUS,
  type GrpcAnswer,
  type GrpcCall,
  GrpcFailure,
  type GrpcMethods,
} from "./method.ts";

/**
 * What a service can be set to; `SERVICE_UNKNOWN` is only reported, never set.
 */
type SettableStatus = Exclude<
  ServingStatus,
  typeof SERVING_STATUS.SERVICE_UNKNOWN
>;

/** What the server as a whole is called (grpc/doc/health-checking.md). */
const WHOLE = "";

/**
 * The statuses of services by name. The empty name stands for the server as a
 * whole: it is `SERVING` when all others are.
 */
export class HealthBoard {
  readonly #statuses = new Map<string, SettableStatus>([
    [WHOLE, SERVING_STATUS.SERVING],
  ]);
  readonly #watchers = new Map<string, Set<Watcher>>();
  readonly #maxWatchers: number;
  #watcherCount = 0;

  /** A board with the empty name only; limits the watchers open at a time. */
  constructor(
    { maxWatchers = 10_000 }: { readonly maxWatchers?: number } = {},
  ) {
    this.#maxWatchers = maxWatchers;
  }

  /** How many are watching now. */
  get watcherCount(): number {
    return this.#watcherCount;
  }

  /**
   * Sets the status of `service`, and that of the whole with it, and notifies
   * their watchers.
   *
   * @throws {RangeError} For the empty name, which follows the others.
   */
  set(service: string, status: SettableStatus): void {
    if (service === WHOLE) {
      throw new RangeError(
        'Cannot set the health of "": the empty name follows the others',
      );
    }
    this.#change(service, status);
    const isWhole = [...this.#statuses].every(([name, one]) =>
      name === WHOLE || one === SERVING_STATUS.SERVING
    );
    this.#change(
      WHOLE,
      isWhole ? SERVING_STATUS.SERVING : SERVING_STATUS.NOT_SERVING,
    );
  }

  /** The status of `service`, or undefined when the name is not known. */
  get(service: string): SettableStatus | undefined {
    return this.#statuses.get(service);
  }

  /** All names and their statuses, the empty name included. */
  list(): ReadonlyMap<string, SettableStatus> {
    return new Map(this.#statuses);
  }

  /**
   * The status of `service` now and each time it has changed, until `signal`
   * is aborted; a change made before that is still reported. An unknown name is
   * `SERVICE_UNKNOWN` until it is set. A slow reader gets the newest status,
   * not each one between. The watch counts from this call on until `signal` is
   * aborted or its iteration ends.
   *
   * @returns Undefined when as many are watching as may.
   */
  watch(
    service: string,
    signal: AbortSignal,
  ): AsyncIterable<ServingStatus> | undefined {
    if (this.#watcherCount >= this.#maxWatchers) return undefined;
    const watcher = new Watcher(
      this.get(service) ?? SERVING_STATUS.SERVICE_UNKNOWN,
    );
    const leave = (): void => {
      signal.removeEventListener("abort", leave);
      watcher.end();
      this.#remove(service, watcher);
    };
    this.#add(service, watcher);
    signal.addEventListener("abort", leave);
    if (signal.aborted) leave();
    return watcher.statuses(leave);
  }

  #change(service: string, status: SettableStatus): void {
    this.#statuses.set(service, status);
    for (const watcher of this.#watchers.get(service) ?? []) {
      watcher.tell(status);
    }
  }

  #add(service: string, watcher: Watcher): void {
    this.#watcherCount++;
    const watchers = this.#watchers.get(service);
    if (watchers === undefined) this.#watchers.set(service, new Set([watcher]));
    else watchers.add(watcher);
  }

  #remove(service: string, watcher: Watcher): void {
    const watchers = this.#watchers.get(service);
    if (watchers === undefined || !watchers.delete(watcher)) return;
    this.#watcherCount--;
    if (watchers.size === 0) this.#watchers.delete(service);
  }
}

/** A watcher: keeps the newest status that is not reported yet. */
class Watcher {
  #newest: ServingStatus;
  #told: ServingStatus | undefined;
  #ended = false;
  #wake: (() => void) | undefined;

  constructor(status: ServingStatus) {
    this.#newest = status;
  }

  tell(status: ServingStatus): void {
    this.#newest = status;
    this.#wake?.();
  }

  end(): void {
    this.#ended = true;
    this.#wake?.();
  }

  async *statuses(leave: () => void): AsyncGenerator<ServingStatus> {
    try {
      while (true) {
        if (this.#newest !== this.#told) {
          this.#told = this.#newest;
          yield this.#told;
        } else if (this.#ended) {
          return;
        } else {
          await new Promise<void>((resolve) => this.#wake = resolve);
        }
      }
    } finally {
      leave();
    }
  }
}

/**
 * Largest request to Watch, in bytes: it stays in memory as long as the watch
 * does, so clients may not choose its size.
 */
const MAX_WATCH_REQUEST_BYTES = 4_096;

/** Check, Watch and List of `grpc.health.v1.Health`, answered by `board`. */
export function healthMethods(board: HealthBoard): GrpcMethods {
  return {
    "/grpc.health.v1.Health/Check": {
      kind: "unary",
      handle: (request) => check(board, request),
    },
    "/grpc.health.v1.Health/Watch": {
      kind: "server_stream",
      handle: (request, call) => watch(board, request, call),
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

async function* watch(
  board: HealthBoard,
  bytes: Uint8Array,
  { signal }: GrpcCall,
): AsyncGenerator<GrpcAnswer> {
  if (bytes.length > MAX_WATCH_REQUEST_BYTES) {
    yield invalid(
      `Cannot watch: request has ${bytes.length} bytes, ` +
        `more than ${MAX_WATCH_REQUEST_BYTES}`,
    );
    return;
  }
  const request = decodeHealthCheckRequest(bytes);
  if ("kind" in request) {
    yield invalid(request.reason);
    return;
  }
  const statuses = board.watch(request.service, signal);
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
