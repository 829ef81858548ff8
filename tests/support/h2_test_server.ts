/**
 * A server of gRPC on real sockets whose answers are frames that a test writes,
 * whatever rules they break.
 *
 * @module
 */

import { read32Bits } from "../../services/shared/h2/frame.ts";
import { FLAG, FRAME_TYPE } from "../../services/shared/h2/frame.ts";
import {
  concat,
  dataFrame,
  frameOf,
  framesOf,
  headersFrame,
  messageOf,
  settingsFrame,
} from "./h2_frames.ts";
import type { TestCertificate } from "./test_certificates.ts";

/** What a call is answered with when all goes well. */
export const GOOD_MESSAGE: Uint8Array = Uint8Array.of(1, 2, 3, 4, 5, 6, 7, 8);

/**
 * The frames that answer a call, the first ones of the connection among them:
 * SETTINGS, their acknowledgement, a PING, HEADERS, DATA twice and trailers.
 */
export function goodFrames(streamId: number): readonly Uint8Array[] {
  const prefixed = messageOf(GOOD_MESSAGE);
  return [
    settingsFrame([]),
    frameOf({ type: FRAME_TYPE.SETTINGS, flags: FLAG.ACK }),
    frameOf({ type: FRAME_TYPE.PING, payload: new Uint8Array(8) }),
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

/** What is sent for a stream, if anything is. */
type Answer = (streamId: number) => Uint8Array | undefined;

/** What a connection does; one that answers nothing is closed at once. */
export interface ServerScript {
  /** What is sent as soon as the connection is there. */
  readonly first: Uint8Array;
  /** What is sent once a stream has been opened. */
  readonly onHeaders?: Answer | undefined;
  /** What is sent once the client has ended its side of a stream. */
  readonly onEnd?: Answer | undefined;
  /** Whether the connection is closed after the first of these answers. */
  readonly closes?: boolean | undefined;
}

/** A connection that answers each call well. */
export const GOOD_SCRIPT: ServerScript = {
  first: settingsFrame([]),
  onEnd: (streamId) => concat(...goodFrames(streamId).slice(1)),
};

type Connection = Deno.TcpConn | Deno.TlsConn;

/** Listens on a free port of the loopback interface. */
export class H2TestServer implements AsyncDisposable {
  /** Where it listens. */
  readonly port: number;
  /** What the clients have sent, by connection. */
  readonly received: number[][] = [];
  readonly #listener: Deno.TcpListener | Deno.TlsListener;
  readonly #next: () => ServerScript;
  readonly #running = new Set<Promise<void>>();
  readonly #connections = new Set<Connection>();
  readonly #accepting: Promise<void>;

  /**
   * Each connection does what `next` says when it comes, over TLS when there is
   * a certificate.
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

  /** Closes everything and waits until it is closed. */
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
          // A client that is gone ends the connection, and only that.
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
    // The preface is no frame.
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
        const [frame] = framesOf(rest.subarray(0, length));
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
      // Its stream has closed it.
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
