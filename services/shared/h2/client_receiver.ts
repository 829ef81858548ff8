/**
 * Reads the HTTP/2 frames a client receives from its server, and decodes header
 * blocks. A frame that breaks the rules, or too many frames that carry no
 * response, fail the connection (RFC 9113).
 *
 * @module
 */

import type { Clock } from "../clock.ts";
import type { ByteSpan } from "./byte_span.ts";
import {
  FLAG,
  type Frame,
  FRAME_TYPE,
  FrameReader,
  H2_ERROR,
  type H2ErrorCode,
  read31Bits,
  read32Bits,
} from "./frame.ts";
import { HpackDecoder } from "./hpack.ts";
import { FloodGuard } from "./limits.ts";
import { readSettings, type SettingsChange } from "./peer_settings.ts";
import type { ResponseHead, ResponseHeads } from "./response_head.ts";

/** Handles the frames that a client receives from the server. */
interface ClientReceiverHost {
  /** Whether the connection has ended, so that nothing more is to be read. */
  readonly isOver: boolean;
  /** The server has sent its settings. */
  settings(change: Readonly<SettingsChange>): void;
  /** The server has sent a ping; the answer must carry the same payload. */
  ping(payload: Uint8Array): void;
  /** The server has sent GOAWAY: it processes no stream after `lastId`. */
  goaway(
    lastId: number,
    why: { readonly code: number; readonly words: Uint8Array },
  ): void;
  /** The server has ended a stream. */
  wasReset(streamId: number, code: number): void;
  /** The server has room for more bytes, on a stream or on all (0). */
  windowUpdate(streamId: number, more: number): void;
  /** Data of a stream has come; it uses `flowBytes` of the windows. */
  data(
    streamId: number,
    part: {
      /** Undefined when the padding is wrong. */
      readonly content: ByteSpan | undefined;
      readonly flowBytes: number;
      readonly isLast: boolean;
    },
  ): void;
  /** Headers of a stream have come. */
  head(
    streamId: number,
    from: { readonly head: ResponseHead; readonly isLast: boolean },
  ): void;
  /** Ends the connection with an error. */
  fail(code: H2ErrorCode, reason: string): void;
}

const MAX_HEADER_BLOCK_BYTES = 131_072;
/** Frames without a response that may come at once; then more per second. */
const CONTROL_BURST = 10_000;
const CONTROL_PER_SECOND = 1_000;
/** How much of the text of a GOAWAY frame is read. */
const MAX_WORDS_BYTES = 64;
const NO_BYTES = new Uint8Array(0);

/** Reads what comes from the server, frame by frame. */
export class ClientReceiver {
  readonly #host: ClientReceiverHost;
  readonly #heads: ResponseHeads;
  readonly #reader: FrameReader;
  readonly #decoder;
  readonly #control: FloodGuard;
  #blockBytes = NO_BYTES;
  #blockStreamId = 0;
  #isBlockLast = false;
  #hasSettings = false;

