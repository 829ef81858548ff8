/**
 * One HTTP/2 connection of a gRPC server, as bytes in and bytes out
 * (RFC 9113).
 *
 * @module
 */

import { ByteBudget } from "../connection_memory.ts";
import {
  Alarm,
  type AlarmHost,
  ConnectionAlarms,
} from "./connection_alarms.ts";
import { ConnectionStreams, type StreamsHost } from "./connection_streams.ts";
import type { H2Engine } from "./engine.ts";
import {
  DEFAULT_WINDOW_BYTES,
  FLAG,
  FRAME_TYPE,
  H2_ERROR,
  type H2ErrorCode,
  MAX_31_BITS,
} from "./frame.ts";
import { type FrameHandler, FrameReceiver } from "./frame_receiver.ts";
import { FloodGuard } from "./limits.ts";
import {
  OutputBatch,
  writeFrame,
  writeGoaway,
  writeWindowUpdate,
} from "./output_batch.ts";
import { serverSettings } from "./peer_settings.ts";
import { RequestReceiver } from "./request_receiver.ts";

/** Where a connection writes its bytes, usually a socket. */
export interface OutputPort {
  /**
   * Sends bytes, which must not change later. Once more than 64 KiB are
   * unsent, the port calls `H2Connection.drained()` when all are sent.
   */
  write(bytes: Uint8Array): void;
  /** Bytes that were written and wait to be sent. */
  readonly unsentBytes: number;
  /** Closes the connection once all bytes are sent. */
  end(): void;
  /** Closes the connection at once; unsent bytes are lost. */
  destroy(): void;
}

/** Payload of the PING whose answer shows that the peer got the GOAWAY. */
const RETIRE_PING = Uint8Array.of(0x72, 0x65, 0x74, 0x69, 0x72, 0x65, 0, 1);
const KEEPALIVE_PING = Uint8Array.of(0x61, 0x6c, 0x69, 0x76, 0x65, 0, 0, 1);
/** How long the answer to the PING after a GOAWAY may take. */
const RETIRE_TIMEOUT_MS = 5_000;
/** The same when the server stops, which shall not take long. */
const CONCLUDE_TIMEOUT_MS = 1_000;
/** Least age of a connection at which it is retired. */
const RETIRE_AFTER_MS = 1_000;
/** Control frames that each answered request allows in addition. */
const CONTROL_PER_ANSWER = 4;

/** The server's side of a connection, fed with the bytes of the peer. */
export class H2Connection {
  readonly #engine: H2Engine;
  readonly #port: OutputPort;
  readonly #output: OutputBatch;
  readonly #receiver: FrameReceiver;
  readonly #streams: ConnectionStreams;
  readonly #requests: RequestReceiver;
  readonly #alarms: ConnectionAlarms;
  readonly #retireAlarm: Alarm = new Alarm(() => this.#retire());
  readonly #control: FloodGuard;
  readonly #resets: FloodGuard;
  #writtenBytes = 0;
  #begunMs = 0;
  #isReading = false;
  #isFlushPlanned = false;
  #retirement: "none" | "wanted" | "asked" = "none";
  #isStopping = false;
  #isOver = false;
  #isShut = false;

