/**
 * A gRPC server on real sockets that answers with the frames a test gives it,
 * whether or not they follow the protocol.
 *
 * @module
 */

import { read32Bits } from "../../services/shared/h2/frame.ts";
import { FLAG, FRAME_TYPE } from "../../services/shared/h2/frame.ts";
import {
  buildFrame,
  concat,
  dataFrame,
  encodeMessage,
  headersFrame,
  settingsFrame,
  splitFrames,
} from "./h2_frames.ts";
import type { TestCertificate } from "./test_certificates.ts";

/** The message in the response of a call that succeeds. */
export const GOOD_MESSAGE: Uint8Array = Uint8Array.of(1, 2, 3, 4, 5, 6, 7, 8);

/**
 * Returns the frames that answer a call, including the first frames of the
 * connection: SETTINGS, their acknowledgement, a PING, HEADERS, DATA twice and
 * trailers.
 */
export function goodFrames(streamId: number): readonly Uint8Array[] {
  const prefixed = encodeMessage(GOOD_MESSAGE);
  return [
    settingsFrame([]),
    buildFrame({ type: FRAME_TYPE.SETTINGS, flags: FLAG.ACK }),
    buildFrame({ type: FRAME_TYPE.PING, payload: new Uint8Array(8) }),
    headersFrame(streamId, [
      [":status", "200"],
      ["content-type", "application/grpc"],
    ]),
    dataFrame(streamId, prefixed.subarray(0, 7), 0),
    dataFrame(streamId, prefixed.subarray(7), 0),
    headersFrame(
      streamId,
      [["grpc-status", "0"]],
      FLAG.END_HEADERS | FLAG.END_STREAM,
    ),
  ];
}

/** Returns the bytes to send for a stream; `undefined` to send nothing. */
type Answer = (streamId: number) => Uint8Array | undefined;

/**
 * How a connection behaves; one without `onHeaders` and `onEnd` is closed at
 * once.
 */
export interface ServerScript {
  /** The bytes that are sent as soon as the connection is open. */
  readonly first: Uint8Array;
  /** Called when a HEADERS frame has arrived. */
  readonly onHeaders?: Answer | undefined;
  /** Called when a DATA frame has ended the client's side of a stream. */
  readonly onEnd?: Answer | undefined;
  /** Whether the connection is closed after the first of these answers. */
  readonly closes?: boolean | undefined;
}

/** A connection on which every call succeeds. */
export const GOOD_SCRIPT: ServerScript = {
  first: settingsFrame([]),
  onEnd: (streamId) => concat(...goodFrames(streamId).slice(1)),
};

type Connection = Deno.TcpConn | Deno.TlsConn;

/** A server on a free port of the loopback interface. */
export class H2TestServer implements AsyncDisposable {
  /** The port on which the server listens. */
  readonly port: number;
  /**
   * The types of the frames that the clients have sent, for each connection.
   */
  readonly received: number[][] = [];
  readonly #listener: Deno.TcpListener | Deno.TlsListener;
  readonly #next: () => ServerScript;
  readonly #running = new Set<Promise<void>>();
  readonly #connections = new Set<Connection>();
  readonly #accepting: Promise<void>;

  /**
   * Starts to listen, with TLS when a certificate is given. `next` is called
   * for each new connection and returns how that one behaves.
   */
  constructor(next: () => ServerScript, tls?: TestCertificate) {
    this.#next = next;
    const where = { hostname: "127.0.0.1", port: 0 } as const;
    this.#listener = tls === undefined ? Deno.listen(where) : Deno.listenTls({
      ...where,
      cert: tls.certPem,
      key: tls.keyPem,
      alpnProtocols: ["h2"],
    });
    this.port = this.#listener.addr.port;
    this.#accepting = this.#accept();
  }

  /** Closes the port and all connections, and waits until they are closed. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#listener.close();
    await this.#accepting;
    for (const connection of this.#connections) this.#close(connection);
    await Promise.all(this.#running);
  }

  async #accept(): Promise<void> {
    try {
      for await (const connection of this.#listener) {
        this.#connections.add(connection);
        const run = this.#serve(connection, this.#next())
          // A client that disconnects ends only its own connection.
          .catch(() => {})
          .finally(() => {
            this.#close(connection);
            this.#running.delete(run);
          });
        this.#running.add(run);
      }
    } catch {
      // The listener was closed.
    }
  }

  async #serve(connection: Connection, script: ServerScript): Promise<void> {
    const kinds: number[] = [];
    this.received.push(kinds);
    await write(connection, script.first);
    if (script.onHeaders === undefined && script.onEnd === undefined) return;
    let rest = new Uint8Array(0);
    // The number of bytes of the client's preface, which is not a frame.
    let skip = 24;
    for await (const chunk of connection.readable) {
      rest = concat(rest, chunk) as Uint8Array<ArrayBuffer>;
      if (skip > 0 && rest.length >= skip) {
        rest = rest.slice(skip);
        skip = 0;
      }
      while (skip === 0 && rest.length >= 9) {
        const length = 9 + (read32Bits(rest, 0) >>> 8);
        if (rest.length < length) break;
        const [frame] = splitFrames(rest.subarray(0, length));
        rest = rest.slice(length);
        if (frame === undefined) continue;
        kinds.push(frame.type);
        const { type, flags, streamId } = frame;
        let answer: Uint8Array | undefined;
        if (type === FRAME_TYPE.HEADERS) answer = script.onHeaders?.(streamId);
        if (type === FRAME_TYPE.DATA && (flags & FLAG.END_STREAM) !== 0) {
          answer = script.onEnd?.(streamId);
        }
        if (answer === undefined) continue;
        await write(connection, answer);
        if (script.closes) return;
      }
    }
  }

  #close(connection: Connection): void {
    if (!this.#connections.delete(connection)) return;
    try {
      connection.close();
    } catch {
      // The connection was already closed by its stream.
    }
  }
}

async function write(
  connection: Connection,
  bytes: Uint8Array,
): Promise<void> {
  for (let at = 0; at < bytes.length;) {
    at += await connection.write(bytes.subarray(at));
  }
}
