/**
 * A connection to the service that sends any Host header, which `fetch` can't,
 * and resolves no name.
 *
 * @module
 */

/** Where to connect. */
export interface ConnectionTarget {
  /** A port of this machine. */
  readonly port: number;
  /**
   * Speaks TLS: the authority to trust, and the name the certificate is for.
   *
   * @default no TLS
   */
  readonly tls?: { readonly caPem: string; readonly name: string };
}

/** A request. */
export interface RawRequest {
  /** The method. */
  readonly method: string;
  /** Path and query. */
  readonly path: string;
  /** Header fields; content-length is added. */
  readonly headers: Readonly<Record<string, string>>;
  /** The content. */
  readonly body?: string;
}

/** An answer. */
export interface RawAnswer {
  /** The status code. */
  readonly status: number;
  /** Header fields, names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** The content. */
  readonly text: string;
}

const encoder = new TextEncoder();
const decoder = new TextDecoder();
const HEAD_END = "\r\n\r\n";

/** A connection that is kept open, with one request at a time. */
export class TasksConnection {
  readonly #connection: Deno.Conn;
  #received = new Uint8Array(0);

  /** Owns the connection. */
  constructor(connection: Deno.Conn) {
    this.#connection = connection;
  }

  /** Connects. */
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
   * Sends a request and reads its answer.
   *
   * @throws {Error} When the connection ends before.
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

  /** Sends text as it is. */
  async send(text: string): Promise<void> {
    const bytes = encoder.encode(text);
    for (let sent = 0; sent < bytes.length;) {
      sent += await this.#connection.write(bytes.subarray(sent));
    }
  }

  /**
   * Reads the next answer; one to HEAD has no content.
   *
   * @throws {Error} When the connection ends before.
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

  /** Closes it. */
  close(): void {
    try {
      this.#connection.close();
    } catch (error) {
      // A failure of the other end has closed it.
      if (!(error instanceof Deno.errors.BadResource)) throw error;
    }
  }

  /** Closes it. */
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