  /** A connection with a peer that is reached through `port`. */
  constructor(engine: H2Engine, port: OutputPort) {
    const { limits, clock, wheel } = engine;
    this.#engine = engine;
    this.#port = port;
    this.#output = new OutputBatch(engine.pool, (bytes) => this.#write(bytes));
    const budget = new ByteBudget(limits.maxBufferedBytes, engine.budget);
    const host = this.#streamsHost();
    this.#streams = new ConnectionStreams(host, engine, this.#output);
    this.#requests = new RequestReceiver(this.#streams, budget);
    this.#receiver = new FrameReceiver(this.#frameHandler(), {
      ...{ content: this.#requests, limits, budget },
      mustPause: () => engine.turns.isOver,
    });
    const { controlBurst, controlPerSecond } = limits;
    const { resetBurst, resetPerSecond } = limits;
    this.#control = new FloodGuard(clock, controlBurst, controlPerSecond);
    this.#resets = new FloodGuard(clock, resetBurst, resetPerSecond);
    this.#alarms = new ConnectionAlarms(this.#alarmHost(), wheel, limits);
  }

  /**
   * Reads bytes of the peer, which must not change later. Answers given
   * synchronously are written when this returns, unless reading has paused
   * since the turn of the connection is over. Never throws.
   */
  receive(bytes: Uint8Array): void {
    this.#read(bytes);
  }

  /** Whether reading has paused; `resume()` must come before further bytes. */
  get isPaused(): boolean {
    return this.#receiver.isPaused;
  }

  /** Continues reading after a pause; otherwise as `receive()`. */
  resume(): void {
    this.#read(undefined);
  }

  /** To be called when the port has sent everything that was written to it. */
  drained(): void {
    const { writer } = this.#streams;
    if (this.#isOver || !writer.isCongested) return;
    writer.isCongested = false;
    writer.pump();
    this.#output.flush();
  }

  /**
   * Sends GOAWAY, still takes the requests sent before the peer has read it,
   * and then does as {@linkcode H2Connection.shutdown}. A new connection goes
   * on for a moment: clients that get a GOAWAY right at the beginning fail
   * their calls, or reconnect for ever.
   */
  retire(): void {
    if (this.#isOver || this.#isStopping) return;
    if (this.#retirement === "none") this.#retire();
  }

  #retire(): void {
    if (this.#retirement === "asked") return this.shutdown();
    this.#retirement = "wanted";
    const newForMs = this.#newForMs();
    if (newForMs > 0) {
      return this.#engine.wheel.add(this.#retireAlarm, newForMs);
    }
    this.#ask();
    this.#engine.wheel.add(this.#retireAlarm, RETIRE_TIMEOUT_MS);
  }

  /**
   * Sends GOAWAY for a server that stops: as {@linkcode H2Connection.retire},
   * but also on a new connection, and without waiting long for the peer.
   */
  conclude(): void {
    if (this.#isOver || this.#isStopping) return;
    if (!this.#receiver.hasSettings) return this.shutdown();
    if (this.#retirement !== "asked") this.#ask();
    this.#engine.wheel.add(this.#retireAlarm, CONCLUDE_TIMEOUT_MS);
  }

  /** Asks the peer to leave, and to tell that it has heard of it. */
  #ask(): void {
    this.#retirement = "asked";
    this.#leave(MAX_31_BITS);
    this.#ping(RETIRE_PING);
    this.#written();
  }

  /** How long the connection still counts as new; 0 or less when it is not. */
  #newForMs(): number {
    if (!this.#receiver.hasSettings) return RETIRE_AFTER_MS;
    const ageMs = this.#engine.clock.nowMs() - this.#begunMs;
    return Math.min(RETIRE_AFTER_MS - ageMs, RETIRE_AFTER_MS);
  }

  /** Takes no further requests and closes once the open ones are answered. */
  shutdown(): void {
    if (this.#isOver || this.#isStopping) return;
    this.#isStopping = true;
    this.#engine.wheel.remove(this.#retireAlarm);
    const { lastId, openCount } = this.#streams.table;
    this.#requests.lastAcceptedId = lastId;
    if (this.#receiver.hasSettings) this.#leave(lastId);
    if (openCount === 0) this.#end();
    this.#written();
  }

  /** Ends a connection before it has begun; its peer gets the reason. */
  refuse(reason: string): void {
    this.#begin();
    this.#fail(H2_ERROR.INADEQUATE_SECURITY, reason);
  }

  /** To be called when the peer has ended its side: it reads no answers. */
  ended(): void {
    this.#end();
  }

  /** To be called when the connection is closed. */
  closed(): void {
    this.#end();
    this.#alarms.clear();
  }

  /** Reads `bytes`; without any, continues after a pause. */
  #read(bytes: Uint8Array | undefined): void {
    if (this.#isOver) return;
    this.#isReading = true;
    try {
      if (bytes === undefined) this.#receiver.resume();
      else this.#receiver.feed(bytes);
      this.#streams.table.park();
    } catch (error) {
      // A bug that shows on one connection must not end the others.
      this.#engine.logger.error("Closed a connection: internal error", {
        error: error instanceof Error ? error.stack : String(error),
      });
      this.#fail(H2_ERROR.INTERNAL_ERROR, "internal error");
    }
    this.#isReading = false;
    if (!this.#isOver) this.#alarms.heard();
    this.#output.flush();
  }

  #frameHandler(): FrameHandler {
    return {
      fail: (code, reason) => this.#fail(code, reason),
      countControl: () => this.#countControl(),
      preface: () => this.#begin(),
      begun: () => {
        this.#begunMs = this.#engine.clock.nowMs();
        this.#alarms.shaken();
      },
      giveRoom: (bytes) => writeWindowUpdate(this.#output, 0, bytes),
      settings: (change) => this.#streams.settings(change),
      ping: (payload, isAnswer) =>
        isAnswer ? this.#pong(payload) : this.#ping(payload, FLAG.ACK),
      // A client's GOAWAY only refuses streams of the server, which opens none.
      goaway: () => {},
      reset: (streamId) => this.#streams.wasReset(streamId),
      windowUpdate: (streamId, more) => this.#streams.widen(streamId, more),
    };
  }

  #streamsHost(): StreamsHost {
    return {
      fail: (code, reason) => this.#fail(code, reason),
      countControl: () => this.#countControl(),
      countReset: () => {
        if (!this.#resets.pass()) this.#tooMany("too many streams are reset");
      },
      written: () => this.#written(),
      answered: () => {
        this.#control.earn(CONTROL_PER_ANSWER);
        this.#resets.earn(1);
      },
      idle: () => {
        if (this.#isStopping) this.#end();
      },
    };
  }

  #alarmHost(): AlarmHost {
    return {
      unfinished: () => this.#receiver.unfinished,
      unsentBytes: () => this.#port.unsentBytes,
      sentBytes: () => this.#writtenBytes - this.#port.unsentBytes,
      ping: () => {
        this.#ping(KEEPALIVE_PING);
        this.#written();
      },
      giveUp: (reason) => this.#giveUp(reason),
    };
  }

  /** Sends the settings of the server (RFC 9113, section 3.4). */
  #begin(): void {
    const { limits } = this.#engine;
    const type = FRAME_TYPE.SETTINGS;
    writeFrame(this.#output, serverSettings(limits), { type, streamId: 0 });
    const more = limits.connectionWindowBytes - DEFAULT_WINDOW_BYTES;
    if (more > 0) writeWindowUpdate(this.#output, 0, more);
  }

  #ping(payload: Uint8Array, flags = 0): void {
    const type = FRAME_TYPE.PING;
    writeFrame(this.#output, payload, { type, flags, streamId: 0 });
  }

  #pong(payload: Uint8Array): void {
    if (this.#retirement !== "asked") return;
    // All that the peer sent before it heard of the GOAWAY is here now.
    if (payload.every((byte, at) => byte === RETIRE_PING[at])) this.shutdown();
  }

  #countControl(): boolean {
    const isWithin = this.#control.pass();
    if (!isWithin) this.#tooMany("too many frames without use");
    return isWithin;
  }

  #tooMany(reason: string): void {
    this.#fail(H2_ERROR.ENHANCE_YOUR_CALM, reason);
  }

  /** A connection error (RFC 9113, section 5.4.1). */
  #fail(code: H2ErrorCode, reason: string): void {
    if (this.#isOver) return;
    const { logger } = this.#engine;
    const message = "Closed a connection: its peer broke the rules of HTTP/2";
    // Too many frames may come from an honest but busy client, so an
    // operator should see this.
    if (code === H2_ERROR.ENHANCE_YOUR_CALM) {
      logger.warn(message, { reason, code });
    } else logger.debug(message, { reason, code });
    writeGoaway(this.#output, this.#streams.table.lastId, { code, reason });
    this.#end();
  }

  /** Sends a GOAWAY without an error, so that the peer connects again. */
  #leave(lastStreamId: number): void {
    const code = H2_ERROR.NO_ERROR;
    writeGoaway(this.#output, lastStreamId, { code, reason: "" });
  }

  /** Cancels all streams, sends the output that waits, and closes. */
  #end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#receiver.end();
    this.#streams.cancelAll();
    this.#alarms.ending();
    this.#engine.wheel.remove(this.#retireAlarm);
    this.#output.flush();
    this.#isShut = true;
    this.#port.end();
  }

  /**
   * Plans a flush for output written outside of a read. It happens in a
   * microtask, so that answers that are ready together, such as the replies of
   * one read of a store, leave in one write.
   */
  #written(): void {
    if (this.#isReading || this.#isFlushPlanned) return;
    this.#isFlushPlanned = true;
    queueMicrotask(() => {
      this.#isFlushPlanned = false;
      this.#output.flush();
    });
  }

  #write(bytes: Uint8Array): void {
    if (this.#isShut) return;
    const { limits } = this.#engine;
    this.#writtenBytes += bytes.length;
    this.#port.write(bytes);
    this.#alarms.sending();
    const { unsentBytes } = this.#port;
    if (unsentBytes <= limits.highWaterBytes) return;
    this.#streams.writer.isCongested = true;
    if (unsentBytes <= limits.maxUnsentBytes || this.#isOver) return;
    this.#giveUp("the peer takes no answers");
  }

  #giveUp(reason: string): void {
    this.#engine.logger.debug("Gave up a connection", { reason });
    this.#end();
    this.#port.destroy();
  }
}
