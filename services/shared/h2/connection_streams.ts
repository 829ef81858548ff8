/**
 * The streams of a server's connection: sends their answers and ends them,
 * whether answered, refused, cancelled or past their deadline.
 *
 * @module
 */

import type { H2Engine } from "./engine.ts";
import { FLAG, FRAME_TYPE, H2_ERROR, type H2ErrorCode } from "./frame.ts";
import { type OutputBatch, writeFrame, writeReset } from "./output_batch.ts";
import type { SettingsChange } from "./peer_settings.ts";
import type { StatusText } from "./response_headers.ts";
import { type ResponseEvents, ResponseWriter } from "./response_writer.ts";
import {
  DEADLINE_STATUS,
  type H2Stream,
  type StreamHost,
  StreamTable,
} from "./stream.ts";

/** What the streams ask of their connection, and tell it. */
export interface StreamsHost {
  /** Ends the connection with an error. */
  fail(code: H2ErrorCode, reason: string): void;
  /** Counts a frame without use; false when that ended the connection. */
  countControl(): boolean;
  /** Counts a faulty or cancelled stream, which may end the connection. */
  countReset(): void;

  /** Something has been added to the output. */
  written(): void;
  /** An answer has been given in full. */
  answered(): void;
  /** No stream is open now. */
  idle(): void;
}

/** The streams of a connection and their answers. */
export class ConnectionStreams implements StreamHost, ResponseEvents {
  /** The streams. */
  readonly table: StreamTable;
  /** Writes the answers. */
  readonly writer: ResponseWriter;
  /** What all connections of the server share. */
  readonly engine: H2Engine;
  /** Collects the frames to send. */
  readonly output: OutputBatch;
  /** The connection. */
  readonly host: StreamsHost;

  /** No streams yet. */
  constructor(host: StreamsHost, engine: H2Engine, output: OutputBatch) {
    this.host = host;
    this.engine = engine;
    this.output = output;
    this.writer = new ResponseWriter(output, this);
    // A call that is answered at once never gets here, so it needs no timer.
    this.table = new StreamTable((stream) => {
      const { timeoutMs } = stream.head;
      if (timeoutMs >= 0) this.engine.wheel.add(stream, timeoutMs);
    });
  }

  /** Sends the only message and ends the answer with OK. */
  answer(stream: H2Stream, message: Uint8Array): void {
    if (stream.isClosed || stream.ending !== undefined) return;
    if (this.writer.answer(stream, message)) this.finished(stream);
    this.host.written();
  }

  /** Sends one of several messages; false when it must wait. */
  send(stream: H2Stream, message: Uint8Array): boolean {
    if (stream.isClosed || stream.ending !== undefined) return true;
    const isGone = this.writer.send(stream, message);
    this.host.written();
    return isGone;
  }

  /** Ends the answer with a status, after a message that waits. */
  finish(stream: H2Stream, status: StatusText): void {
    if (stream.isClosed || stream.ending !== undefined) return;
    if (this.writer.finish(stream, status)) this.finished(stream);
    this.host.written();
  }

  /** Answers with an HTTP status and nothing else. */
  refuse(stream: H2Stream, httpStatus: number): void {
    this.writer.refuse(stream.id, httpStatus);
    this.finished(stream);
  }

  /** Frees the place of a request that is no longer worked on. */
  release(stream: H2Stream): void {
    this.table.release(stream);
  }

  /** Answers DEADLINE_EXCEEDED and drops a message that waits. */
  expired(stream: H2Stream): void {
    const { owner } = stream;
    this.writer.forget(stream);
    this.writer.finish(stream, DEADLINE_STATUS);
    this.finished(stream);
    this.host.written();
    owner?.cancelled();
  }

  /**
   * Answers a request that is not read, with a gRPC status or one of HTTP, and
   * counts it as faulty. It does not count as answered, which would allow the
   * peer more of them.
   */
  reject(stream: H2Stream, status: StatusText | number): void {
    if (typeof status === "number") this.writer.refuse(stream.id, status);
    else this.writer.finish(stream, status);
    this.#over(stream);
    this.host.countReset();
  }

