/**
 * TLS over a connection that has been accepted without it.
 *
 * TLS is put on top here, and not left to the listener, so that each connection
 * gets the certificate of its time: the runtime's own listeners either keep
 * their first one, or stop to accept for good once files have run out.
 *
 * @module
 */

import { Buffer } from "node:buffer";
import { Duplex } from "node:stream";
import { type SecureContext, TLSSocket } from "node:tls";
import { PlainWire, type Wire } from "./public_wire.ts";

/** Bytes asked for at a time: a TLS record and what surrounds it. */
const READ_BYTES = 17_408;

/** The bytes inside of TLS. */
export class TlsWire implements Wire {
  readonly #carrier: Duplex;
  readonly #socket: TLSSocket;
  readonly #opened = Promise.withResolvers<void>();
  #chunk: Buffer | undefined;
  #isOpen = false;
  #isEnded = false;
  #failure: Error | undefined;
  #onReadable: (() => void) | undefined;

  /** Begins the handshake of a server; the connection is owned from now on. */
  constructor(connection: Deno.Conn, secureContext: SecureContext) {
    this.#carrier = carrierOf(new PlainWire(connection));
    this.#socket = new TLSSocket(this.#carrier, {
      isServer: true,
      secureContext,
      ALPNProtocols: ["http/1.1"],
    });
    // Who waits learns of it through the read or the write that waits.
    this.#opened.promise.catch(() => {});
    this.#carrier.on("error", (error: Error) => this.#fail(error));
    this.#carrier.on("close", () => this.#fail(new Error("Connection closed")));
    this.#carrier.on("end", () => {
      // Before there is TLS nobody tells that nothing more will come.
      if (!this.#isOpen) this.#fail(new Error("Connection closed"));
    });
    this.#socket.on("error", (error: Error) => this.#fail(error));
    this.#socket.on("secure", () => {
      this.#isOpen = true;
      this.#opened.resolve();
    });
    this.#socket.on("data", (chunk: Buffer) => {
      this.#socket.pause();
      this.#chunk = this.#chunk === undefined
        ? chunk
        : Buffer.concat([this.#chunk, chunk]);
      this.#wake();
    });
    this.#socket.on("end", () => {
      this.#isEnded = true;
      this.#wake();
    });
  }

  /** Resolves when the handshake is done. */
  opened(): Promise<void> {
    return this.#opened.promise;
  }

  /** Reads what has come. */
  async read(buffer: Uint8Array): Promise<number | null> {
    while (this.#chunk === undefined) {
      if (this.#isEnded) return null;
      if (this.#failure !== undefined) throw this.#failure;
      const readable = Promise.withResolvers<void>();
      this.#onReadable = readable.resolve;
      this.#socket.resume();
      await readable.promise;
    }
    const length = Math.min(buffer.length, this.#chunk.length);
    buffer.set(this.#chunk.subarray(0, length));
    this.#chunk = length === this.#chunk.length
      ? undefined
      : this.#chunk.subarray(length);
    return length;
  }

  /** Sends all of `bytes`. */
  write(bytes: Uint8Array): Promise<void> {
    if (this.#failure !== undefined) return Promise.reject(this.#failure);
    return this.#settled((done) => this.#socket.write(bytes, done));
  }

  /** Sends the end of the stream. */
  closeWrite(): Promise<void> {
    if (this.#failure !== undefined) return Promise.reject(this.#failure);
    return this.#settled((done) => this.#socket.end(() => done()));
  }

  /** Closes the connection. */
  close(): void {
    this.#fail(new Error("Connection closed"));
  }

  /** A callback of a stream that breaks may never come; the failure does. */
  #settled(
    begin: (done: (error?: Error | null) => void) => void,
  ): Promise<void> {
    return new Promise((resolve, reject) => {
      const fail = (): void => reject(this.#failure);
      this.#carrier.once("close", fail);
      begin((error) => {
        this.#carrier.off("close", fail);
        if (error) reject(error);
        else resolve();
      });
    });
  }

  #fail(error: Error): void {
    if (this.#failure !== undefined) return;
    this.#failure = error;
    this.#opened.reject(error);
    this.#socket.destroy();
    this.#carrier.destroy();
    this.#wake();
  }

  #wake(): void {
    this.#onReadable?.();
    this.#onReadable = undefined;
  }
}

/** The stream that the TLS of the runtime reads and writes. */
function carrierOf(wire: Wire): Duplex {
  return new Duplex({
    read() {
      const buffer = new Uint8Array(READ_BYTES);
      wire.read(buffer).then(
        (length) =>
          this.push(length === null ? null : buffer.subarray(0, length)),
        (error) => this.destroy(error),
      );
    },
    write(chunk: Uint8Array, _encoding, callback) {
      wire.write(chunk).then(() => callback(), callback);
    },
    final(callback) {
      wire.closeWrite().then(() => callback(), callback);
    },
    destroy(error, callback) {
      wire.close();
      callback(error);
    },
  });
}
