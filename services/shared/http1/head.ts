/**
 * Parses the head of an HTTP/1.x request strictly: everything is refused that
 * RFC 9112 lets a server refuse because two programs could read it differently.
 *
 * @module
 */

import type { HttpHeaders } from "../http/exchange.ts";

/** What comes after a head. */
export type BodyFraming =
  | { readonly kind: "length"; readonly bytes: number }
  | { readonly kind: "chunked" };

/** The head of a request. */
export interface RequestHead {
  /** The method, upper case. */
  readonly method: string;
  /** Path and query; begins with "/". */
  readonly target: string;
  /** The header fields. */
  readonly headers: RequestHeaders;
  /** Where the body ends. */
  readonly framing: BodyFraming;
  /** Whether the client would send more requests on its connection. */
  readonly keepsAlive: boolean;
  /** Whether it speaks HTTP/1.0, where a kept connection must be announced. */
  readonly isOldVersion: boolean;
  /** Whether it waits for "100 Continue" before it sends the body. */
  readonly expectsContinue: boolean;
}

/** Why a request is refused. */
export interface HeadRefusal {
  /** The status to answer with. */
  readonly status: number;
  /** What is wrong, for the person who wrote the client. */
  readonly detail: string;
  /**
   * The kind of problem, for programs.
   *
   * @default that of the status
   */
  readonly code?: string;
}

/** The outcome of reading a head. */
export type HeadOutcome =
  | { readonly kind: "ok"; readonly head: RequestHead }
  | { readonly kind: "refused"; readonly refusal: HeadRefusal };

/** Most header lines a request may have; an ordinary one has about a dozen. */
const MAX_LINES = 100;