  /** Closes a stream whose last frame is written. */
  finished(stream: H2Stream): void {
    if (stream.isClosed) return;
    this.host.answered();
    this.#over(stream);
  }

  /**
   * Ends the connection for a frame of a stream that was never opened. On one
   * that is closed, the peer may have sent it before it read the end.
   */
  #refuseIdle(streamId: number, name: string): void {
    if (streamId <= this.table.lastId) return;
    const reason = `${name} on an idle stream`;
    this.host.fail(H2_ERROR.PROTOCOL_ERROR, reason);
  }

  #windowTooLarge(): void {
    this.host.fail(H2_ERROR.FLOW_CONTROL_ERROR, "a window is too large");
  }

  #over(stream: H2Stream): void {
    if (!stream.isRemoteClosed) {
      // The peer need not send the rest of its request (RFC 9113, 8.1).
      this.reset(stream.id, H2_ERROR.NO_ERROR);
    }
    this.#close(stream);
  }

  /** To be called after a frame that is no answer was added to the output. */
  written(): void {
    this.host.written();
  }

  /** Tells the owner of a stream that its waiting message is written. */
  drained(stream: H2Stream): void {
    stream.owner?.drained();
  }

  /**
   * Resets a stream on which the peer broke the rules, cancels and counts it.
   */
  breach(stream: H2Stream, code: H2ErrorCode): void {
    if (stream.isRemoteClosed) writeReset(this.output, stream.id, code);
    else this.reset(stream.id, code);
    this.cancel(stream);
    this.host.countReset();
  }

  /** Applies settings of the peer, and acknowledges them. */
  settings(change: Readonly<SettingsChange>): void {
    const { writer, table } = this;
    if (change.headerTableBytes !== undefined) {
      writer.headers.resize(
        change.headerTableBytes,
        change.leastHeaderTableBytes ?? change.headerTableBytes,
      );
    }
    const { initialWindowBytes } = change;
    if (
      initialWindowBytes !== undefined &&
      !writer.resizeWindows(initialWindowBytes, table.open())
    ) return this.#windowTooLarge();
    writeFrame(this.output, new Uint8Array(0), {
      type: FRAME_TYPE.SETTINGS,
      flags: FLAG.ACK,
      streamId: 0,
    });
    writer.pump();
  }

  /** The peer has room for more bytes, on a stream or on all (0). */
  widen(streamId: number, more: number): void {
    const { host, writer, table } = this;
    if (streamId === 0) {
      if (more === 0) {
        return host.fail(H2_ERROR.PROTOCOL_ERROR, "WINDOW_UPDATE by 0");
      }
      if (!writer.grow(more)) return this.#windowTooLarge();
      return writer.pump();
    }
    const stream = table.get(streamId);
    if (stream === undefined) {
      return this.#refuseIdle(streamId, "WINDOW_UPDATE");
    }
    if (more === 0) return this.breach(stream, H2_ERROR.PROTOCOL_ERROR);
    if (!writer.growStream(stream, more)) {
      return this.breach(stream, H2_ERROR.FLOW_CONTROL_ERROR);
    }
    writer.pump();
  }

  /** The peer has ended a stream. */
  wasReset(streamId: number): void {
    const stream = this.table.get(streamId);
    if (stream === undefined) return this.#refuseIdle(streamId, "RST_STREAM");
    this.cancel(stream);
    this.host.countReset();
  }

  /** Resets a stream on which the peer may still send frames. */
  reset(streamId: number, code: H2ErrorCode): void {
    writeReset(this.output, streamId, code);
    this.table.remember(streamId);
  }

  /** Ends a stream without an answer, and tells its owner. */
  cancel(stream: H2Stream): void {
    const { owner } = stream;
    this.#close(stream);
    owner?.cancelled();
  }

  /** Cancels all open streams. */
  cancelAll(): void {
    for (const stream of [...this.table.open()]) this.cancel(stream);
  }

  #close(stream: H2Stream): void {
    if (!this.table.close(stream)) return;
    stream.owner = undefined;
    this.engine.wheel.remove(stream);
    this.writer.forget(stream);
    stream.reader?.release();
    stream.reader = undefined;
    stream.intake?.close();
    if (this.table.openCount === 0) this.host.idle();
  }
}
