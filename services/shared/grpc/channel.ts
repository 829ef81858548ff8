/**
 * The interface of a gRPC client: calls methods of another program with
 * messages as bytes. It exposes no type of a library, so that the transport can
 * be replaced.
 *
 * @module
 */

import type { GrpcAnswer } from "./method.ts";

/**
 * Fields that go with a call, by lower-case name, such as `authorization`.
 * Values are visible ASCII; that of a name that ends in `-bin` is any text,
 * whose UTF-8 bytes are sent as base64.
 */
export type GrpcMetadata = Readonly<Record<string, string>>;

/** How a call is made. */
export interface GrpcCallOptions {
  /**
   * Fields sent with the call.
   *
   * @default none
   */
  readonly metadata?: GrpcMetadata | undefined;
  /**
   * Ends the call with `CANCELLED` when it is aborted.
   *
   * @default the call ends by itself
   */
  readonly signal?: AbortSignal | undefined;
}

/** How a call with one answer is made. */
export interface GrpcUnaryOptions extends GrpcCallOptions {
  /** Milliseconds the call may take, connecting included. */
  readonly deadlineMs: number;
}

/** A call in which both sides send as many messages as they like. */
export interface GrpcStream {
  /**
   * Sends a message. Resolves when the transport has taken it, or the stream
   * has ended, after which nothing is sent; never rejects.
   */
  send(message: Uint8Array): Promise<void>;
  /** Tells the server that no message follows. */
  closeSend(): void;
  /**
   * The messages of the server. A server that sends faster than they are taken
   * is held back. A stream that the server ends with `OK` ends the iteration;
   * any other end, a lost connection included, is a failure as the last value.
   * Can be iterated once.
   */
  readonly messages: AsyncIterable<GrpcAnswer>;
  /** Ends the stream; harmless twice. */
  cancel(): void;
}

/**
 * Calls methods of one server. It connects with the first call, and again with
 * the next call after the connection was lost; every error is a failure value.
 */
export interface GrpcChannel {
  /** Calls a method with one request and one answer. */
  unary(
    path: string,
    request: Uint8Array,
    options: GrpcUnaryOptions,
  ): Promise<GrpcAnswer>;
  /** Opens a stream. */
  stream(path: string, options?: GrpcCallOptions): GrpcStream;
  /** Ends running calls with `CANCELLED` and closes the connection. */
  close(): void;
}
