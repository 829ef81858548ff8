/**
 * A stream of a server, that is one request and its answer; the table of open
 * streams; and the gRPC statuses with which the server refuses requests.
 *
 * @module
 */

import { BoundedMap } from "../bounded_map.ts";
import type { Expiring } from "../timer_wheel.ts";
import type { MessageFault, MessageIntake, MessageReader } from "./messages.ts";
import type { RequestHead } from "./request_head.ts";
import type { StatusText } from "./response_headers.ts";

/** Who answers a request. */
export interface StreamOwner {
  /** The call is over before it has been answered; called once. */
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
  /** The request is no longer worked on. */
  release(stream: H2Stream): void;
  /** The caller's deadline has passed. */
  expired(stream: H2Stream): void;
}

/** What a stream begins with. */
type StreamStart = Pick<
  H2Stream,
  "id" | "head" | "sendWindow" | "receiveWindow"
>;

/**
 * A stream. Who answers the request uses the methods; the fields are kept by
 * the connection.
 */
export class H2Stream implements Expiring {
  /** The stream's number. */
  readonly id: number;
  /** The headers of the request. */
  readonly head: RequestHead;
  /** Who answers; told when the call is cancelled. */
  owner: StreamOwner | undefined = undefined;
  /**
   * Bytes that may still be sent; below 0 after the peer has shrunk its
   * windows.
   */
  sendWindow: number;
  /** Bytes that may still be received. */
  receiveWindow: number;
  /** Bytes of the body so far. */
  receivedBytes = 0;
  /** Collects a message that comes in several frames. */
  reader: MessageReader | undefined = undefined;
  /** The messages of a request that may have several. */
  intake: MessageIntake | undefined = undefined;
  /** The peer sends nothing more. */
  isRemoteClosed = false;
  /** Nothing more is sent nor expected. */
  isClosed = false;
  /** Whether a handler works on the request. */
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
  constructor(host: StreamHost, options: StreamStart) {
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
   * @returns Whether it is gone; if not, the owner is notified when it is, and
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
   * The request is no longer worked on; called once, after the answer or in
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

/** Most reset streams that are remembered; the oldest is evicted. */
const MAX_REMEMBERED = 1_024;

/**
 * The open streams. Most calls are over before the next one begins; these are
 * never put into the map.
 */
export class StreamTable {
  readonly #streams = new Map<number, H2Stream>();
  readonly #reset = new BoundedMap<number, true>({
    maxEntries: MAX_REMEMBERED,
  });
  readonly #onPark: (stream: H2Stream) => void;
  #latest: H2Stream | undefined;
  #lastId = 0;
  #openCount = 0;
  #orphanCount = 0;

  /** `onPark` is called for a stream that is not over at once. */
  constructor(onPark: (stream: H2Stream) => void) {
    this.#onPark = onPark;
  }

  /** The highest number a stream has had. */
  get lastId(): number {
    return this.#lastId;
  }

  /** Number of open streams. */
  get openCount(): number {
    return this.#openCount;
  }

  /** Open streams, and closed ones that are still worked on. */
  get busyCount(): number {
    return this.#openCount + this.#orphanCount;
  }

  /** The open stream with that number. */
  get(id: number): H2Stream | undefined {
    const latest = this.#latest;
    if (latest !== undefined && latest.id === id) return latest;
    return this.#streams.get(id);
  }

  /** All open streams. */
  open(): Iterable<H2Stream> {
    this.park();
    return this.#streams.values();
  }

  /** Records that a stream has begun, whether it is accepted or not. */
  begin(id: number): void {
    this.#lastId = id;
  }

  /** Adds a stream. */
  add(stream: H2Stream): void {
    if (this.#latest !== undefined) this.park();
    this.#latest = stream;
    this.#openCount++;
  }

  /** Registers the latest stream, which did not finish synchronously. */
  park(): void {
    const stream = this.#latest;
    if (stream === undefined) return;
    this.#latest = undefined;
    this.#streams.set(stream.id, stream);
    this.#onPark(stream);
  }

  /** Closes a stream; false when it was closed already. */
  close(stream: H2Stream): boolean {
    if (stream.isClosed) return false;
    stream.isClosed = true;
    this.#openCount--;
    if (stream.isHeld) this.#orphanCount++;
    if (this.#latest === stream) this.#latest = undefined;
    else this.#streams.delete(stream.id);
    return true;
  }

  /** A stream is no longer worked on. */
  release(stream: H2Stream): void {
    if (!stream.isHeld) return;
    stream.isHeld = false;
    if (stream.isClosed) this.#orphanCount--;
  }

  /** Remembers that frames of a stream may still come, though it is reset. */
  remember(id: number): void {
    this.#reset.set(id, true);
  }

  /** Whether frames of a closed stream may still come. */
  isRemembered(id: number): boolean {
    return this.#reset.has(id);
  }
}

// Numbers of gRPC statuses (grpc/doc/statuscodes.md).
const DEADLINE_EXCEEDED = 4;
const RESOURCE_EXHAUSTED = 8;
const UNIMPLEMENTED = 12;
const INTERNAL = 13;

/** The deadline has passed before the answer was there. */
export const DEADLINE_STATUS: StatusText = {
  code: DEADLINE_EXCEEDED,
  message: "Cannot answer: the deadline has passed",
};

/** The headers count more than `maxBytes`. */
export function headersStatus(maxBytes: number): StatusText {
  return {
    code: RESOURCE_EXHAUSTED,
    message:
      `Cannot read the request: its headers are larger than ${maxBytes}` +
      " bytes; send less metadata, or let the server's MAX_HEADER_BYTES be more",
  };
}

/** No method has that path. */
export const UNKNOWN_METHOD_STATUS: StatusText = {
  code: UNIMPLEMENTED,
  message: "Cannot answer: the method is unknown",
};

/** The deadline is no number with a unit. */
export const BAD_TIMEOUT_STATUS: StatusText = {
  code: INTERNAL,
  message: 'Cannot answer: the header "grpc-timeout" is malformed',
};

/** The body ends before its message does, or holds none. */
export const NO_MESSAGE_STATUS: StatusText = {
  code: INTERNAL,
  message: "Cannot read the request: it holds no whole message",
};

const FAULT_STATUS: Readonly<Record<MessageFault, readonly [number, string]>> =
  {
    too_large: [RESOURCE_EXHAUSTED, "its message is too large"],
    no_room: [RESOURCE_EXHAUSTED, "too many messages are unfinished"],
    several: [UNIMPLEMENTED, "it holds more than one message"],
    compressed: [INTERNAL, "its message is compressed"],
    bad_flag: [INTERNAL, "its message has an unknown flag"],
  };

/** The status for what is wrong with a body. */
export function faultStatus(
  fault: MessageFault,
  isEncoded: boolean,
): StatusText {
  const [code, state] = FAULT_STATUS[fault];
  const isCompressed = fault === "compressed";
  return {
    // gRPC asks for these two (doc/compression.md).
    code: isCompressed && isEncoded ? UNIMPLEMENTED : code,
    message: `Cannot read the request: ${state}`,
    tellsEncodings: isCompressed,
  };
}
