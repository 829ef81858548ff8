/**
 * An HTTP/1.1 client that costs little: requests are bytes that were built
 * beforehand, and only the status, length and body of a response are read.
 *
 * It shares the processors with the service it measures, so every microsecond
 * it uses lowers the measured rate; `fetch` costs several times as much.
 *
 * @module
 */

/** A response; its body is valid until the next exchange on the connection. */
export interface HttpAnswer {
  /** The status code. */
  readonly status: number;
  /** The body; a view of a buffer that the next exchange overwrites. */
  readonly body: Uint8Array;
}

/** The parts of a request, before it is turned into bytes. */
export interface HttpRequestLine {
  /** The method. */
  readonly method: string;
  /** The path, with the query. */
  readonly path: string;
  /** The Host header, which names the tenant. */
  readonly host: string;
  /**
   * The bearer token.
   *
   * @default none
   */
  readonly token?: string;
  /**
   * The Cookie header.
   *
   * @default none
   */
  readonly cookie?: string;
  /**
   * The body, a JSON text.
   *
   * @default none
   */
  readonly body?: string;
  /**
   * The value of the Prefer header (RFC 7240).
   *
   * @default none
   */
  readonly prefer?: string;
}

const encoder = new TextEncoder();
const decoder = new TextDecoder();
const FIRST_BYTES = 65_536;
const LINE_FEED = 0x0a;
const ZERO = 0x30;
/**
 * The header's name in lower case. Names are compared with bit 5 set in each
 * byte, which makes letters lower case and which a colon and a hyphen have set
 * anyway.
 */
const LENGTH_FIELD = encoder.encode("content-length:");

/** Returns the bytes of a request. */
export function requestBytes(request: HttpRequestLine): Uint8Array {
  const { method, path, host, token, cookie, body, prefer } = request;
  const lines = [`${method} ${path} HTTP/1.1`, `host: ${host}`];
  if (token !== undefined) lines.push(`authorization: Bearer ${token}`);
  if (cookie !== undefined) lines.push(`cookie: ${cookie}`);
  if (prefer !== undefined) lines.push(`prefer: ${prefer}`);
  if (body !== undefined) {
    const bytes = encoder.encode(body).length;
    lines.push("content-type: application/json", `content-length: ${bytes}`);
  }
  return encoder.encode(`${lines.join("\r\n")}\r\n\r\n${body ?? ""}`);
}

/** A connection that is kept open and carries one request at a time. */
export class HttpSocket {
  readonly #connection: Deno.Conn;
  #buffer = new Uint8Array(FIRST_BYTES);

  private constructor(connection: Deno.Conn) {
    this.#connection = connection;
  }

  /** Connects to a port of this machine. */
  static async connect(port: number): Promise<HttpSocket> {
    const connection = await Deno.connect({ hostname: "127.0.0.1", port });
    connection.setNoDelay(true);
    return new HttpSocket(connection);
  }

  /**
   * Sends a request and reads the response.
   *
   * @throws {Error} When the connection ends before the response does, or the
   * response has no Content-Length.
   */
  async exchange(request: Uint8Array): Promise<HttpAnswer> {
    for (let sent = 0; sent < request.length;) {
      sent += await this.#connection.write(
        sent === 0 ? request : request.subarray(sent),
      );
    }
    let filled = 0;
    let head: { readonly end: number; readonly length: number } | undefined;
    while (true) {
      const read = await this.#connection.read(this.#buffer.subarray(filled));
      if (read === null) {
        throw new Error("Cannot read answer: the connection has ended");
      }
      filled += read;
      head ??= findHead(this.#buffer, filled);
      if (head === undefined) {
        this.#makeRoom(filled + FIRST_BYTES / 2, filled);
        continue;
      }
      const end = head.end + head.length;
      if (filled >= end) {
        return {
          status: parseStatus(this.#buffer),
          body: this.#buffer.subarray(head.end, end),
        };
      }
      this.#makeRoom(end, filled);
    }
  }

  /** Sends a request and parses its response as JSON. */
  async json(
    request: HttpRequestLine,
  ): Promise<{ readonly status: number; readonly json: unknown }> {
    const { status, body } = await this.exchange(requestBytes(request));
    const text = decoder.decode(body);
    return { status, json: text === "" ? undefined : JSON.parse(text) };
  }

  /** Closes the connection. */
  close(): void {
    this.#connection.close();
  }

  /** Closes the connection. */
  [Symbol.dispose](): void {
    this.close();
  }

  #makeRoom(bytes: number, filled: number): void {
    if (bytes <= this.#buffer.length) return;
    const larger = new Uint8Array(Math.max(bytes, this.#buffer.length * 2));
    larger.set(this.#buffer.subarray(0, filled));
    this.#buffer = larger;
  }
}

/**
 * Finds where the head ends and how long the body is; `undefined` until the
 * whole head has arrived.
 */
function findHead(
  bytes: Uint8Array,
  filled: number,
): { readonly end: number; readonly length: number } | undefined {
  const status = parseStatus(bytes);
  let length = status === 204 || status === 304 ? 0 : undefined;
  for (let start = 0; start < filled;) {
    const end = bytes.indexOf(LINE_FEED, start);
    if (end === -1 || end >= filled) return undefined;
    if (end - start === 1) {
      if (length !== undefined) return { end: end + 1, length };
      throw new Error("Cannot read answer: it has no content-length");
    }
    if (isLengthField(bytes, start)) {
      length = 0;
      for (let at = start + LENGTH_FIELD.length; at < end; at++) {
        const digit = bytes[at]! - ZERO;
        if (digit >= 0 && digit <= 9) length = length * 10 + digit;
      }
    }
    start = end + 1;
  }
  return undefined;
}

function isLengthField(bytes: Uint8Array, start: number): boolean {
  for (let index = 0; index < LENGTH_FIELD.length; index++) {
    // 0x20 is the bit that distinguishes a lower-case letter from its upper
    // case.
    if ((bytes[start + index]! | 0x20) !== LENGTH_FIELD[index]) return false;
  }
  return true;
}

/** The three digits of the status, which follow `HTTP/1.1 `. */
function parseStatus(bytes: Uint8Array): number {
  return (bytes[9]! - ZERO) * 100 + (bytes[10]! - ZERO) * 10 +
    (bytes[11]! - ZERO);
}
