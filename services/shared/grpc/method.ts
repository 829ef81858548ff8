/**
 * The interface of gRPC methods: functions of messages as bytes. It exposes no
 * type of a library, so that the server can be replaced.
 *
 * @module
 */

/** Status codes of gRPC, by name (grpc/doc/statuscodes.md). */
export const GRPC_STATUS = {
  OK: 0,
  CANCELLED: 1,
  UNKNOWN: 2,
  INVALID_ARGUMENT: 3,
  DEADLINE_EXCEEDED: 4,
  NOT_FOUND: 5,
  ALREADY_EXISTS: 6,
  PERMISSION_DENIED: 7,
  RESOURCE_EXHAUSTED: 8,
  FAILED_PRECONDITION: 9,
  ABORTED: 10,
  OUT_OF_RANGE: 11,
  UNIMPLEMENTED: 12,
  INTERNAL: 13,
  UNAVAILABLE: 14,
  DATA_LOSS: 15,
  UNAUTHENTICATED: 16,
} as const;

/** Number of a gRPC status. */
export type GrpcStatus = typeof GRPC_STATUS[keyof typeof GRPC_STATUS];

/** A call that did not succeed: a value, not an exception. */
export class GrpcFailure {
  /** The status the caller sees; never `OK`. */
  readonly code: GrpcStatus;
  /** The text the caller sees. */
  readonly message: string;

  /** A failure with its code and text. */
  constructor(code: GrpcStatus, message: string) {
    this.code = code;
    this.message = message;
  }
}

/** What a method gets to know of the call it answers. */
export interface GrpcCall {
  /** Aborted when the caller is gone or its deadline has passed. */
  readonly signal: AbortSignal;
  /**
   * Those fields of the call that the server keeps, by lower-case name.
   *
   * @default none came
   */
  readonly metadata?: Readonly<Record<string, string>> | undefined;
}

/** What a unary method gives back. */
export type GrpcAnswer = Uint8Array | GrpcFailure;

/** A unary method, which answers synchronously when it can. */
export type UnaryMethod = (
  request: Uint8Array,
  call: GrpcCall,
) => GrpcAnswer | Promise<GrpcAnswer>;

/** One request, a stream of answers; a failure ends it. */
export type ServerStreamMethod = (
  request: Uint8Array,
  call: GrpcCall,
) => AsyncIterable<GrpcAnswer>;

/**
 * Any number of requests and of answers, in any order; a failure ends it. The
 * requests end when the caller has sent its last, is gone, or the server stops;
 * they are to be iterated once, and the caller is held back while none is
 * taken.
 */
export type BidiStreamMethod = (
  requests: AsyncIterable<Uint8Array>,
  call: GrpcCall,
) => AsyncIterable<GrpcAnswer>;

/** Sees the calls of a unary method; must not throw. */
export interface CallObserver {
  /** A call begins; returns what `ended` gets for it. */
  begun(): number;
  /** The method has answered, or failed. */
  ended(begun: number): void;
}

/** A unary method, and who sees its calls. */
export interface ObservedMethod {
  /** Answers a call. */
  readonly handle: UnaryMethod;
  /**
   * Sees each call.
   *
   * @default calls are not seen
   */
  readonly observer?: CallObserver | undefined;
}

/** A method and how it is called. */
export type GrpcMethod =
  | ({ readonly kind: "unary" } & ObservedMethod)
  | { readonly kind: "server_stream"; readonly handle: ServerStreamMethod }
  | { readonly kind: "bidi_stream"; readonly handle: BidiStreamMethod };

/**
 * All methods of a server by full path, such as `/grpc.health.v1.Health/Check`.
 */
export type GrpcMethods = Readonly<Record<string, GrpcMethod>>;

/** Where a gRPC server listens. */
export type GrpcAddress =
  | { readonly kind: "tcp"; readonly host: string; readonly port: number }
  | {
    readonly kind: "unix";
    /** The file of the socket. */
    readonly path: string;
    /**
     * Its permissions: connecting needs that of writing.
     *
     * @default what the process's mask leaves
     */
    readonly mode?: number | undefined;
  };
