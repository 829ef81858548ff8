/**
 * The socket under an HTTP/2 connection: what waits is sent in its order, and
 * the end comes after it.
 *
 * @module
 */

import { H2Connection, type OutputPort } from "../h2/connection.ts";
import { Alarm } from "../h2/connection_alarms.ts";
import type { H2Engine } from "../h2/engine.ts";
import { describeError } from "../settled.ts";

/** Bytes asked for at a time, at first and once a peer has sent as many. */
const READ_BYTES = 16_384;
const MOST_READ_BYTES = 65_536;

/**
 * How long a caller may take to close its side once ours is closed. Without the
 * moment a reset could overtake the last answer; without the end a caller that
 * is stuck would hold the connection, and the stop with it.
 */
const LINGER_MS = 1_000;

/** A socket and the connection that runs on it. */
export class H2Socket implements OutputPort {
  /** What runs on it. */
  readonly connection: H2Connection;
  readonly #engine: H2Engine;
  readonly #socket: Deno.Conn;
  readonly #linger = new Alarm(() => this.destroy());
  readonly #unsent: Uint8Array[] = [];
  #unsentBytes = 0;
  #sending: Promise<void> | undefined;
  #isEnding = false;
  #isClosed = false;

  /** Owns the socket from now on; nothing is read before `run()`. */
  constructor(engine: H2Engine, socket: Deno.TcpConn | Deno.UnixConn) {
    this.#engine = engine;
    this.#socket = socket;
    try {
      if ("setNoDelay" in socket) socket.setNoDelay(true);
    } catch {
      // The caller has gone again; the first read shows it.
    }
    this.connection = new H2Connection(engine, this);
  }

  /** Bytes taken that wait to be sent. */
  get unsentBytes(): number {
    return this.#unsentBytes;
  }

  /** Hands the connection what comes until it is closed. Never rejects. */
  async run(): Promise<void> {
    let buffer = new Uint8Array(READ_BYTES);
    try {
      while (true) {
        const length = await this.#socket.read(buffer);
        if (length === null) break;
        // A copy, since methods get parts of it and may keep them.
        this.connection.receive(buffer.slice(0, length));
        if (length === READ_BYTES && length === buffer.length) {
          buffer = new Uint8Array(MOST_READ_BYTES);
        }
      }
      this.connection.ended();
      await this.#sending;
    } catch (error) {
      this.#broke(error);
    }
    this.destroy();
    this.connection.closed();
  }

  /** Sends bytes after those that wait. */
  write(bytes: Uint8Array): void {
    if (this.#isClosed) return;
    this.#unsent.push(bytes);
    this.#unsentBytes += bytes.length;
    this.#sending ??= this.#send();
  }

  /** Closes our side once all is sent, and the rest when the caller's is. */
  end(): void {
    if (this.#isEnding) return;
    this.#isEnding = true;
    if (this.#sending === undefined) this.#endSending();
  }

  /** Closes the socket at once; harmless twice. */
  destroy(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#engine.wheel.remove(this.#linger);
    this.#socket.close();
  }

  async #send(): Promise<void> {
    try {
      for (const bytes of this.#waiting()) {
        for (let sent = 0; sent < bytes.length;) {
          const rest = sent === 0 ? bytes : bytes.subarray(sent);
          const length = await this.#socket.write(rest);
          sent += length;
          this.#unsentBytes -= length;
        }
      }
    } catch (error) {
      this.#broke(error);
    }
    this.#sending = undefined;
    this.connection.drained();
    if (this.#isEnding) this.#endSending();
  }

  *#waiting(): Iterable<Uint8Array> {
    for (
      let bytes = this.#unsent.shift();
      bytes !== undefined;
      bytes = this.#unsent.shift()
    ) yield bytes;
  }

  #endSending(): void {
    if (this.#isClosed) return;
    this.#engine.wheel.add(this.#linger, LINGER_MS);
    this.#socket.closeWrite().catch((error) => this.#broke(error));
  }

  #broke(error: unknown): void {
    if (this.#isClosed) return;
    const { logger } = this.#engine;
    logger.debug("A connection broke", { error: describeError(error) });
    this.destroy();
  }
}