  /** A receiver that has read nothing. */
  constructor(
    host: ClientReceiverHost,
    { heads, clock }: { readonly heads: ResponseHeads; readonly clock: Clock },
  ) {
    this.#host = host;
    this.#heads = heads;
    this.#decoder = new HpackDecoder(heads.hpack);
    this.#control = new FloodGuard(clock, CONTROL_BURST, CONTROL_PER_SECOND);
    this.#reader = new FrameReader({
      frame: (frame) => this.#frame(frame) && !host.isOver,
      preface: () => {},
      unreadable: () =>
        this.#fail(H2_ERROR.FRAME_SIZE_ERROR, "a frame is too large"),
    }, { expectsPreface: false });
  }

  /** Whether the server has begun with SETTINGS, as HTTP/2 demands. */
  get hasSettings(): boolean {
    return this.#hasSettings;
  }

  /** Reads the frames in `bytes`, which must not change later. */
  feed(bytes: Uint8Array): void {
    this.#reader.feed(bytes);
  }

  /** Reads nothing more. */
  end(): void {
    this.#reader.end();
  }

  /** Allows the server `count` more frames that carry no response. */
  earn(count: number): void {
    this.#control.earn(count);
  }

  #frame(frame: Frame): boolean {
    const { type } = frame;
    if (!this.#hasSettings) {
      if (type !== FRAME_TYPE.SETTINGS || (frame.flags & FLAG.ACK) !== 0) {
        return this.#protocolError("SETTINGS do not come first");
      }
      this.#hasSettings = true;
    }
    const isContinuation = type === FRAME_TYPE.CONTINUATION;
    if ((this.#blockStreamId !== 0) !== isContinuation) {
      return this.#protocolError("headers are not continued");
    }
    switch (type) {
      case FRAME_TYPE.DATA:
        return this.#data(frame);
      case FRAME_TYPE.HEADERS:
        return this.#headers(frame);
      case FRAME_TYPE.CONTINUATION:
        if (frame.streamId !== this.#blockStreamId) {
          return this.#protocolError("headers are not continued");
        }
        return this.#headerPart(frame, frame.flags);
      default:
        if (!this.#control.pass()) {
          return this.#fail(
            H2_ERROR.ENHANCE_YOUR_CALM,
            "too many frames without use",
          );
        }
        return this.#controlFrame(frame);
    }
  }

  #controlFrame(frame: Frame): boolean {
    const { type, streamId, bytes, start, end } = frame;
    const length = end - start;
    switch (type) {
      case FRAME_TYPE.SETTINGS:
        if (streamId !== 0) return this.#protocolError("SETTINGS of a stream");
        return this.#settings(frame);
      case FRAME_TYPE.PING:
        if (length !== 8 || streamId !== 0) {
          return this.#protocolError("PING is not valid");
        }
        if ((frame.flags & FLAG.ACK) === 0) {
          this.#host.ping(bytes.subarray(start, end));
        }
        return true;
      case FRAME_TYPE.GOAWAY:
        if (length < 8 || streamId !== 0) {
          return this.#protocolError("GOAWAY is not valid");
        }
        this.#host.goaway(read31Bits(bytes, start), {
          code: read32Bits(bytes, start + 4),
          words: bytes.subarray(
            start + 8,
            Math.min(end, start + 8 + MAX_WORDS_BYTES),
          ),
        });
        return true;
      case FRAME_TYPE.RST_STREAM:
        if (length !== 4 || streamId === 0) {
          return this.#protocolError("RST_STREAM is not valid");
        }
        this.#host.wasReset(streamId, read32Bits(bytes, start));
        return true;
      case FRAME_TYPE.WINDOW_UPDATE:
        if (length !== 4) {
          return this.#protocolError("WINDOW_UPDATE is not valid");
        }
        this.#host.windowUpdate(streamId, read31Bits(bytes, start));
        return true;
      case FRAME_TYPE.PUSH_PROMISE:
        return this.#protocolError("PUSH_PROMISE, which was forbidden");
      default:
        return true;
    }
  }

  #settings(frame: Frame): boolean {
    if ((frame.flags & FLAG.ACK) !== 0) return true;
    const outcome = readSettings(frame);
    if (outcome.kind === "failed") {
      return this.#fail(outcome.code, "SETTINGS are not valid");
    }
    this.#host.settings(outcome.change);
    return true;
  }

  #data(frame: Frame): boolean {
    const flowBytes = frame.end - frame.start;
    // An empty frame uses no window, so only this count limits them.
    if (flowBytes === 0 && !this.#control.pass()) {
      return this.#fail(H2_ERROR.ENHANCE_YOUR_CALM, "too much empty data");
    }
    this.#host.data(frame.streamId, {
      content: unpadded(frame),
      flowBytes,
      isLast: (frame.flags & FLAG.END_STREAM) !== 0,
    });
    return true;
  }

  #headers(frame: Frame): boolean {
    const content = unpadded(frame);
    if (content === undefined) return this.#protocolError("padding is wrong");
    const { flags, streamId } = frame;
    if (streamId === 0) return this.#protocolError("HEADERS of no stream");
    if ((flags & FLAG.PRIORITY) !== 0) content.start += 5;
    if (content.start > content.end) {
      return this.#protocolError("HEADERS are too short");
    }
    this.#blockStreamId = streamId;
    this.#isBlockLast = (flags & FLAG.END_STREAM) !== 0;
    this.#blockBytes = NO_BYTES;
    return this.#headerPart(content, flags);
  }

  #headerPart({ bytes, start, end }: ByteSpan, flags: number): boolean {
    const isLast = (flags & FLAG.END_HEADERS) !== 0;
    const kept = this.#blockBytes;
    const length = kept.length + end - start;
    if (!this.#control.pass()) {
      return this.#fail(H2_ERROR.ENHANCE_YOUR_CALM, "too many headers");
    }
    if (length > MAX_HEADER_BLOCK_BYTES) {
      return this.#fail(H2_ERROR.ENHANCE_YOUR_CALM, "headers are too large");
    }
    if (isLast && kept.length === 0) {
      return this.#headerBlock({ bytes, start, end });
    }
    const joined = new Uint8Array(length);
    joined.set(kept);
    joined.set(bytes.subarray(start, end), kept.length);
    this.#blockBytes = joined;
    if (!isLast) return true;
    return this.#headerBlock({ bytes: joined, start: 0, end: length });
  }

  #headerBlock(block: ByteSpan): boolean {
    const streamId = this.#blockStreamId;
    this.#blockStreamId = 0;
    this.#blockBytes = NO_BYTES;
    const { reader } = this.#heads;
    reader.begin();
    // Decode the block of any stream: later blocks build on its table entries.
    if (!this.#decoder.decode(block)) {
      return this.#fail(H2_ERROR.COMPRESSION_ERROR, "headers are unreadable");
    }
    this.#host.head(streamId, {
      head: reader.head,
      isLast: this.#isBlockLast,
    });
    return true;
  }

  #protocolError(reason: string): false {
    return this.#fail(H2_ERROR.PROTOCOL_ERROR, reason);
  }

  #fail(code: H2ErrorCode, reason: string): false {
    this.#host.fail(code, reason);
    return false;
  }
}

/** The content of DATA or HEADERS; undefined when the padding is too long. */
function unpadded(frame: Frame): ByteSpan | undefined {
  const { bytes, flags } = frame;
  let { start, end } = frame;
  if ((flags & FLAG.PADDED) !== 0) {
    if (start === end) return undefined;
    end -= bytes[start]!;
    start++;
    if (end < start) return undefined;
  }
  return { bytes, start, end };
}
