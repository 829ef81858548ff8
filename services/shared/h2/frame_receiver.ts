/**
 * The receiving side of a connection, the same for servers and clients: checks
 * the frames of the peer, joins header blocks, leaves padding out, and keeps
 * the window of the connection (RFC 9113, sections 6 and 8).
 *
 * @module
 */

import type { ByteBudget } from "../connection_memory.ts";
import type { ByteSpan } from "./byte_span.ts";
import {
  FLAG,
  type Frame,
  FRAME_TYPE,
  FrameReader,
  type FrameSink,
  H2_ERROR,
  type H2ErrorCode,
  read31Bits,
  read32Bits,
} from "./frame.ts";
import { HeaderAssembler } from "./header_assembler.ts";
import type { H2Limits } from "./limits.ts";
import { readSettings, type SettingsChange } from "./peer_settings.ts";

/** Takes what the streams of a peer carry. */
export interface ContentHandler {
  /** A whole header block has come, which must be decoded at once. */
  block(block: ByteSpan, streamId: number, endsStream: boolean): void;
  /**
   * DATA has come, without its padding; it uses `flowBytes` of the windows. The
   * frame is valid only during the call.
   */
  data(frame: Frame, flowBytes: number): void;
}

/** Does what the other frames of a peer ask for. */
export interface FrameHandler {
  /** Ends the connection with an error, and the reading with it. */
  fail(code: H2ErrorCode, reason: string): void;
  /** Counts a frame without use; false when that ended the connection. */
  countControl(): boolean;
  /** The preface of a client has come. */
  preface(): void;
  /** The first settings of the peer have come. */
  begun(): void;
  /** Lets the peer send `bytes` more on all streams. */
  giveRoom(bytes: number): void;
  /** The peer has sent settings. */
  settings(change: Readonly<SettingsChange>): void;
  /** The peer has sent a PING, or the answer to one. */
  ping(payload: Uint8Array, isAnswer: boolean): void;
  /** The peer has sent GOAWAY: it processes no stream after `lastId`. */
  goaway(
    lastId: number,
    why: { readonly code: number; readonly words: Uint8Array },
  ): void;
  /** The peer has ended a stream. */
  reset(streamId: number, code: number): void;
  /** The peer has room for more bytes, on a stream or on all (0). */
  windowUpdate(streamId: number, more: number): void;
}

/** Options of {@linkcode FrameReceiver}. */
interface FrameReceiverOptions {
  /** Takes header blocks and data; apart, as nearly all frames go there. */
  readonly content: ContentHandler;
  /** Bounds of header blocks, and the window of the connection. */
  readonly limits: Pick<
    H2Limits,
    "maxHeaderBlockBytes" | "maxContinuations" | "connectionWindowBytes"
  >;
  /** Limits the bytes of header blocks that have not ended. */
  readonly budget: ByteBudget;
  /**
   * Whether the peer begins with a preface: clients do, servers don't.
   *
   * @default true
   */
  readonly expectsPreface?: boolean;
  /**
   * Asked between frames: true leaves the rest for
   * {@linkcode FrameReceiver.resume}.
   *
   * @default never pauses
   */
  readonly mustPause?: () => boolean;
}

/** How much of the text of a GOAWAY frame is read. */
const MAX_WORDS_BYTES = 64;

/** Reads what the peer sends, frame by frame. */
export class FrameReceiver implements FrameSink {
  readonly #handler: FrameHandler;
  readonly #content: ContentHandler;
  readonly #reader: FrameReader;
  readonly #assembler: HeaderAssembler;
  readonly #windowBytes: number;
  #window: number;
  #frames = 0;
  #hasSettings = false;

  /** A receiver that has read nothing. */
  constructor(handler: FrameHandler, options: FrameReceiverOptions) {
    const { limits, budget } = options;
    this.#handler = handler;
    this.#content = options.content;
    this.#reader = new FrameReader(this, options);
    this.#assembler = new HeaderAssembler(limits, budget);
    this.#windowBytes = limits.connectionWindowBytes;
    this.#window = this.#windowBytes;
  }

