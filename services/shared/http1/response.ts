/**
 * Encodes answers as HTTP/1.1 (RFC 9112).
 *
 * @module
 */

import { STATUS_TEXT } from "@std/http/status";
import { Buffer } from "node:buffer";
import { type HttpResponse, PROBLEM_MEDIA_TYPE } from "../http/exchange.ts";

/** How an answer is sent. */
export interface EncodeOptions {
  /** Whether it answers HEAD. */
  readonly isHead: boolean;
  /** What the connection field says, if there is one. */
  readonly connection: "close" | "keep-alive" | undefined;
  /**
   * Whether a stream is sent in chunks, as HTTP/1.0 does not know them.
   *
   * @default {false}
   */
  readonly isChunked?: boolean;
  /** The value of the date field. */
  readonly date: string;
  /**
   * A buffer for the answer, used when the answer fits; it must not change
   * until the answer is written.
   *
   * @default memory of its own
   */
  readonly output?: Uint8Array | undefined;
}

/** What is written, in this order; a small answer is one piece. */
export type EncodedResponse = readonly Uint8Array[];

/** A body up to this size is copied behind its head, to save a write. */
const MAX_COPIED_BYTES = 32_768;

/** Room for the head in an output buffer; the body is encoded behind it. */
const HEAD_BYTES = 2_048;
/** Most bytes that a UTF-16 code unit becomes in UTF-8. */
const MAX_BYTES_PER_UNIT = 3;

const NAME = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const VALUE = /^[\t -~]*$/;
/** Fields that the server sets itself, so a handler may not. */
const OWN_FIELDS: ReadonlySet<string> = new Set([
  "connection",
  "content-length",
  "date",
  "keep-alive",
  "transfer-encoding",
  "upgrade",
]);
/** Names that most answers have, which need not be checked each time. */
const USUAL_NAMES: ReadonlySet<string> = new Set([
  "cache-control",
  "content-type",
  "etag",
  "location",
  "x-request-id",
]);
const REASON_PHRASES: Readonly<Record<number, string | undefined>> =
  STATUS_TEXT;

/**
 * Encodes an answer.
 *
 * @throws {TypeError} when a header field may not be sent
 * @throws {RangeError} when the status is not that of a final answer
 */
export function encodeResponse(
  response: HttpResponse,
  options: EncodeOptions,
): EncodedResponse {
  const { status } = response;
  if (!Number.isInteger(status) || status < 200 || status > 599) {
    throw new RangeError(`Cannot send answer: the status is "${status}"`);
  }
  let head = `HTTP/1.1 ${status} ${REASON_PHRASES[status] ?? ""}\r\n`;
  for (const name in response.headers) {
    const value = response.headers[name]!;
    if (typeof value === "string") head += field(name, value);
    else for (const one of value) head += field(name, one);
  }
  head += `date: ${options.date}\r\n`;
  if (options.connection !== undefined) {
    head += `connection: ${options.connection}\r\n`;
  }
  // RFC 9110, 8.6: neither may carry a length, and neither has content.
  if (status === 204) return [Buffer.from(`${head}\r\n`)];
  if (response.stream !== undefined) {
    const coding = options.isChunked ? "transfer-encoding: chunked\r\n" : "";
    return [Buffer.from(`${head}${coding}\r\n`)];
  }
  const body = response.body ?? "";
  const { output } = options;
  if (
    output !== undefined && typeof body === "string" && body !== "" &&
    !options.isHead && status !== 304 && head.length < HEAD_BYTES - 64 &&
    body.length * MAX_BYTES_PER_UNIT <= output.length - HEAD_BYTES
  ) return [encodeInto(output, head, body)];
  const bytes = typeof body === "string"
    ? Buffer.byteLength(body)
    : body.length;
  // The length that a 200 would have had is not known for a 304.
  if (status !== 304) head += `content-length: ${bytes}\r\n`;
  head += "\r\n";
  if (options.isHead || status === 304 || bytes === 0) {
    return [Buffer.from(head)];
  }
  if (typeof body === "string") return [Buffer.from(head + body)];
  const start = Buffer.from(head);
  return bytes <= MAX_COPIED_BYTES
    ? [Buffer.concat([start, body])]
    : [start, body];
}

/** Ends the chunks of a stream. */
export const LAST_CHUNK: Uint8Array = Buffer.from("0\r\n\r\n");

/** Encodes some bytes of a stream, of which there is at least one. */
export function encodeChunk(bytes: Uint8Array): Uint8Array {
  const start = `${bytes.length.toString(16)}\r\n`;
  const chunk = Buffer.allocUnsafe(start.length + bytes.length + 2);
  chunk.write(start, "latin1");
  chunk.set(bytes, start.length);
  chunk.write("\r\n", start.length + bytes.length, "latin1");
  return chunk;
}

const encoder = new TextEncoder();

/**
 * Encodes the body first, which tells its length, and then the head before it.
 */
function encodeInto(
  output: Uint8Array,
  start: string,
  body: string,
): Uint8Array {
  const { written } = encoder.encodeInto(body, output.subarray(HEAD_BYTES));
  const head = `${start}content-length: ${written}\r\n\r\n`;
  // All of a head is ASCII.
  const from = HEAD_BYTES - head.length;
  encoder.encodeInto(head, output.subarray(from, HEAD_BYTES));
  return output.subarray(from, HEAD_BYTES + written);
}

/** A request id that was never used before. */
export function newRequestId(): string {
  return `req_${crypto.randomUUID().replaceAll("-", "")}`;
}

/**
 * A problem document (RFC 9457) for an error outside of the handler. Its type
 * is `about:blank`, and it gets a new request id. Programs read the code, which
 * is by default the reason phrase of the status, such as `uri_too_long`.
 */
export function plainProblem(
  status: number,
  { detail, code }: {
    readonly detail?: string | undefined;
    readonly code?: string | undefined;
  } = {},
): HttpResponse {
  const title = REASON_PHRASES[status];
  const id = newRequestId();
  return {
    status,
    headers: { "content-type": PROBLEM_MEDIA_TYPE, "x-request-id": id },
    body: JSON.stringify({
      type: "about:blank",
      title,
      status,
      detail,
      instance: `/requests/${id}`,
      code: code ?? title?.toLowerCase().replace(/[^a-z]+/g, "_"),
      request_id: id,
    }),
  };
}

function field(name: string, value: string): string {
  const isUsual = USUAL_NAMES.has(name);
  if (!isUsual && (!NAME.test(name) || OWN_FIELDS.has(name.toLowerCase()))) {
    throw new TypeError(
      `Cannot send answer: the header field "${name}" is not the handler's`,
    );
  }
  // A line end in a value could add fields, or a whole answer.
  if (!VALUE.test(value)) {
    throw new TypeError(
      `Cannot send answer: the header field "${name}" is not printable ASCII`,
    );
  }
  return `${name}: ${value}\r\n`;
}
