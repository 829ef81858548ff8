/**
 * Sends a single HTTP request, over a connection that was kept or a new one, and
 * reads the answer, or tells why it failed.
 *
 * A request that could not be written to a kept connection is sent over a new
 * one. One that was written, even in part, is not: the worker may have begun.
 *
 * @module
 */

import { Buffer } from "node:buffer";
import {
  type ClientRequest,
  type IncomingHttpHeaders,
  type IncomingMessage,
  request as requestHttp,
} from "node:http";
import { connect, isIP, type LookupFunction, type Socket } from "node:net";
import { connect as connectTls, type SecureContext } from "node:tls";
import type { Target } from "./call_rules.ts";
import type { Connection, PushConnections } from "./push_connections.ts";
import {
  type FailedExchange,
  getErrorCode,
  type PushPhase,
} from "./push_failure.ts";

/** An answer as it was received. */
export interface RawAnswer {
  /** The HTTP status. */
  readonly status: number;
  /** All headers. */
  readonly headers: IncomingHttpHeaders;
  /** The beginning of the body. */
  readonly body: Uint8Array;
  /** Whether there was more of the body. */
  readonly isTruncated: boolean;
  /** Why the body can't be read; absent when it can. */
  readonly unreadable?: string | undefined;
}

/** The outcome of an exchange. Its connection is kept or closed by then. */
type ExchangeResult =
  | { readonly kind: "answered"; readonly answer: RawAnswer }
  | FailedExchange;

/** Options of {@linkcode exchange}. */
interface ExchangeOptions {
  /** The host, port and path of the request. */
  readonly target: Target;
  /** The method. */
  readonly method: string;
  /** The headers, already judged; the connection's own headers are added. */
  readonly headers: Readonly<Record<string, string>>;
  /** The body. */
  readonly body: string;
  /** Resolves the host and judges its addresses. */
  readonly lookup: LookupFunction;
  /** The certificate authorities that are trusted. */
  readonly secureContext: SecureContext;
  /** Aborts the exchange at once, in any phase. */
  readonly signal: AbortSignal;
  /** Connections that are kept between calls. */
  readonly connections: PushConnections;
  /** Calls with the same owner, and no others, share connections. */
  readonly owner: string;
}

interface OpenOptions extends ExchangeOptions {
  readonly socket: Socket;
}

/** The most bytes of an answer's head; a longer head is a protocol error. */
const MAX_HEAD_BYTES = 16_384;

/**
 * The most bytes of an answer on the wire. A body of the kept size stays below
 * this even if it is sent byte by byte; endless chunk extensions or interim
 * answers do not.
 */
const MAX_WIRE_BYTES = 1_048_576;

/** The most bytes of an answer's body that are kept. */
export const MAX_BODY_BYTES = 65_536;

/** The most bytes of an answer, and those that its body may expand to. */
export const MAX_ANSWER_BYTES: number = MAX_WIRE_BYTES + MAX_BODY_BYTES;

/**
 * How many milliseconds one of several addresses may take before the next one
 * is tried.
 */
const ADDRESS_ATTEMPT_MS = 1_000;

/**
 * The largest request, in bytes, that a connection takes as a whole or not at
 * all.
 */
const MAX_WRITE_BYTES = 16_384;

/**
 * Sends a request and reads its answer: the whole head, and the body up to the
 * size limit. Redirects are not followed and no compression is asked for. Never
 * rejects.
 */
export async function exchange(
  options: ExchangeOptions,
): Promise<ExchangeResult> {
  const { connections, owner, target } = options;
  const place = `${owner}\n${target.origin}`;
  const kept = await connections.take(place);
  if (kept !== undefined) {
    const result = await exchangeOver(kept, { ...options, place });
    if (!isUnsent(result, options)) return result;
  }
  return await exchangeOver(undefined, { ...options, place });
}

/**
 * Tells whether nothing of a request was taken by a connection that had ended
 * before.
 */
function isUnsent(
  result: ExchangeResult,
  { body, headers, target }: ExchangeOptions,
): boolean {
  const head = JSON.stringify([headers, target]);
  return result.kind === "failed" && result.phase === "exchange" &&
    getErrorCode(result.error) === "EPIPE" &&
    Buffer.byteLength(head) + Buffer.byteLength(body) <= MAX_WRITE_BYTES;
}

