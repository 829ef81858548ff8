/**
 * What a stranger may take of a public server.
 *
 * @module
 */

/** Bounds of each connection. */
export interface PublicLimits {
  /**
   * Time for a TLS handshake, and for the head of a request from its first
   * byte, or from the beginning of the connection.
   *
   * @default 10000
   */
  readonly headerTimeoutMs: number;
  /**
   * Time for a body from the moment the handler asks for it, and for the
   * client to take an answer. How long a handler takes is its own affair.
   *
   * @default 60000
   */
  readonly requestTimeoutMs: number;
  /**
   * Time a connection is kept after an answer for the next request to begin.
   *
   * @default 75000
   */
  readonly idleTimeoutMs: number;
  /**
   * Most bytes of a request's head, the request line included.
   *
   * @default 16384
   */
  readonly maxHeaderBytes: number;
}

/** The bounds where nothing else is said. */
export const DEFAULT_PUBLIC_LIMITS: PublicLimits = {
  headerTimeoutMs: 10_000,
  requestTimeoutMs: 60_000,
  idleTimeoutMs: 75_000,
  maxHeaderBytes: 16_384,
};

/**
 * How long, and how much, is read from a client after the last answer, so that
 * it gets to see that answer: bytes that meet a closed socket are answered
 * with a reset, which overtakes what was sent before (RFC 9112, 9.6).
 */
export const DRAIN_TIMEOUT_MS = 5_000;
/** See {@linkcode DRAIN_TIMEOUT_MS}. */
export const MAX_DRAIN_BYTES = 16_777_216;
