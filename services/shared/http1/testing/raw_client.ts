/**
 * An HTTP client for tests that sends exactly the given bytes, and shows
 * exactly what comes back.
 *
 * @module
 */

import { Buffer } from "node:buffer";

/** An answer. */
export interface RawAnswer {
  /** The status code. */
  readonly status: number;
  /** The header fields, names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** The content. */
  readonly body: string;
}

/** How long a test waits for anything. */
const PATIENCE_MS = 10_000;

/** One connection. */
export class RawClient {
  readonly #connection: Deno.Conn;
  #received = "";
  #isEnded = false;
  #isClosed = false;

  /** Owns the connection. */
  constructor(connection: Deno.Conn) {
    this.#connection = connection;
  }

  /** Connects to a port of this machine. */
  static async connect(port: number): Promise<RawClient> {
    return new RawClient(await Deno.connect({ hostname: "127.0.0.1", port }));
  }

  /** What has come and not been read as an answer. */
  get received(): string {
    return this.#received;
  }

  /** Sends text, each character a byte. */
  async send(text: string): Promise<void> {
    const bytes = Buffer.from(text, "latin1");
    for (let sent = 0; sent < bytes.length;) {
      sent += await this.#connection.write(bytes.subarray(sent));
    }
  }

  /** Sends as long as the other end reads; that it does not is no failure. */
  async trySend(text: string): Promise<void> {
    try {
      await this.send(text);
    } catch {
      // The other end has closed the connection.
    }
  }

  /** Closes the sending side. */
  async sendEnd(): Promise<void> {
    await this.#connection.closeWrite();
  }

  /** The next answer; `isHead` for one to HEAD. */
  async answer(isHead = false): Promise<RawAnswer> {
    while (true) {
      const answer = this.#parse(isHead);
      if (answer !== undefined) return answer;
      if (!await this.#read()) {
        throw new Error(
          `Cannot read answer: it ended with ${JSON.stringify(this.#received)}`,
        );
      }
    }
  }

  /** Reads until `text` has come. */
  async waitFor(text: string): Promise<void> {
    while (!this.#received.includes(text)) {
      if (!await this.#read()) throw new Error(`Cannot find "${text}"`);
    }
    this.#received = this.#received.slice(
      this.#received.indexOf(text) + text.length,
    );
  }

  /** Everything up to the end of the connection. */
  async rest(): Promise<string> {
    while (await this.#read());
    return this.#received;
  }

  /** Closes the connection; harmless twice. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#connection.close();
  }

  /** Closes the connection. */
  [Symbol.dispose](): void {
    this.close();
  }

  async #read(): Promise<boolean> {
    if (this.#isEnded) return false;
    const late = Promise.withResolvers<never>();
    const timer = setTimeout(
      () => late.reject(new Error("Cannot read: nothing comes")),
      PATIENCE_MS,
    );
    try {
      const bytes = new Uint8Array(65_536);
      const length = await Promise.race([
        this.#connection.read(bytes),
        late.promise,
      ]);
      if (length === null) {
        this.#isEnded = true;
        return false;
      }
      this.#received += Buffer.from(bytes.buffer, 0, length).toString("latin1");
      return true;
    } catch (error) {
      if (!(error instanceof Deno.errors.ConnectionReset)) throw error;
      this.#isEnded = true;
      return false;
    } finally {
      clearTimeout(timer);
    }
  }

  #parse(isHead: boolean): RawAnswer | undefined {
    const end = this.#received.indexOf("\r\n\r\n");
    if (end === -1) return undefined;
    const [start = "", ...lines] = this.#received.slice(0, end).split("\r\n");
    const headers: Record<string, string> = {};
    for (const line of lines) {
      const [name = "", ...value] = line.split(":");
      headers[name.toLowerCase()] = value.join(":").trim();
    }
    const length = isHead ? 0 : Number(headers["content-length"] ?? 0);
    const body = this.#received.slice(end + 4, end + 4 + length);
    if (body.length < length) return undefined;
    this.#received = this.#received.slice(end + 4 + length);
    return { status: Number(start.split(" ")[1]), headers, body };
  }
}