const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
/** Visible ASCII without the mark of a fragment, which is never sent. */
const PATH = /^\/[!"$-~]*$/;
/**
 * The form that proxies are asked in; any server must take it (RFC 9112,
 * 3.2.2).
 */
const ABSOLUTE = /^https?:\/\/([^/?#@]+)(?:(\/[!"$-~]*)|(\?[!"$-~]*))?$/i;
/** A name, an IPv4 address or an IPv6 one in brackets, and maybe a port. */
const HOST = /^(?:[A-Za-z0-9\-._~%!$&'()*+,;=]*|\[[0-9A-Fa-f:.]+\])(?::\d*)?$/;

/**
 * Reads a head from its text, the empty line at its end included, in which
 * each character is a byte. Ends of lines and control characters have been
 * checked by `findHeadEnd()`.
 */
export function parseHead(text: string): HeadOutcome {
  const lineEnd = text.indexOf("\r\n");
  const line = requestLine(text.slice(0, lineEnd));
  if ("status" in line) return { kind: "refused", refusal: line };
  const headers = headerLines(text, lineEnd + 2);
  if ("status" in headers) return { kind: "refused", refusal: headers };
  const target = parseTarget(line, headers);
  if (typeof target !== "string") return { kind: "refused", refusal: target };
  const { method, isOldVersion } = line;
  const framing = bodyFraming(headers, isOldVersion);
  if ("status" in framing) return { kind: "refused", refusal: framing };
  const expectation = headers.get("expect");
  if (
    expectation !== undefined && expectation.toLowerCase() !== "100-continue"
  ) {
    return refused(417, "The only expectation that is met is 100-continue");
  }
  const head: RequestHead = {
    method,
    target,
    headers,
    framing,
    keepsAlive: keepsAlive(headers, isOldVersion),
    isOldVersion,
    // RFC 9110, 10.1.1: one in HTTP/1.0 is ignored.
    expectsContinue: expectation !== undefined && !isOldVersion,
  };
  return { kind: "ok", head };
}

interface RequestLine {
  readonly method: string;
  readonly target: string;
  readonly isOldVersion: boolean;
}

function requestLine(line: string): RequestLine | HeadRefusal {
  const [method, target, version, ...rest] = line.split(" ");
  if (
    method === undefined || target === undefined || version === undefined ||
    rest.length > 0 || !TOKEN.test(method)
  ) {
    return { status: 400, detail: "The request line is malformed" };
  }
  if (!version.startsWith("HTTP/1.")) {
    return /^HTTP\/\d\.\d$/.test(version)
      ? { status: 505, detail: "The protocol must be HTTP/1.1 or HTTP/1.0" }
      : { status: 400, detail: "The request line is malformed" };
  }
  if (!/^\d$/.test(version.slice(7))) {
    return { status: 400, detail: "The request line is malformed" };
  }
  // Methods are case-sensitive, and every known one is in upper case.
  if (method !== method.toUpperCase()) {
    return { status: 501, detail: "The method is unknown" };
  }
  return { method, target, isOldVersion: version === "HTTP/1.0" };
}

function headerLines(text: string, from: number): RequestHeaders | HeadRefusal {
  const headers = new RequestHeaders();
  let start = from;
  while (true) {
    const end = text.indexOf("\r\n", start);
    if (end === start) return headers;
    if (headers.size === MAX_LINES) {
      return { status: 431, detail: `More than ${MAX_LINES} header fields` };
    }
    const colon = text.indexOf(":", start);
    // Neither a folded line nor a space before the colon has a token there.
    const name = colon > end ? "" : text.slice(start, colon);
    if (!TOKEN.test(name)) {
      const detail = "A header field is malformed";
      return { status: 400, detail, code: "bad_header" };
    }
    headers.add(name.toLowerCase(), trimmed(text.slice(colon + 1, end)));
    start = end + 2;
  }
}

/** Without spaces and tabs around; trim() would take other characters too. */
function trimmed(value: string): string {
  let start = 0;
  let end = value.length;
  while (start < end && isBlank(value.charCodeAt(start))) start++;
  while (end > start && isBlank(value.charCodeAt(end - 1))) end--;
  return value.slice(start, end);
}

function isBlank(code: number): boolean {
  return code === 0x20 || code === 0x09;
}

function parseTarget(
  line: RequestLine,
  headers: RequestHeaders,
): string | HeadRefusal {
  const hosts = headers.all("host");
  const [host] = hosts;
  // RFC 9112, 3.2.
  if (hosts.length > 1 || (host === undefined && !line.isOldVersion)) {
    return badHost("There must be one Host header field");
  }
  if (host !== undefined && !HOST.test(host)) {
    return badHost("The Host header field is malformed");
  }
  if (PATH.test(line.target)) return line.target;
  const absolute = ABSOLUTE.exec(line.target);
  if (absolute === null) {
    return { status: 400, detail: "The request target is not a path" };
  }
  // Two hosts in a request are a way to get past a check of one.
  if (host !== undefined && absolute[1]?.toLowerCase() !== host.toLowerCase()) {
    return badHost("The target and Host name different hosts");
  }
  return absolute[2] ?? `/${absolute[3] ?? ""}`;
}

function keepsAlive(headers: RequestHeaders, isOldVersion: boolean): boolean {
  const connection = headers.get("connection");
  if (connection === undefined) return !isOldVersion;
  const options = connection.toLowerCase().split(",").map(trimmed);
  if (options.includes("close")) return false;
  return !isOldVersion || options.includes("keep-alive");
}

function badHost(detail: string): HeadRefusal {
  return { status: 400, detail, code: "bad_host" };
}

function refused(status: number, detail: string): HeadOutcome {
  return { kind: "refused", refusal: { status, detail } };
}

/** The header fields of one request. */
export class RequestHeaders implements HttpHeaders {
  readonly #names: string[] = [];
  readonly #values: string[] = [];

  /** How many lines there are. */
  get size(): number {
    return this.#names.length;
  }

  /** Adds a line; the name is in lower case already. */
  add(name: string, value: string): void {
    this.#names.push(name);
    this.#values.push(value);
  }

  /** The value of a field, or its values joined (RFC 9110, 5.3). */
  get(name: string): string | undefined {
    const wanted = name.toLowerCase();
    const first = this.#names.indexOf(wanted);
    if (first === -1) return undefined;
    return this.#names.indexOf(wanted, first + 1) === -1
      ? this.#values[first]
      : this.all(wanted).join(", ");
  }

  /** Every value of a field, in the order they came. */
  all(name: string): readonly string[] {
    const wanted = name.toLowerCase();
    return this.#values.filter((_, index) => this.#names[index] === wanted);
  }
}

/** Without either header field a request has no body. */
const NO_BODY: BodyFraming = { kind: "length", bytes: 0 };
const CHUNKED: BodyFraming = { kind: "chunked" };

/**
 * Tells how a body is framed (RFC 9112, section 6). An ambiguous framing is refused, even where
 * RFC 9112 would let a server choose: a proxy before us could have chosen the
 * other reading (request smuggling).
 */
export function bodyFraming(
  headers: HttpHeaders,
  isOldVersion: boolean,
): BodyFraming | HeadRefusal {
  const coding = headers.get("transfer-encoding");
  const length = headers.get("content-length");
  if (coding !== undefined) {
    if (length !== undefined) {
      return badFraming(
        "Transfer-Encoding and Content-Length exclude each other",
      );
    }
    return isOldVersion
      ? badFraming("HTTP/1.0 has no Transfer-Encoding")
      : transferCoding(coding.toLowerCase());
  }
  if (length === undefined) return NO_BODY;
  // Fifteen digits are exact as a number. A list, even of the same length
  // twice, is not a length.
  return /^\d{1,15}$/.test(length)
    ? { kind: "length", bytes: Number(length) }
    : badFraming("The Content-Length header field is malformed");
}

function transferCoding(coding: string): BodyFraming | HeadRefusal {
  if (coding === "chunked") return CHUNKED;
  // With chunks last the end could be found, but not what lies inside.
  return /^[^,]+,[ \t]*chunked$/.test(coding) && !coding.startsWith("chunked")
    ? { status: 501, detail: "The only transfer coding is chunked" }
    : badFraming("The last transfer coding must be chunked, once");
}

function badFraming(detail: string): HeadRefusal {
  return { status: 400, detail };
}
