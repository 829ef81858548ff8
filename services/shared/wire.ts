/**
 * Reads and writes the bytes of a connection, with TLS or without.
 *
 * @module
 */

/** A connection with or without TLS; each `Deno.Conn` is one. */
export interface ByteConnection {
  /**
   * Reads into `buffer`; one read at a time.
   *
   * @returns How many bytes came, or null when the other end will send no more.
   */
  read(buffer: Uint8Array): Promise<number | null>;
  /**
   * Sends `bytes`, which must not change until that is done.
   *
   * @returns How many of them were sent.
   */
  write(bytes: Uint8Array): Promise<number>;
  /** Tells the other end that no more will be sent. */
  closeWrite(): Promise<void>;
  /** Ends the connection at once; what still runs rejects. */
  close(): void;
}

/** A connection that may have to be opened first; its writes send all. */
export interface Wire extends ByteConnection {
  /** Resolves when bytes can flow; rejects when that fails. */
  opened(): Promise<void>;
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

  /** Reads the bytes that have come; waits for the first. */
  read(buffer: Uint8Array): Promise<number | null> {
    return this.#connection.read(buffer);
  }

  /** Sends all of `bytes`. */
  async write(bytes: Uint8Array): Promise<number> {
    let sent = await this.#connection.write(bytes);
    while (sent < bytes.length) {
      sent += await this.#connection.write(bytes.subarray(sent));
    }
    return sent;
  }

  /** Sends the end of the stream. */
  closeWrite(): Promise<void> {
    return this.#connection.closeWrite();
  }

  /** Closes the connection; harmless twice. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#connection.close();
  }
}
