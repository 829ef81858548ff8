/**
 * A connection as bytes in and bytes out, with or without TLS.
 *
 * @module
 */

/** The bytes of one connection. */
export interface Wire {
  /** Resolves when bytes can flow; rejects when that fails. */
  opened(): Promise<void>;
  /**
   * Reads into `buffer`; one read at a time.
   *
   * @returns How many bytes came, or null when the other end will send no more.
   */
  read(buffer: Uint8Array): Promise<number | null>;
  /** Sends all of `bytes`; they must not change until that is done. */
  write(bytes: Uint8Array): Promise<void>;
  /** Tells the other end that no more will be sent. */
  closeWrite(): Promise<void>;
  /** Ends the connection at once; what still runs rejects. Harmless twice. */
  close(): void;
}

/** The bytes of a connection without TLS. */
export class PlainWire implements Wire {
  readonly #connection: Deno.Conn;
  #isClosed = false;

  /** Owns the connection from now on. */
  constructor(connection: Deno.Conn) {
    this.#connection = connection;
  }

  /** Resolves at once. */
  opened(): Promise<void> {
    return Promise.resolve();
  }

  /** Reads what has come. */
  read(buffer: Uint8Array): Promise<number | null> {
    return this.#connection.read(buffer);
  }

  /** Sends all of `bytes`. */
  async write(bytes: Uint8Array): Promise<void> {
    let sent = await this.#connection.write(bytes);
    while (sent < bytes.length) {
      sent += await this.#connection.write(bytes.subarray(sent));
    }
  }

  /** Sends the end of the stream. */
  closeWrite(): Promise<void> {
    return this.#connection.closeWrite();
  }

  /** Closes the connection. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#connection.close();
  }
}