function exchangeOver(
  kept: Connection | undefined,
  options: ExchangeOptions & { readonly place: string },
): Promise<ExchangeResult> {
  const { promise, resolve } = Promise.withResolvers<ExchangeResult>();
  const { signal, connections, place } = options;
  if (signal.aborted) {
    kept?.socket.destroy();
    resolve({ kind: "aborted", phase: "connect" });
    return promise;
  }
  let phase: PushPhase = kept === undefined ? "connect" : "exchange";
  let request: ClientRequest;
  let socket: Socket;
  try {
    socket = kept?.socket ?? dial(options, (next) => phase = next);
    request = open({ ...options, socket });
  } catch (error) {
    // Some errors are thrown at once, such as a missing permission; later ones
    // are events.
    resolve({ kind: "failed", error, phase });
    return promise;
  }
  const unbind = bounded(socket);
  const openedMs = kept?.openedMs ?? connections.nowMs();
  function finish(result: ExchangeResult): void {
    signal.removeEventListener("abort", abort);
    unbind();
    if (result.kind === "answered" && isReusable(request, result.answer)) {
      const { "keep-alive": keepAlive } = result.answer.headers;
      // The request still holds the connection until it has emitted this.
      socket.once("free", () =>
        connections.keep({ socket, openedMs }, {
          ...{ place, keepAlive: toHeader(keepAlive) },
        }));
    } else request.destroy();
    resolve(result);
  }
  function fail(error: unknown): void {
    finish({ kind: "failed", error, phase });
  }
  function abort(): void {
    finish({ kind: "aborted", phase });
  }
  signal.addEventListener("abort", abort);
  // The listener stays after the end, since a broken connection may emit
  // another error.
  request.on("error", fail);
  request.on("close", () => fail(new Error("the connection was closed")));
  request.on("response", (response) => {
    phase = "body";
    response.on("error", fail);
    readBody(response, (answer) => finish({ kind: "answered", answer }));
  });
  request.end(options.body);
  return promise;
}

function open(options: OpenOptions): ClientRequest {
  const { target, method, headers, body, socket } = options;
  return requestHttp({
    host: target.host,
    port: target.port,
    defaultPort: target.isTls ? 443 : 80,
    path: target.path,
    method,
    headers: {
      ...headers,
      "accept-encoding": "identity",
      "content-length": String(Buffer.byteLength(body)),
      connection: "keep-alive",
    },
    maxHeaderSize: MAX_HEAD_BYTES,
    // The agents of node:https read the system's certificate authorities for
    // each connection, which is slow and needs an additional permission.
    createConnection: () => socket,
  });
}

/** Tells whether another request may follow on the connection of an answer. */
function isReusable(
  request: ClientRequest,
  { isTruncated, headers }: RawAnswer,
): boolean {
  return request.shouldKeepAlive && request.writableFinished && !isTruncated &&
    !/\bclose\b/i.test(headers.connection ?? "");
}

function toHeader(
  value: string | readonly string[] | undefined,
): string | undefined {
  return typeof value === "string" ? value : value?.[0];
}

/** Bounds what a connection receives; returns what ends that. */
function bounded(socket: Socket): () => void {
  let received = 0;
  const count = (chunk: Uint8Array): void => {
    received += chunk.length;
    if (received <= MAX_ANSWER_BYTES) return;
    const error = new Error(`it takes more than ${MAX_ANSWER_BYTES} bytes`);
    socket.destroy(Object.assign(error, { code: "ANSWER_TOO_LONG" }));
  };
  socket.on("data", count);
  return () => socket.off("data", count);
}

/** Opens a new connection; `enter` is told each phase that it reaches. */
function dial(
  { target, lookup, secureContext }: ExchangeOptions,
  enter: (phase: PushPhase) => void,
): Socket {
  const { host, port } = target;
  const options = {
    host,
    port,
    lookup,
    autoSelectFamilyAttemptTimeout: ADDRESS_ATTEMPT_MS,
  };
  if (!target.isTls) {
    return connect(options).once("connect", () => enter("exchange"));
  }
  const tlsOptions = {
    ...options,
    // An IP address is not sent as a server name (RFC 6066, section 3).
    servername: isIP(host) === 0 ? host : "",
    secureContext,
    ALPNProtocols: ["http/1.1"],
    // This is set explicitly, since the environment could disable the check
    // otherwise.
    rejectUnauthorized: true,
  };
  return connectTls(tlsOptions)
    .once("connect", () => enter("handshake"))
    .once("secureConnect", () => enter("exchange"));
}

function readBody(
  response: IncomingMessage,
  finish: (answer: RawAnswer) => void,
): void {
  const chunks: Uint8Array[] = [];
  let length = 0;
  function done(isTruncated: boolean): void {
    const body = Buffer.concat(chunks).subarray(0, MAX_BODY_BYTES);
    const { statusCode = 0, headers } = response;
    finish({ status: statusCode, headers, body, isTruncated });
  }
  response.on("data", (chunk: Uint8Array) => {
    if (length > MAX_BODY_BYTES) return;
    chunks.push(chunk);
    length += chunk.length;
    if (length > MAX_BODY_BYTES) done(true);
  });
  response.on("end", () => done(false));
}
