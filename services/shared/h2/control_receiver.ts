/**
 * Handles the frames that carry no request: SETTINGS, PING, WINDOW_UPDATE and
 * the like (RFC 9113, section 6).
 *
 * @module
 */

import type { ConnectionStreams } from "./connection_streams.ts";
import { FLAG, type Frame, FRAME_TYPE, H2_ERROR, read31Bits } from "./frame.ts";
import { writeFrame } from "./output_batch.ts";
import { readSettings } from "./peer_settings.ts";
import type { ReceiverHost } from "./request_receiver.ts";

/** Does what the control frames of a peer ask for. */
export class ControlReceiver {
  readonly #host: ReceiverHost;
  readonly #streams: ConnectionStreams;
  readonly #onPong: (payload: Uint8Array) => void;

  /**
   * A receiver of the connection `host`; `onPong` gets the payload of each
   * answer to a PING of the server.
   */
  constructor(
    host: ReceiverHost,
    streams: ConnectionStreams,
    onPong: (payload: Uint8Array) => void,
  ) {
    this.#host = host;
    this.#streams = streams;
    this.#onPong = onPong;
  }

  /** Handles a frame; false when nothing more is to be read. */
  frame(frame: Frame): boolean {
    const { type, streamId, start, end } = frame;
    const length = end - start;
    switch (type) {
      case FRAME_TYPE.SETTINGS:
        return this.#settings(frame);
      case FRAME_TYPE.PING:
        if (length !== 8) return this.#sizeError("PING");
        return streamId === 0 ? this.#ping(frame) : this.#misplaced("PING");
      case FRAME_TYPE.WINDOW_UPDATE:
        if (length !== 4) return this.#sizeError("WINDOW_UPDATE");
        return this.#windowUpdate(frame);
      case FRAME_TYPE.RST_STREAM:
        if (length !== 4) return this.#sizeError("RST_STREAM");
        return this.#reset(frame);
      case FRAME_TYPE.GOAWAY:
        // GOAWAY of a client only refuses streams of the server, which opens
        // none. It may come repeatedly; the client ends by closing.
        if (length < 8) return this.#sizeError("GOAWAY");
        return streamId === 0 || this.#misplaced("GOAWAY");
      case FRAME_TYPE.PRIORITY:
        if (streamId === 0) return this.#misplaced("PRIORITY");
        // Its content no longer means anything (RFC 9113, section 5.3.2).
        return length === 5 || this.#sizeError("PRIORITY");
      case FRAME_TYPE.PUSH_PROMISE:
        return this.#protocolError("PUSH_PROMISE of a client");
      default:
        return true;
    }
  }

  #settings(frame: Frame): boolean {
    if (frame.streamId !== 0) return this.#misplaced("SETTINGS");
    if ((frame.flags & FLAG.ACK) !== 0) {
      return frame.start === frame.end || this.#sizeError("SETTINGS");
    }
    const outcome = readSettings(frame);
    if (outcome.kind === "failed") {
      return this.#host.fail(outcome.code, "SETTINGS are not valid");
    }
    const { change } = outcome;
    const { writer, table } = this.#streams;
    if (change.headerTableBytes !== undefined) {
      writer.headers.resize(
        change.headerTableBytes,
        change.leastHeaderTableBytes ?? change.headerTableBytes,
      );
    }
    if (change.initialWindowBytes !== undefined) {
      if (!writer.resizeWindows(change.initialWindowBytes, table.open())) {
        return this.#host.fail(
          H2_ERROR.FLOW_CONTROL_ERROR,
          "a window is too large",
        );
      }
    }
    writeFrame(this.#streams.output, new Uint8Array(0), {
      type: FRAME_TYPE.SETTINGS,
      flags: FLAG.ACK,
      streamId: 0,
    });
    writer.pump();
    return true;
  }

  #ping(frame: Frame): boolean {
    const payload = frame.bytes.subarray(frame.start, frame.end);
    if ((frame.flags & FLAG.ACK) === 0) {
      writeFrame(this.#streams.output, payload, {
        type: FRAME_TYPE.PING,
        flags: FLAG.ACK,
        streamId: 0,
      });
    } else this.#onPong(payload);
    return true;
  }

  #windowUpdate({ streamId, bytes, start }: Frame): boolean {
    const more = read31Bits(bytes, start);
    const { writer, table } = this.#streams;
    if (streamId === 0) {
      if (more === 0) return this.#protocolError("WINDOW_UPDATE by 0");
      if (!writer.grow(more)) {
        return this.#host.fail(
          H2_ERROR.FLOW_CONTROL_ERROR,
          "window is too large",
        );
      }
      writer.pump();
      return true;
    }
    const stream = table.get(streamId);
    if (stream === undefined) {
      // The peer may have sent it before it read the end of the answer.
      return streamId <= table.lastId ||
        this.#protocolError("WINDOW_UPDATE on an idle stream");
    }
    if (more === 0) {
      this.#streams.fail(stream, H2_ERROR.PROTOCOL_ERROR);
      return this.#host.countReset();
    }
    if (!writer.growStream(stream, more)) {
      this.#streams.fail(stream, H2_ERROR.FLOW_CONTROL_ERROR);
      return this.#host.countReset();
    }
    writer.pump();
    return true;
  }

  #reset({ streamId }: Frame): boolean {
    if (streamId === 0) return this.#misplaced("RST_STREAM");
    const { table } = this.#streams;
    const stream = table.get(streamId);
    if (stream === undefined) {
      return streamId <= table.lastId ||
        this.#protocolError("RST_STREAM on an idle stream");
    }
    this.#streams.cancel(stream);
    return this.#host.countReset();
  }

  #protocolError(reason: string): false {
    return this.#host.fail(H2_ERROR.PROTOCOL_ERROR, reason);
  }

  #misplaced(name: string): false {
    return this.#protocolError(`${name} on a stream of the other kind`);
  }

  #sizeError(name: string): false {
    return this.#host.fail(
      H2_ERROR.FRAME_SIZE_ERROR,
      `${name} of a wrong size`,
    );
  }
}
