/**
 * One request and its answer over a connection of its own.
 *
 * Connections are not kept: each call resolves its host again and is judged again,
 * and no request is lost to a connection that the other end is just closing.
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
import { quote } from "../../shared/quote.ts";
import type { Target } from "./target.ts";

/** An answer as it came. */
export interface RawAnswer {
  /** The HTTP status. */
  readonly status: number;
  /** All headers. */
  readonly headers: IncomingHttpHeaders;
  /** The beginning of the body. */
  readonly body: Uint8Array;
  /** Whether there was more of the body. */
  readonly isTruncated: boolean;
}

/** How far a call has come. */
export type PushPhase = "connect" | "handshake" | "exchange" | "body";

/** The outcome of an exchange, whose connection is closed then. */
export type ExchangeResult =
  | { readonly kind: "answered"; readonly answer: RawAnswer }
  | {
    readonly kind: "failed";
    /** What the network or the protocol said. */
    readonly error: unknown;
    /** When it said so. */
    readonly phase: PushPhase;
  }
  | {
    /** The signal was aborted first. */
    readonly kind: "aborted";
    /** How far the call had come. */
    readonly phase: PushPhase;
  };

/** Options of {@linkcode exchange}. */
interface ExchangeOptions {
  /** Where the request goes. */
  readonly target: Target;
  /** The method. */
  readonly method: string;
  /** The headers, judged; those of the connection are added. */
  readonly headers: Readonly<Record<string, string>>;
  /** The body. */
  readonly body: string;
  /** Finds the addresses of the host and judges them. */
  readonly lookup: LookupFunction;
  /** What is trusted at the other end of TLS. */
  readonly secureContext: SecureContext;
  /** Most bytes of the answer's body that are kept. */
  readonly maxBodyBytes: number;
  /** Ends the exchange at once, wherever it is. */
  readonly signal: AbortSignal;
}

interface OpenOptions extends ExchangeOptions {
  readonly enter: (phase: PushPhase) => void;
}

/** Most bytes of an answer's head; more of it is a fault of the protocol. */
const MAX_HEAD_BYTES = 16_384;

/**
 * Most bytes of an answer on the wire. A body of the usual bound sent byte by
 * byte stays below; endless chunk extensions or interim answers don't.
 */
const MAX_WIRE_BYTES = 1_048_576;

/** How long one of several addresses may take before the next is tried. */
const ADDRESS_ATTEMPT_MS = 1_000;

/**
 * Sends a request and reads its answer: the whole head, and the body up to the
 * bound. Follows no redirect and asks for no compression. Never rejects.
 */
export function exchange(options: ExchangeOptions): Promise<ExchangeResult> {
  const { promise, resolve } = Promise.withResolvers<ExchangeResult>();
  const { signal } = options;
  if (signal.aborted) {
    resolve({ kind: "aborted", phase: "connect" });
    return promise;
  }
  let phase: PushPhase = "connect";
  let request: ClientRequest;
  try {
    request = open({ ...options, enter: (next) => phase = next });
  } catch (error) {
    // Such as the lack of a permission; what is wrong later is an event.
    resolve({ kind: "failed", error, phase });
    return promise;
  }
  function finish(result: ExchangeResult): void {
    signal.removeEventListener("abort", abort);
    request.destroy();
    resolve(result);
  }
  function fail(error: unknown): void {
    finish({ kind: "failed", error, phase });
  }
  function abort(): void {
    finish({ kind: "aborted", phase });
  }
  signal.addEventListener("abort", abort);
  // Stays after the end, when a broken connection may still complain.
  request.on("error", fail);
  request.on("close", () => fail(new Error("the connection was closed")));
  request.on("response", (response) => {
    phase = "body";
    response.on("error", fail);
    readBody(response, {
      maxBytes: options.maxBodyBytes,
      finish: (answer) => finish({ kind: "answered", answer }),
    });
  });
  request.end(options.body);
  return promise;
}

function open(options: OpenOptions): ClientRequest {
  const { target, method, headers, body } = options;
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
      connection: "close",
    },
    maxHeaderSize: MAX_HEAD_BYTES,
    // The agents of node:https read the system's authorities for each
    // connection, which is slow and needs a permission of its own.
    createConnection: () => {
      const socket = target.isTls ? dialTls(options) : dial(options);
      watch(socket, options);
      return socket;
    },
  });
}

function watch(socket: Socket, options: OpenOptions): void {
  const { target, enter, maxBodyBytes } = options;
  const maxBytes = MAX_WIRE_BYTES + maxBodyBytes;
  let received = 0;
  socket.once("connect", () => enter(target.isTls ? "handshake" : "exchange"));
  socket.once("secureConnect", () => enter("exchange"));
  socket.on("data", (chunk: Uint8Array) => {
    received += chunk.length;
    if (received <= maxBytes) return;
    const error = new Error(`it takes more than ${maxBytes} bytes`);
    socket.destroy(Object.assign(error, { code: "ANSWER_TOO_LONG" }));
  });
}

