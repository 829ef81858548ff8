/**
 * A request for a decision over HTTP, which lets a test know when the request
 * has arrived at the service.
 *
 * @module
 */

import { within } from "../grpc_conformance/waiting.ts";

/**
 * A `POST /json` on a connection of its own. Its head asks the server for "100
 * Continue" (RFC 9110, 10.1.1), which the server sends when it waits for the
 * body: from then on the request is being handled.
 */
export class RawPost {
  readonly #connection: Deno.TcpConn;
  readonly #body: Uint8Array;
  readonly #decoder = new TextDecoder();
  #received = "";

  private constructor(connection: Deno.TcpConn, body: Uint8Array) {
    this.#connection = connection;
    this.#body = body;
  }

  /** Sends the head and waits until the server asks for the body. */
  static async begin(baseUrl: string, request: object): Promise<RawPost> {
    const { hostname, port } = new URL(baseUrl);
    const connection = await Deno.connect({ hostname, port: Number(port) });
    const encoder = new TextEncoder();
    const body = encoder.encode(JSON.stringify(request));
    const post = new RawPost(connection, body);
    const head = [
      "POST /json HTTP/1.1",
      `host: ${hostname}:${port}`,
      `content-length: ${body.length}`,
      "expect: 100-continue",
      "connection: close",
    ].map((line) => `${line}\r\n`).join("");
    await connection.write(encoder.encode(`${head}\r\n`));
    await post.#readUntil("100 Continue\r\n\r\n");
    post.#received = "";
    return post;
  }

  /** Sends the body. */
  async finish(): Promise<void> {
    await this.#connection.write(this.#body);
  }

  /** Waits for the status of the response and closes the connection. */
  async status(): Promise<number> {
    try {
      await this.#readUntil("\r\n\r\n");
    } finally {
      this.#connection.close();
    }
    return Number(this.#received.split(" ")[1]);
  }

  async #readUntil(text: string): Promise<void> {
    const chunk = new Uint8Array(4_096);
    while (!this.#received.includes(text)) {
      const length = await within(
        this.#connection.read(chunk),
        "an HTTP answer",
      );
      if (length === null) throw new Error("Cannot read answer: no more comes");
      this.#received += this.#decoder.decode(chunk.subarray(0, length), {
        stream: true,
      });
    }
  }
}
