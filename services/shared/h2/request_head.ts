/**
 * What the headers of a request ask for.
 *
 * @module
 */

/** Whether a request can be answered by a method, and why not. */
export const HEAD_STATE = {
  /** It can. */
  OK: 0,
  /** It breaks the rules of HTTP/2 (RFC 9113, section 8.1.1). */
  MALFORMED: 1,
  /** Its headers are more than is taken. */
  TOO_LARGE: 2,
  /** Its HTTP method is not POST. */
  NOT_POST: 3,
  /** Its content type is not gRPC. */
  NOT_GRPC: 4,
  /** Its `grpc-timeout` cannot be read. */
  BAD_TIMEOUT: 5,
} as const;

/** One of {@linkcode HEAD_STATE}. */
export type HeadState = typeof HEAD_STATE[keyof typeof HEAD_STATE];

/** The headers of a request, as far as they matter. Never changed. */
export interface RequestHead {
  /** Whether it can be answered. */
  readonly state: HeadState;
  /** Number of the path among the known ones; -1 when it is none of them. */
  readonly path: number;
  /** How long the caller waits; -1 when it doesn't say. */
  readonly timeoutMs: number;
  /** How long its body is to be; -1 when it doesn't say. */
  readonly contentLength: number;
  /** Whether messages may be compressed, which is not supported. */
  readonly isEncoded: boolean;
}