  /** Whether the peer has begun with SETTINGS, as HTTP/2 demands. */
  get hasSettings(): boolean {
    return this.#hasSettings;
  }

  /** Whether reading has paused; `resume()` must come before further bytes. */
  get isPaused(): boolean {
    return this.#reader.isPaused;
  }

  /**
   * A number of the frame or header block that has begun and not ended; 0 when
   * there is none.
   */
  get unfinished(): number {
    const isWithin = this.#reader.isWithinFrame ||
      this.#assembler.streamId !== 0;
    return isWithin ? this.#frames + 1 : 0;
  }

  /** Reads the frames in `bytes`, which must not change later. */
  feed(bytes: Uint8Array): void {
    this.#reader.feed(bytes);
  }

  /** Continues after a pause. */
  resume(): void {
    this.#reader.resume();
  }

  /** Reads nothing more, and drops a header block that has not ended. */
  end(): void {
    this.#reader.end();
    this.#assembler.end();
  }

  /** Tells that the preface has come. */
  preface(): void {
    this.#handler.preface();
  }

  /** Ends a connection whose bytes are no frames. */
  unreadable(reason: "preface" | "frame_size"): void {
    if (reason === "preface") this.#protocolError("this is not HTTP/2");
    else this.#fail(H2_ERROR.FRAME_SIZE_ERROR, "a frame is too large");
  }

