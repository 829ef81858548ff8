/**
 * One HTTP/2 connection of a gRPC client, as bytes in and bytes out (RFC 9113).
 * Whatever the server sends, calls end with a value: nothing here throws.
 *
 * @module
 */

import type { Clock } from "../clock.ts";
import { ByteBudget } from "../connection_memory.ts";
import type { TimerWheel } from "../timer_wheel.ts";
import type { ByteSpan } from "./byte_span.ts";
import { ClientSender } from "./client_sender.ts";
import type {
  ClientStream,
  StreamListener,
  StreamLoss,
} from "./client_stream.ts";
import { CLIENT_ROOM, ClientStreams } from "./client_streams.ts";
import type { OutputPort } from "./connection.ts";
import { Alarm } from "./connection_alarms.ts";
import { type Frame, H2_ERROR, type H2ErrorCode } from "./frame.ts";
import { type FrameHandler, FrameReceiver } from "./frame_receiver.ts";
import { HpackDecoder } from "./hpack.ts";
import { DEFAULT_LIMITS, FloodGuard } from "./limits.ts";
import type { SettingsChange } from "./peer_settings.ts";
import type { ResponseHeads } from "./response_head.ts";

/** What all connections of a client share: tables, timers and limits. */
export interface ClientConnectionOptions {
  /** Decodes the headers of responses. */
  readonly heads: ResponseHeads;
  /** Tells the time, from which durations are computed. */
  readonly clock: Clock;
  /** Runs the timers of the keepalive. */
  readonly wheel: TimerWheel;
  /** Largest message that is received, in bytes; a larger one fails. */
  readonly maxMessageBytes: number;
  /** Silence of the server, while calls run, after which a PING is sent. */
  readonly keepaliveMs: number;
  /** How long the answer to that PING may take. */
  readonly keepaliveTimeoutMs: number;
  /** Called once the connection takes no further streams. */
  readonly onRetired: () => void;
  /** Called when the server allows more streams at a time than before. */
  readonly onRoom: () => void;
  /** Called when the server closes since it got too many PINGs. */
  readonly onTooManyPings: () => void;
}

/**
 * Control frames the server may send for each DATA frame it gets, such as a
 * WINDOW_UPDATE or a PING.
 */
const CONTROL_PER_DATA = 4;
/** Frames without a response that may come at once; then more per second. */
const CONTROL_BURST = 10_000;
const CONTROL_PER_SECOND = 1_000;
/** Most open streams, also when the server sets no limit or a higher one. */
const MOST_STREAMS = 10_000;
const KEEPALIVE_PING = Uint8Array.of(0x61, 0x6c, 0x69, 0x76, 0x65, 0, 0, 2);

/** A connection of a client; nothing is sent before {@linkcode start}. */
export class H2ClientConnection {
  readonly #options: ClientConnectionOptions;
  readonly #port: OutputPort;
  readonly #sender: ClientSender;
  readonly #receiver: FrameReceiver;
  readonly #decoder;
  readonly #control: FloodGuard;
  readonly #streams: ClientStreams;
  readonly #keepalive = new Alarm(() => this.#ask());
  readonly #silence = new Alarm(() => this.#silent());
  #maxStreams = MOST_STREAMS;
  #lastProcessedId = Infinity;
  #leaving = "the server is leaving";
  readonly #first = Promise.withResolvers<string | undefined>();
  #isAsking = false;
  #isRetired = false;
  #isReading = false;
  #isOver = false;

