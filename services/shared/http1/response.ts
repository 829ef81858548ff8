/**
 * Answers as the bytes of HTTP/1.1 (RFC 9112).
 *
 * @module
 */

import { STATUS_TEXT } from "@std/http/status";
import { Buffer } from "node:buffer";
import {
  type HttpResponse,
  newRequestId,
  PROBLEM_MEDIA_TYPE,
} from "../http/exchange.ts";

/** How an answer is sent. */
export interface EncodeOptions {
  /** Whether it answers HEAD. */
  readonly isHead: boolean;
  /** What the connection field says, if there is one. */
  readonly connection: "close" | "keep-alive" | undefined;
  /** The value of the date field. */
  readonly date: string;
  /**
   * Where an answer is put that fits; it has to stay as it is until that is
   * written.
   *
   * @default memory of its own
   */
  readonly output?: Uint8Array;
}

/** What is written, in this order; a small answer is one piece. */
export type EncodedResponse = readonly Uint8Array[];

/** A body of bytes up to which a copy costs less than another write. */
const MAX_COPIED_BYTES = 32_768;

/** Room for a head in front of a body that is put in its place first. */
const HEAD_BYTES = 2_048;
/** Most bytes that a UTF-16 code unit becomes in UTF-8. */
const MAX_BYTES_PER_UNIT = 3;

const NAME = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const VALUE = /^[\t -~]*$/;
/** Fields that say how the message is framed, which only we know. */
const OWN_FIELDS: ReadonlySet<string> = new Set([
  "connection",
  "content-length",
  "date",
  "keep-alive",
  "transfer-encoding",
  "upgrade",
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
  // What a 304 would have carried is not known here.
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

const encoder = new TextEncoder();

/**
 * Puts the body in its place, where its length is found out, and the head
 * before it.
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

/**
 * An answer that says what went wrong before a handler was called (RFC 9457).
 * Its status says all of its type, and its id is one of its own. Programs go by
 * the code, which is the reason phrase of the status (`uri_too_long`) where
 * nothing else is said.
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
  if (!NAME.test(name) || OWN_FIELDS.has(name.toLowerCase())) {
    throw new TypeError(
      `Cannot send answer: the header field "${name}" is not the handler's`,
    );
  }
  // Whatever ends a line could add fields, or a whole answer.
  if (!VALUE.test(value)) {
    throw new TypeError(
      `Cannot send answer: the header field "${name}" is not printable ASCII`,
    );
  }
  return `${name}: ${value}\r\n`;
}