  /** Takes a frame. */
  frame(frame: Frame): void {
    const { type } = frame;
    if (!this.#hasSettings) return this.#firstFrame(frame);
    if (this.#assembler.streamId === 0) this.#frames++;
    else if (type !== FRAME_TYPE.CONTINUATION) {
      return this.#protocolError("headers are not continued");
    }
    switch (type) {
      case FRAME_TYPE.HEADERS:
        return this.#headers(frame);
      case FRAME_TYPE.DATA:
        return this.#data(frame);
      case FRAME_TYPE.CONTINUATION:
        return this.#continuation(frame);
      default:
        // All other types carry no request and no answer, so they are counted.
        if (this.#handler.countControl()) this.#control(frame);
    }
  }

  #firstFrame(frame: Frame): void {
    const isAck = (frame.flags & FLAG.ACK) !== 0;
    if (frame.type !== FRAME_TYPE.SETTINGS || isAck) {
      return this.#protocolError("SETTINGS do not come first");
    }
    this.#hasSettings = true;
    this.#handler.begun();
    this.#control(frame);
  }

  #headers(frame: Frame): void {
    const { flags, streamId } = frame;
    if (streamId === 0) return this.#protocolError("HEADERS on stream 0");
    if (!unpad(frame)) return this.#protocolError("padding is too long");
    if ((flags & FLAG.PRIORITY) !== 0) {
      frame.start += 5;
      if (frame.start > frame.end) {
        return this.#fail(H2_ERROR.FRAME_SIZE_ERROR, "HEADERS too short");
      }
    }
    const endsStream = (flags & FLAG.END_STREAM) !== 0;
    if ((flags & FLAG.END_HEADERS) !== 0) {
      this.#content.block(frame, streamId, endsStream);
    } else if (!this.#assembler.begin(frame, streamId, endsStream)) {
      this.#tooManyHeaders();
    }
  }

  #continuation(frame: Frame): void {
    const { streamId, endsStream } = this.#assembler;
    if (streamId === 0 || frame.streamId !== streamId) {
      return this.#protocolError("CONTINUATION without HEADERS");
    }
    if (!this.#assembler.append(frame)) return this.#tooManyHeaders();
    if ((frame.flags & FLAG.END_HEADERS) === 0) return;
    this.#content.block(this.#assembler.end(), streamId, endsStream);
  }

  #data(frame: Frame): void {
    if (frame.streamId === 0) return this.#protocolError("DATA on stream 0");
    const flowBytes = frame.end - frame.start;
    this.#window -= flowBytes;
    if (this.#window < 0) {
      return this.#fail(
        H2_ERROR.FLOW_CONTROL_ERROR,
        "more DATA than the window",
      );
    }
    // Whether or not a stream takes its data: one that is slow must not hold
    // back the others.
    if (this.#window < this.#windowBytes / 2) {
      this.#handler.giveRoom(this.#windowBytes - this.#window);
      this.#window = this.#windowBytes;
    }
    if (!unpad(frame)) return this.#protocolError("padding is too long");
    this.#content.data(frame, flowBytes);
  }

  #control(frame: Frame): void {
    const { type, streamId, bytes, start, end } = frame;
    const length = end - start;
    switch (type) {
      case FRAME_TYPE.SETTINGS:
        if (streamId !== 0) return this.#misplaced("SETTINGS");
        return this.#settings(frame);
      case FRAME_TYPE.PING:
        if (length !== 8) return this.#sizeError("PING");
        if (streamId !== 0) return this.#misplaced("PING");
        return this.#handler.ping(
          bytes.subarray(start, end),
          (frame.flags & FLAG.ACK) !== 0,
        );
      case FRAME_TYPE.WINDOW_UPDATE:
        if (length !== 4) return this.#sizeError("WINDOW_UPDATE");
        return this.#handler.windowUpdate(streamId, read31Bits(bytes, start));
      case FRAME_TYPE.RST_STREAM:
        if (length !== 4) return this.#sizeError("RST_STREAM");
        if (streamId === 0) return this.#misplaced("RST_STREAM");
        return this.#handler.reset(streamId, read32Bits(bytes, start));
      case FRAME_TYPE.GOAWAY: {
        if (length < 8) return this.#sizeError("GOAWAY");
        if (streamId !== 0) return this.#misplaced("GOAWAY");
        const at = start + 8;
        return this.#handler.goaway(read31Bits(bytes, start), {
          code: read32Bits(bytes, start + 4),
          words: bytes.subarray(at, Math.min(end, at + MAX_WORDS_BYTES)),
        });
      }
      case FRAME_TYPE.PRIORITY:
        if (streamId === 0) return this.#misplaced("PRIORITY");
        // Its content no longer means anything (RFC 9113, section 5.3.2).
        if (length !== 5) this.#sizeError("PRIORITY");
        return;
      case FRAME_TYPE.PUSH_PROMISE:
        return this.#protocolError("PUSH_PROMISE is not allowed");
    }
  }

  #settings(frame: Frame): void {
    if ((frame.flags & FLAG.ACK) !== 0) {
      if (frame.start !== frame.end) this.#sizeError("SETTINGS");
      return;
    }
    const outcome = readSettings(frame);
    if (outcome.kind === "ok") this.#handler.settings(outcome.change);
    else this.#fail(outcome.code, "SETTINGS are not valid");
  }

  #fail(code: H2ErrorCode, reason: string): void {
    this.#handler.fail(code, reason);
  }

  #protocolError(reason: string): void {
    this.#fail(H2_ERROR.PROTOCOL_ERROR, reason);
  }

  #misplaced(name: string): void {
    this.#protocolError(`${name} on a stream of the other kind`);
  }

  #sizeError(name: string): void {
    this.#fail(H2_ERROR.FRAME_SIZE_ERROR, `${name} of a wrong size`);
  }

  #tooManyHeaders(): void {
    this.#fail(H2_ERROR.ENHANCE_YOUR_CALM, "too many headers");
  }
}

/** Leaves the padding out; false when it is longer than the frame. */
function unpad(frame: Frame): boolean {
  if ((frame.flags & FLAG.PADDED) === 0) return true;
  if (frame.start >= frame.end) return false;
  const padding = frame.bytes[frame.start]!;
  frame.start++;
  frame.end -= padding;
  return frame.end >= frame.start;
}