function dial({ target, lookup }: OpenOptions): Socket {
  return connect({
    host: target.host,
    port: target.port,
    lookup,
    autoSelectFamilyAttemptTimeout: ADDRESS_ATTEMPT_MS,
  });
}

function dialTls({ target, lookup, secureContext }: OpenOptions): Socket {
  // Addresses are not sent as a server's name (RFC 6066, section 3).
  const servername = isIP(target.host) === 0 ? target.host : "";
  const options = {
    host: target.host,
    port: target.port,
    lookup,
    autoSelectFamilyAttemptTimeout: ADDRESS_ATTEMPT_MS,
    servername,
    secureContext,
    ALPNProtocols: ["http/1.1"],
    // Said aloud, since the environment could switch the check off otherwise.
    rejectUnauthorized: true,
  };
  return connectTls(options);
}

interface ReadBodyOptions {
  readonly maxBytes: number;
  readonly finish: (answer: RawAnswer) => void;
}

function readBody(response: IncomingMessage, options: ReadBodyOptions): void {
  const { maxBytes, finish } = options;
  const chunks: Uint8Array[] = [];
  let length = 0;
  function done(isTruncated: boolean): void {
    const body = Buffer.concat(chunks).subarray(0, maxBytes);
    const { statusCode = 0, headers } = response;
    finish({ status: statusCode, headers, body, isTruncated });
  }
  response.on("data", (chunk: Uint8Array) => {
    if (length > maxBytes) return;
    chunks.push(chunk);
    length += chunk.length;
    if (length > maxBytes) done(true);
  });
  response.on("end", () => done(false));
}

/** The outcome of checking headers. */
type HeadersVerdict =
  | { readonly kind: "ok" }
  | {
    readonly kind: "refused";
    /** The invalid header, as it was given. */
    readonly name: string;
    /** Why, as a message that holds no value of a header. */
    readonly reason: string;
  };

/** Options of {@linkcode judgeHeaders}. */
interface JudgeHeadersOptions {
  /**
   * Further names that are not allowed, in lower case.
   *
   * @default {[]}
   */
  readonly reserved?: readonly string[];
}

/** The headers that the service sets itself: a worker's own can't be these. */
export const SERVICE_HEADERS: readonly string[] = [
  "content-type",
  "task-attempt",
  "task-id",
  "traceparent",
  "tracestate",
  "webhook-id",
  "webhook-signature",
  "webhook-timestamp",
];

/**
 * Headers that frame the request or belong to the connection (RFC 9110, section
 * 7.6.1): they could smuggle a second request into the first.
 */
const CONNECTION_HEADERS: readonly string[] = [
  "accept-encoding",
  "connection",
  "content-length",
  "expect",
  "host",
  "http2-settings",
  "keep-alive",
  "proxy-authorization",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
];

const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,128}$/;

/** A field value of RFC 9110, section 5.5, without what is not ASCII. */
const VALUE = /^[\t\x20-\x7e]*$/;

const MAX_HEADERS = 64;
const MAX_CHARS = 65_536;

/** Judges the headers of a call, or those that a worker wants on its calls. */
export function judgeHeaders(
  headers: Readonly<Record<string, string>>,
  options: JudgeHeadersOptions = {},
): HeadersVerdict {
  const seen = new Set<string>();
  let chars = 0;
  for (const [name, value] of Object.entries(headers)) {
    const key = name.toLowerCase();
    chars += name.length + value.length;
    const fault = nameFault(key, options.reserved ?? []) ??
      (VALUE.test(value) ? undefined : "its value is not visible ASCII") ??
      (seen.has(key) ? "it is given twice" : undefined) ??
      (chars > MAX_CHARS ? "the headers are too long together" : undefined);
    if (fault !== undefined) return refused(name, fault);
    seen.add(key);
    if (seen.size > MAX_HEADERS) {
      return refused(name, `there are more than ${MAX_HEADERS} headers`);
    }
  }
  return { kind: "ok" };
}

function nameFault(
  key: string,
  reserved: readonly string[],
): string | undefined {
  if (!TOKEN.test(key)) return "its name is no header name of HTTP";
  return CONNECTION_HEADERS.includes(key) || reserved.includes(key)
    ? "the service sets it itself"
    : undefined;
}

function refused(name: string, why: string): HeadersVerdict {
  const reason = `Cannot send header ${quote(name, { maxChars: 64 })}: ${why}`;
  return { kind: "refused", name, reason };
}
