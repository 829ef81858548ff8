/**
 * An HTTP/1.1 client that costs little: requests are bytes that were built
 * beforehand, and only the status, length and body of a response are read.
 *
 * It shares the processors with the service it measures, so every microsecond
 * it uses lowers the measured rate; `fetch` costs several times as much.
 *
 * @module
 */

import { Buffer } from "node:buffer";

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
const HEAD_END = "\r\n\r\n";
const LENGTH = /\ncontent-length: *(\d+)/i;

/** Returns the bytes of a request. */
export function requestBytes(request: HttpRequestLine): Uint8Array {
  const { method, path, host, token, body, prefer } = request;
  const lines = [`${method} ${path} HTTP/1.1`, `host: ${host}`];
  if (token !== undefined) lines.push(`authorization: Bearer ${token}`);
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
    let head: ReturnType<typeof headOf>;
    while (true) {
      const read = await this.#connection.read(this.#buffer.subarray(filled));
      if (read === null) {
        throw new Error("Cannot read answer: the connection has ended");
      }
      filled += read;
      head ??= headOf(this.#buffer, filled);
      if (head === undefined) {
        this.#makeRoom(filled + FIRST_BYTES / 2, filled);
        continue;
      }
      const end = head.end + head.length;
      if (filled >= end) {
        return {
          status: head.status,
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
 * Reads the head of a response; `undefined` until the whole head has arrived.
 *
 * @throws {Error} When it has no Content-Length.
 */
function headOf(
  bytes: Uint8Array,
  filled: number,
):
  | { readonly status: number; readonly end: number; readonly length: number }
  | undefined {
  const text = Buffer.from(bytes.buffer, 0, filled);
  const at = text.indexOf(HEAD_END);
  if (at === -1) return undefined;
  const head = text.toString("latin1", 0, at);
  const status = Number(head.slice(9, 12));
  const isEmpty = status === 204 || status === 304;
  const length = isEmpty ? "0" : LENGTH.exec(head)?.[1];
  if (length === undefined) {
    throw new Error("Cannot read answer: it has no content-length");
  }
  return { status, end: at + HEAD_END.length, length: Number(length) };
}
