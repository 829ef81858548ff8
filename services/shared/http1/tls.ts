/**
 * TLS of connections: the key and certificate of a server, and a wire that
 * speaks TLS.
 *
 * @module
 */

import { Buffer } from "node:buffer";
import { createPrivateKey, X509Certificate } from "node:crypto";
import { Duplex } from "node:stream";
import { createSecureContext, type SecureContext, TLSSocket } from "node:tls";
import { PlainWire, type Wire } from "./wire.ts";

/** A certificate and its private key, both as PEM. */
interface TlsCertificate {
  /** The certificate, followed by those of the authorities between. */
  readonly cert: string;
  /** Its private key. */
  readonly key: string;
}

/** Where the certificate comes from. */
export interface TlsContext {
  /** Reads it; called at the start and at each reload. */
  readonly certificate: () => TlsCertificate | Promise<TlsCertificate>;
}

/**
 * Prepares TLS with a certificate. The runtime takes any text and fails with
 * each connection then, so the two are looked at here.
 *
 * @throws {TypeError} when the two are unreadable or don't belong together
 */
export function secureContextOf(certificate: TlsCertificate): SecureContext {
  const { cert, key } = certificate;
  let isPair: boolean;
  try {
    isPair = new X509Certificate(cert).checkPrivateKey(createPrivateKey(key));
  } catch {
    // The error might quote the key.
    throw new TypeError(
      "Cannot use certificate: it or its key is not readable as PEM",
    );
  }
  if (!isPair) {
    throw new TypeError(
      "Cannot use certificate: the key is that of another certificate",
    );
  }
  return createSecureContext({ cert, key });
}

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
      // Before TLS is established, the end of the input is not announced.
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

  /** Reads what is there. */
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
