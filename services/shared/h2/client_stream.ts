/**
 * A stream of an HTTP/2 client, that is one gRPC call: its state and windows,
 * and the messages cut out of the server's data (RFC 9113, section 5).
 *
 * @module
 */

import type { ByteSpan } from "./byte_span.ts";
import { MESSAGE_PREFIX_BYTES } from "./messages.ts";
import type { ResponseHead } from "./response_head.ts";

/** Why a stream ended although the server did not complete the response. */
export type StreamLoss =
  /** The server has not processed the call, so it may be retried. */
  | { readonly kind: "unprocessed"; readonly reason: string }
  /** The server ended the stream with an HTTP/2 error. */
  | { readonly kind: "reset"; readonly code: number }
  /** The connection is gone. */
  | { readonly kind: "lost"; readonly reason: string }
  /** The server broke the rules of gRPC on this stream. */
  | { readonly kind: "broken"; readonly reason: string }
  /** A message is larger than the client allows. */
  | { readonly kind: "too_large"; readonly reason: string };

/** Receives the messages and the end of a stream. */
export interface StreamListener {
  /** A whole message has come; it may be kept. */
  message(message: Uint8Array): void;
  /** The server has ended the stream; nothing follows. */
  ended(head: ResponseHead): void;
  /** The stream is over without a complete response; nothing follows. */
  lost(loss: StreamLoss): void;
}

/** A message that waits to be sent. */
interface Outgoing {
  readonly bytes: Uint8Array;
  at: number;
  readonly sent: () => void;
}

/** A stream; only the connection changes its fields. */
export class ClientStream {
  /** The stream identifier. */
  readonly id: number;
  /** Receives the messages and the end. */
  readonly listener: StreamListener;
  /** Bytes that may be sent; below 0 after the peer has shrunk its windows. */
  sendWindow: number;
  /** Bytes the peer may still send. */
  receiveWindow: number;
  /** Received bytes for which no WINDOW_UPDATE has been sent. */
  unreturnedBytes = 0;
  /** Whether the caller has messages that it has not taken. */
  isHeldBack = false;
  /** Headers of the response; undefined until they have come. */
  head: ResponseHead | undefined = undefined;
  /** Messages that wait to be sent. */
  readonly outgoing: Outgoing[] = [];
  /** No message follows those that wait. */
  isSendClosed = false;
  /** The end has been sent. */
  isEndSent = false;
  /** Nothing more is sent nor expected. */
  isClosed = false;
  readonly #maxMessageBytes: number;
  readonly #prefix = new Uint8Array(MESSAGE_PREFIX_BYTES);
  #prefixLength = 0;
  #message: Uint8Array | undefined;
  #messageLength = 0;
  #length = 0;

  /** A stream on which nothing has been sent. */
  constructor(options: {
    readonly id: number;
    readonly listener: StreamListener;
    readonly sendWindow: number;
    readonly receiveWindow: number;
    readonly maxMessageBytes: number;
  }) {
    this.id = options.id;
    this.listener = options.listener;
    this.sendWindow = options.sendWindow;
    this.receiveWindow = options.receiveWindow;
    this.#maxMessageBytes = options.maxMessageBytes;
  }

  /** Whether a message has begun and not ended. */
  get isWithinMessage(): boolean {
    return this.#prefixLength > 0;
  }

  /**
   * Reads data of the server and passes its messages to the listener.
   *
   * @returns What is wrong with the data; no data may follow then.
   */
  data({ bytes, start, end }: ByteSpan): StreamLoss | undefined {
    let at = start;
    while (at < end && !this.isClosed) {
      if (this.#prefixLength < MESSAGE_PREFIX_BYTES) {
        this.#prefix[this.#prefixLength++] = bytes[at++]!;
        if (this.#prefixLength < MESSAGE_PREFIX_BYTES) continue;
        const loss = this.#begin();
        if (loss !== undefined) return loss;
      } else {
        const length = Math.min(end - at, this.#messageLength - this.#length);
        this.#keep(bytes.subarray(at, at + length));
        at += length;
      }
      if (this.#length === this.#messageLength) this.#finish();
    }
    return undefined;
  }

  #begin(): StreamLoss | undefined {
    const [flag, a = 0, b = 0, c = 0, d = 0] = this.#prefix;
    if (flag !== 0) {
      const reason = flag === 1
        ? "a message is compressed, which was not offered"
        : "a message has an unknown flag";
      return { kind: "broken", reason };
    }
    this.#messageLength = (a << 24 | b << 16 | c << 8 | d) >>> 0;
    this.#length = 0;
    if (this.#messageLength > this.#maxMessageBytes) {
      const reason = `a message has ${this.#messageLength} bytes, and ` +
        `${this.#maxMessageBytes} are allowed`;
      return { kind: "too_large", reason };
    }
    return undefined;
  }

  /**
   * Adds a part to the message. Its buffer grows with the bytes received: an
   * announced length alone must not make the client allocate memory.
   */
  #keep(part: Uint8Array): void {
    const length = this.#length + part.length;
    const old = this.#message ?? NO_BYTES;
    if (old.length < length) {
      const size = Math.min(
        this.#messageLength,
        Math.max(length, old.length * 2),
      );
      this.#message = new Uint8Array(size);
      this.#message.set(old.subarray(0, this.#length));
    }
    this.#message?.set(part, this.#length);
    this.#length = length;
  }

  #finish(): void {
    const message = this.#message ?? new Uint8Array(0);
    this.#message = undefined;
    this.#prefixLength = 0;
    this.#messageLength = 0;
    this.#length = 0;
    this.listener.message(message);
  }
}

const NO_BYTES = new Uint8Array(0);

/** Puts the gRPC prefix, a flag and the length, before a message. */
export function prefixed(message: Uint8Array): Uint8Array {
  const { length } = message;
  const bytes = new Uint8Array(MESSAGE_PREFIX_BYTES + length);
  bytes[1] = length >>> 24;
  bytes[2] = length >>> 16;
  bytes[3] = length >>> 8;
  bytes[4] = length;
  bytes.set(message, MESSAGE_PREFIX_BYTES);
  return bytes;
}
