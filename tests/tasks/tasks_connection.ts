/**
 * An HTTP connection to the tasks service that can send any Host header, which
 * `fetch` can't, and resolves no host name.
 *
 * @module
 */

/** The address to connect to. */
export interface ConnectionTarget {
  /** A port of this machine. */
  readonly port: number;
  /**
   * For TLS, the authority to trust and the name in the server's certificate.
   *
   * @default no TLS
   */
  readonly tls?: { readonly caPem: string; readonly name: string };
}

/** A request to send. */
export interface RawRequest {
  /** The HTTP method. */
  readonly method: string;
  /** The path and the query. */
  readonly path: string;
  /** The header fields; content-length is added. */
  readonly headers: Readonly<Record<string, string>>;
  /** The body. */
  readonly body?: string;
}

/** A response. */
export interface RawAnswer {
  /** The status code. */
  readonly status: number;
  /** The header fields, with names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** The body as text. */
  readonly text: string;
}

const encoder = new TextEncoder();
const decoder = new TextDecoder();
const HEAD_END = "\r\n\r\n";

/** A connection that is kept open, with one request at a time. */
export class TasksConnection {
  readonly #connection: Deno.Conn;
  #received = new Uint8Array(0);

  /** Creates an object that owns an open connection. */
  constructor(connection: Deno.Conn) {
    this.#connection = connection;
  }

  /** Opens a connection. */
  static async open({ port, tls }: ConnectionTarget): Promise<TasksConnection> {
    const plain = await Deno.connect({ hostname: "127.0.0.1", port });
    if (tls === undefined) return new TasksConnection(plain);
    const { name: hostname, caPem } = tls;
    const secure = await Deno.startTls(plain, { hostname, caCerts: [caPem] });
    try {
      await secure.handshake();
    } catch (error) {
      secure.close();
      throw error;
    }
    return new TasksConnection(secure);
  }

  /**
   * Sends a request and reads its response.
   *
   * @throws {Error} When the connection ends before the response does.
   */
  async exchange(request: RawRequest): Promise<RawAnswer> {
    const { method, path, headers, body = "" } = request;
    const content = encoder.encode(body);
    const lines = [`${method} ${path} HTTP/1.1`];
    for (const [name, value] of Object.entries(headers)) {
      lines.push(`${name}: ${value}`);
    }
    if (content.length > 0) lines.push(`content-length: ${content.length}`);
    await this.send(`${lines.join("\r\n")}${HEAD_END}${body}`);
    return await this.answer({ isHead: method === "HEAD" });
  }

  /** Sends a text unchanged. */
  async send(text: string): Promise<void> {
    const bytes = encoder.encode(text);
    for (let sent = 0; sent < bytes.length;) {
      sent += await this.#connection.write(bytes.subarray(sent));
    }
  }

  /**
   * Reads the next response; a response to HEAD has no body.
   *
   * @throws {Error} When the connection ends before the response does.
   */
  async answer({ isHead = false } = {}): Promise<RawAnswer> {
    let text = "";
    let end = -1;
    while (end === -1) {
      text = decoder.decode(this.#received);
      end = text.indexOf(HEAD_END);
      if (end === -1) await this.#read();
    }
    const [start = "", ...lines] = text.slice(0, end).split("\r\n");
    const headers = Object.fromEntries(lines.map((line) => {
      const colon = line.indexOf(":");
      return [
        line.slice(0, colon).toLowerCase(),
        line.slice(colon + 1).trim(),
      ];
    }));
    const headBytes = encoder.encode(text.slice(0, end)).length + 4;
    const length = isHead ? 0 : Number(headers["content-length"] ?? 0);
    const all = headBytes + length;
    while (this.#received.length < all) await this.#read();
    const content = this.#received.subarray(headBytes, all);
    this.#received = this.#received.slice(all);
    return {
      status: Number(start.split(" ")[1]),
      headers,
      text: decoder.decode(content),
    };
  }

  /** Closes the connection. */
  close(): void {
    try {
      this.#connection.close();
    } catch (error) {
      // The connection was already closed because the other end failed.
      if (!(error instanceof Deno.errors.BadResource)) throw error;
    }
  }

  /** Closes the connection. */
  [Symbol.dispose](): void {
    this.close();
  }

  async #read(): Promise<void> {
    const bytes = new Uint8Array(65_536);
    const length = await this.#connection.read(bytes);
    if (length === null) {
      throw new Error("Cannot read answer: the connection has ended");
    }
    const joined = new Uint8Array(this.#received.length + length);
    joined.set(this.#received);
    joined.set(bytes.subarray(0, length), this.#received.length);
    this.#received = joined;
  }
}