  /** A connection that is reached through `port`. */
  constructor(port: OutputPort, options: ClientConnectionOptions) {
    this.#options = options;
    this.#port = port;
    const isOver = (): boolean => this.#isOver;
    const { heads, clock, maxMessageBytes } = options;
    this.#decoder = new HpackDecoder(heads.hpack);
    this.#control = new FloodGuard(clock, CONTROL_BURST, CONTROL_PER_SECOND);
    this.#sender = new ClientSender(port, {
      streams: { [Symbol.iterator]: () => this.#streams[Symbol.iterator]() },
      sentData: () => this.#control.earn(CONTROL_PER_DATA),
      stuck: () => this.#stuck(),
    });
    this.#receiver = new FrameReceiver(this.#frameHandler(), {
      content: {
        block: (block, streamId, isLast) => this.#head(block, streamId, isLast),
        data: (frame, flowBytes) => this.#data(frame, flowBytes),
      },
      limits: {
        ...{ ...DEFAULT_LIMITS, ...CLIENT_ROOM },
        // A server may cut its headers into small parts.
        maxContinuations: CONTROL_BURST,
      },
      // One block of its largest size is all that it holds.
      budget: new ByteBudget(Infinity),
      expectsPreface: false,
    });
    this.#streams = new ClientStreams({
      sender: this.#sender,
      maxMessageBytes,
      get isOver() {
        return isOver();
      },
      fail: (code, reason) => this.#fail(code, reason),
      earn: () => this.#control.earn(1),
      emptied: () => this.#emptied(),
    });
  }

  /** Whether another stream can be opened now. */
  get hasRoom(): boolean {
    return !this.#isRetired && this.#streams.count < this.#maxStreams;
  }

  /** Whether the connection takes no stream again; open ones go on. */
  get isRetired(): boolean {
    return this.#isRetired;
  }

  /**
   * Waits for the first settings of the server.
   *
   * @returns Undefined once the settings have come; else why they can't come.
   */
  ready(signal: AbortSignal): Promise<string | undefined> {
    const { promise, resolve } = this.#first;
    const end = (): void => resolve("the wait was ended");
    if (signal.aborted) end();
    else signal.addEventListener("abort", end, { once: true });
    return promise;
  }

  /** Sends the preface and the settings of the client. */
  start(): void {
    this.#sender.begin(CLIENT_ROOM);
  }

  /**
   * Opens a stream, for which there must be room.
   *
   * @param block The encoded request headers, at most 32 KiB.
   */
  open(block: Uint8Array, listener: StreamListener): ClientStream {
    const stream = this.#streams.open(block, listener);
    this.#watch();
    if (this.#streams.isSpent) this.#retire();
    this.#flushSoon();
    return stream;
  }

  /**
   * Sends a message, which includes its prefix, after the earlier ones.
   *
   * @returns Settles when the message is written or its stream is closed.
   */
  send(stream: ClientStream, bytes: Uint8Array): Promise<void> {
    if (stream.isClosed || stream.isSendClosed) return Promise.resolve();
    return new Promise((sent) => {
      stream.outgoing.push({ bytes, at: 0, sent });
      this.#sender.pump(stream);
      this.#flushSoon();
    });
  }

  /** Ends the sending side of a stream once its waiting messages are sent. */
  closeSend(stream: ClientStream): void {
    if (stream.isClosed || stream.isSendClosed) return;
    stream.isSendClosed = true;
    this.#sender.pump(stream);
    this.#flushSoon();
  }

  /** Ends a stream with an RST_STREAM; its listener is not called again. */
  cancel(stream: ClientStream): void {
    if (stream.isClosed) return;
    this.#streams.reset(stream, H2_ERROR.CANCEL);
    this.#flushSoon();
  }

  /**
   * Stops returning window to the server, since the caller has messages that it
   * has not taken yet.
   */
  holdBack(stream: ClientStream): void {
    stream.isHeldBack = true;
  }

  /** Returns window again, since the caller takes messages as they come. */
  letGo(stream: ClientStream): void {
    stream.isHeldBack = false;
    this.#streams.returnRoom(stream);
    this.#flushSoon();
  }

  /** Reads bytes of the server, which must not change later. Never throws. */
  receive(bytes: Uint8Array): void {
    if (this.#isOver) return;
    this.#isReading = true;
    try {
      this.#receiver.feed(bytes);
    } catch (error) {
      this.#fail(
        H2_ERROR.INTERNAL_ERROR,
        `internal error: ${error instanceof Error ? error.message : error}`,
      );
    }
    this.#isReading = false;
    if (!this.#isOver) this.#heard();
    this.#sender.flush();
  }

  /** To be called when the port has sent everything that was written to it. */
  drained(): void {
    if (!this.#isOver) this.#sender.drained();
  }

  /** To be called when the connection is gone: all open streams are lost. */
  closed(reason: string): void {
    this.#end({ kind: "lost", reason });
  }

  /** Ends the connection and every stream on it. */
  close(): void {
    if (this.#isOver) return;
    this.#sender.goaway(H2_ERROR.NO_ERROR, "");
    this.#end({ kind: "lost", reason: "the client is closed" });
  }

  #frameHandler(): FrameHandler {
    return {
      fail: (code, reason) => this.#fail(code, reason),
      countControl: () => this.#countControl(),
      preface: () => {},
      begun: () => {},
      giveRoom: (bytes) => this.#sender.returnRoom(0, bytes),
      settings: (change) => this.#settings(change),
      ping: (payload, isAnswer) => {
        if (!isAnswer) this.#sender.ping(payload, { isAnswer: true });
      },
      goaway: (lastId, why) => this.#goaway(lastId, why),
      reset: (streamId, code) => this.#streams.wasReset(streamId, code),
      windowUpdate: (streamId, more) => this.#streams.widen(streamId, more),
    };
  }

  #countControl(): boolean {
    const isWithin = this.#control.pass();
    if (!isWithin) {
      this.#fail(H2_ERROR.ENHANCE_YOUR_CALM, "too many frames without use");
    }
    return isWithin;
  }

  #head(block: ByteSpan, streamId: number, isLast: boolean): void {
    if (!this.#countControl()) return;
    const { reader } = this.#options.heads;
    reader.begin();
    // Decode the block of any stream: later blocks build on its table entries.
    if (this.#decoder.decode(block)) {
      this.#streams.head(streamId, { head: reader.head, isLast });
    } else {
      this.#fail(H2_ERROR.COMPRESSION_ERROR, "headers are unreadable");
    }
  }

  #data(frame: Frame, flowBytes: number): void {
    // An empty frame uses no window, so only this count limits them.
    if (flowBytes === 0 && !this.#countControl()) return;
    this.#streams.data(frame, flowBytes);
  }

  #settings(change: Readonly<SettingsChange>): void {
    this.#first.resolve(undefined);
    // Our headers use no table, so its size means nothing here.
    const { initialWindowBytes, maxConcurrentStreams } = change;
    const before = this.#maxStreams;
    if (maxConcurrentStreams !== undefined) {
      this.#maxStreams = Math.min(maxConcurrentStreams, MOST_STREAMS);
    }
    if (initialWindowBytes !== undefined) {
      this.#streams.resize(initialWindowBytes);
    }
    if (this.#isOver) return;
    this.#sender.acknowledgeSettings();
    this.#sender.pumpAll();
    if (this.#maxStreams > before) this.#options.onRoom();
  }

  #goaway(
    lastId: number,
    { code, words }: { readonly code: number; readonly words: Uint8Array },
  ): void {
    this.#lastProcessedId = Math.min(this.#lastProcessedId, lastId);
    if (code !== H2_ERROR.NO_ERROR) {
      this.#leaving = `the server is leaving with HTTP/2 error ${code}`;
    }
    // The words are part of the rules: gRFC A8, "Server Enforcement".
    if (
      code === H2_ERROR.ENHANCE_YOUR_CALM &&
      new TextDecoder().decode(words) === "too_many_pings"
    ) this.#options.onTooManyPings();
    this.#retire();
    const loss: StreamLoss = { kind: "unprocessed", reason: this.#leaving };
    for (const stream of [...this.#streams]) {
      if (stream.id > this.#lastProcessedId) this.#streams.lose(stream, loss);
    }
  }

  #emptied(): void {
    if (this.#isRetired) this.#end({ kind: "lost", reason: this.#leaving });
    else this.#options.wheel.remove(this.#keepalive);
  }

  /** Starts the keepalive with the first open stream. */
  #watch(): void {
    const { wheel, keepaliveMs } = this.#options;
    if (this.#streams.count === 1) wheel.add(this.#keepalive, keepaliveMs);
  }

  #heard(): void {
    const { wheel, keepaliveMs } = this.#options;
    if (this.#isAsking) {
      this.#isAsking = false;
      wheel.remove(this.#silence);
    }
    if (this.#streams.count > 0) wheel.add(this.#keepalive, keepaliveMs);
  }

  #ask(): void {
    const { wheel, keepaliveTimeoutMs } = this.#options;
    this.#isAsking = true;
    wheel.add(this.#silence, keepaliveTimeoutMs);
    this.#sender.ping(KEEPALIVE_PING, { isAnswer: false });
    this.#sender.flush();
  }

  #silent(): void {
    this.#end({ kind: "lost", reason: "the server does not answer" });
    this.#port.destroy();
  }

  #retire(): void {
    if (this.#isRetired) return;
    this.#isRetired = true;
    this.#options.onRetired();
    if (this.#streams.count === 0) {
      this.#end({ kind: "lost", reason: this.#leaving });
    }
  }

  /** A connection error (RFC 9113, section 5.4.1). */
  #fail(code: H2ErrorCode, reason: string): void {
    if (this.#isOver) return;
    this.#sender.goaway(code, reason);
    this.#end({
      kind: "lost",
      reason: this.#receiver.hasSettings
        ? `the server broke the rules of HTTP/2: ${reason}`
        : "the server does not begin as HTTP/2 does; it may speak HTTP/1, or TLS",
    });
  }

  /** Sends the output that waits, then closes, and loses all open streams. */
  #end(loss: StreamLoss): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#receiver.end();
    const { wheel } = this.#options;
    wheel.remove(this.#keepalive);
    wheel.remove(this.#silence);
    this.#sender.flush();
    this.#port.end();
    if (!this.#isRetired) {
      this.#isRetired = true;
      this.#options.onRetired();
    }
    if (loss.kind === "lost") this.#first.resolve(loss.reason);
    for (const stream of [...this.#streams]) this.#streams.lose(stream, loss);
  }

  /** Plans a flush, except within a read, which ends with one. */
  #flushSoon(): void {
    if (!this.#isReading) this.#sender.flushSoon();
  }

  #stuck(): void {
    if (this.#isOver) return;
    this.#end({ kind: "lost", reason: "the server takes no requests" });
    this.#port.destroy();
  }
}
