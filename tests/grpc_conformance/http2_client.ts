/**
 * A low-level HTTP/2 client, for requests that no gRPC client would send.
 *
 * @module
 */

import { Buffer } from "node:buffer";
import { connect } from "node:http2";
import type {
  ClientHttp2Session,
  ClientHttp2Stream,
  IncomingHttpHeaders,
} from "node:http2";
import { connect as connectSocket } from "node:net";
import type { Socket } from "node:net";
import { within } from "./waiting.ts";

/** The response to a request. */
export interface Http2Answer {
  /** HTTP status; 0 when the stream was reset before an answer. */
  readonly httpStatus: number;
  /** `grpc-status`, from the headers or the trailers. */
  readonly grpcStatus: number | undefined;
  /** `grpc-message`, in its encoded form. */
  readonly grpcMessage: string | undefined;
  /** The bytes of the body. */
  readonly body: Uint8Array;
}

/**
 * Returns a message with its length prefix (PROTOCOL-HTTP2.md,
 * "Length-Prefixed-Message").
 */
export function frame(message: Uint8Array, flag = 0): Uint8Array {
  const framed = new Uint8Array(5 + message.length);
  framed[0] = flag;
  new DataView(framed.buffer).setUint32(1, message.length);
  framed.set(message, 5);
  return framed;
}

/**
 * Runs `body` with an HTTP/2 connection, and closes the connection afterwards.
 */
export async function withHttp2(
  target: string,
  body: (session: ClientHttp2Session) => Promise<void>,
): Promise<void> {
  const session = connect(`http://${target}`);
  session.on("error", () => {});
  const closed = new Promise<void>((resolve) =>
    session.once("close", () => resolve())
  );
  try {
    await body(session);
  } finally {
    session.destroy();
    await within(closed, "the close of an HTTP/2 connection");
  }
}

/**
 * Opens a stream with the headers of a gRPC request and with the given headers,
 * which take precedence.
 */
export function openStream(
  session: ClientHttp2Session,
  path: string,
  headers: Readonly<Record<string, string>> = {},
): ClientHttp2Stream {
  return session.request({
    ":method": "POST",
    ":path": path,
    "content-type": "application/grpc",
    "te": "trailers",
    ...headers,
  });
}

/** Sends `parts` one by one and reads the response to its end. */
export async function send(
  stream: ClientHttp2Stream,
  parts: readonly Uint8Array[],
): Promise<Http2Answer> {
  const answer = read(stream);
  for (const part of parts) {
    await new Promise<void>((resolve) => {
      stream.write(Buffer.from(part), () => resolve());
    });
  }
  stream.end();
  return await within(answer, "the answer to an HTTP/2 request");
}

/** Reads the response of a stream to its end. */
export function read(stream: ClientHttp2Stream): Promise<Http2Answer> {
  let headers: IncomingHttpHeaders = {};
  let trailers: IncomingHttpHeaders = {};
  const parts: Uint8Array[] = [];
  stream.on("response", (received) => headers = received);
  stream.on("trailers", (received) => trailers = received);
  stream.on("data", (part: Uint8Array) => parts.push(part));
  stream.on("error", () => {});
  return new Promise((resolve) => {
    stream.once("close", () => {
      const code = trailers["grpc-status"] ?? headers["grpc-status"];
      const text = trailers["grpc-message"] ?? headers["grpc-message"];
      resolve({
        httpStatus: Number(headers[":status"] ?? 0),
        grpcStatus: code === undefined ? undefined : Number(code),
        grpcMessage: text === undefined ? undefined : String(text),
        body: new Uint8Array(Buffer.concat(parts)),
      });
    });
  });
}

/** Opens a plain TCP connection; resolves once it is open. */
export function openSocket(port: number): Promise<Socket> {
  const socket = connectSocket({ host: "127.0.0.1", port });
  socket.on("error", () => {});
  const open = new Promise<Socket>((resolve) =>
    socket.once("connect", () => resolve(socket))
  );
  return within(open, "a TCP connection");
}

/** Resolves when a new connection to `port` is refused, or closed at once. */
export function refused(port: number): Promise<void> {
  const socket = connectSocket({ host: "127.0.0.1", port });
  socket.on("error", () => {});
  return closed(socket);
}

/**
 * Resolves when `socket` is closed; whatever it still receives is discarded.
 */
export function closed(socket: Socket): Promise<void> {
  socket.resume();
  const done = new Promise<void>((resolve) => {
    if (socket.destroyed) resolve();
    else socket.once("close", () => resolve());
  });
  return within(done, "the close of a TCP connection");
}
