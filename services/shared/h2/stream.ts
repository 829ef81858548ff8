/**
 * A stream: one request and its answer.
 *
 * @module
 */

import type { MessageReader } from "./message_reader.ts";
import type { RequestHead } from "./request_head.ts";
import type { StatusText } from "./response_headers.ts";
import type { Expiring } from "./timer_wheel.ts";

/** Who answers a request. */
export interface StreamOwner {
  /** The call is over before it has been answered; told once. */
  cancelled(): void;
  /** The message that was sent last has left the stream. */
  drained(): void;
}

/** What a stream asks of its connection. */
export interface StreamHost {
  /** Sends the only message and ends the answer with OK. */
  answer(stream: H2Stream, message: Uint8Array): void;
  /** Sends one of several messages; false when it must wait. */
  send(stream: H2Stream, message: Uint8Array): boolean;
  /** Ends the answer, after what waits. */
  finish(stream: H2Stream, status: StatusText): void;
  /** Nobody works on the request any more. */
  release(stream: H2Stream): void;
  /** The caller's deadline has passed. */
  expired(stream: H2Stream): void;
}

/** Options of {@linkcode H2Stream}. */
export interface H2StreamOptions {
  /** Its number. */
  readonly id: number;
  /** What is asked. */
  readonly head: RequestHead;
  /** What may be sent on it. */
  readonly sendWindow: number;
  /** What may be received on it. */
  readonly receiveWindow: number;
}

/**
 * A stream. Who answers the request uses the methods; the fields are kept by
 * the connection.
 */
export class H2Stream implements Expiring {
  /** Its number. */
  readonly id: number;
  /** What is asked. */
  readonly head: RequestHead;
  /** Who answers, while that may still be stopped. */
  owner: StreamOwner | undefined = undefined;
  /** What may be sent; below 0 after the peer has made windows smaller. */
  sendWindow: number;
  /** What may be received. */
  receiveWindow: number;
  /** Bytes of the body so far. */
  receivedBytes = 0;
  /** The parts of a message that doesn't come whole. */
  reader: MessageReader | undefined = undefined;
  /** The peer sends nothing more. */
  isRemoteClosed = false;
  /** Nothing more is sent nor expected. */
  isClosed = false;
  /** Somebody works on the request. */
  isHeld = false;
  /** The first headers of the answer have been sent. */
  hasHeaders = false;
  /** A message that waits to be sent. */
  pending: Uint8Array | undefined = undefined;
  /** How much of it has been sent, its prefix included. */
  pendingAt = 0;
  /** How the answer ends once nothing waits. */
  ending: StatusText | undefined = undefined;
  /** Kept by the timer wheel. */
  wheelTick: number | undefined = undefined;
  readonly #host: StreamHost;

  /** A stream of the connection `host`. */
  constructor(host: StreamHost, options: H2StreamOptions) {
    this.#host = host;
    this.id = options.id;
    this.head = options.head;
    this.sendWindow = options.sendWindow;
    this.receiveWindow = options.receiveWindow;
  }

  /** Sends the only message and ends the answer with OK. */
  answer(message: Uint8Array): void {
    this.#host.answer(this, message);
  }

  /**
   * Sends one of several messages.
   *
   * @returns Whether it is gone; if not, the owner is told when it is, and
   * nothing else may be sent before.
   */
  send(message: Uint8Array): boolean {
    return this.#host.send(this, message);
  }

  /** Ends the answer with a status, after what waits to be sent. */
  finish(status: StatusText): void {
    this.#host.finish(this, status);
  }

  /**
   * Nobody works on the request any more; called once, after the answer or in
   * its place when the stream is closed. Up to then the request counts as one
   * of those that run at a time, so resets do not make room for more.
   */
  release(): void {
    this.#host.release(this);
  }

  /** The caller's deadline has passed. */
  expire(): void {
    this.#host.expired(this);
  }
}
