/**
 * A TLS connection as a stream of bytes, and the TLS handshake of a server.
 *
 * @module
 */

import { Buffer } from "node:buffer";
import { Duplex } from "node:stream";
import { setImmediate } from "node:timers";
import {
  checkServerIdentity,
  createServer,
  type Server,
  type TLSSocket,
} from "node:tls";
import { type ByteConnection, PlainWire, type Wire } from "../wire.ts";
import type { ServerTls } from "./server_tls.ts";

/** Bytes asked for at a time: a TLS record and what surrounds it. */
const READ_BYTES = 17_408;

/** The bytes inside of TLS. */
export class TlsWire implements Wire {
  readonly #opened = Promise.withResolvers<void>();
  readonly #destroy: () => void;
  #socket: TLSSocket | undefined;
  #chunk: Buffer | undefined;
  #isEnded = false;
  #failure: Error | undefined;
  #onReadable: (() => void) | undefined;
  readonly #unsettled = new Set<(error: Error) => void>();

  /** A wire whose handshake runs; `destroy` ends what carries it. */
  constructor(destroy: () => void) {
    this.#destroy = destroy;
    // The pending read or write reports the error too.
    this.#opened.promise.catch(() => {});
  }

  /** The protocol that both sides agreed on; undefined when on no one. */
  get alpnProtocol(): string | undefined {
    return this.#socket?.alpnProtocol || undefined;
  }

  /**
   * Whether the certificate of the other end is for a DNS name or address; its
   * common name does not count (RFC 6125, section 6.4.4).
   */
  isPeerNamed(name: string): boolean {
    const certificate = this.#socket?.getPeerCertificate();
    if (certificate?.subjectaltname === undefined) return false;
    const subject = { C: "", ST: "", L: "", O: "", OU: "", CN: "" };
    // checkHost() of this runtime knows neither wildcards nor capitals.
    return checkServerIdentity(name, { ...certificate, subject }) === undefined;
  }

  /** Resolves when the handshake is done. */
  opened(): Promise<void> {
    return this.#opened.promise;
  }

  /** The handshake is done: bytes flow through `socket`. */
  establish(socket: TLSSocket): void {
    if (this.#failure !== undefined) {
      socket.destroy();
      return;
    }
    this.#socket = socket;
    socket.on("error", (error: Error) => this.fail(error));
    socket.on("close", () => this.fail(new Error("Connection closed")));
    socket.on("data", (chunk: Buffer) => {
      socket.pause();
      this.#chunk = this.#chunk === undefined
        ? chunk
        : Buffer.concat([this.#chunk, chunk]);
      this.#wake();
    });
    socket.on("end", () => {
      this.#isEnded = true;
      this.#wake();
    });
    this.#opened.resolve();
  }

  /** Ends the wire with an error; harmless twice. */
  fail(error: Error): void {
    if (this.#failure !== undefined) return;
    this.#failure = error;
    this.#opened.reject(error);
    this.#socket?.destroy();
    this.#destroy();
    for (const reject of this.#unsettled) reject(error);
    this.#wake();
  }

  /** Reads what is there. */
  async read(buffer: Uint8Array): Promise<number | null> {
    while (this.#chunk === undefined) {
      if (this.#isEnded) return null;
      if (this.#failure !== undefined) throw this.#failure;
      const readable = Promise.withResolvers<void>();
      this.#onReadable = readable.resolve;
      this.#socket?.resume();
      await readable.promise;
    }
    const chunk = this.#chunk;
    const length = Math.min(buffer.length, chunk.length);
    buffer.set(length === chunk.length ? chunk : chunk.subarray(0, length));
    this.#chunk = length === chunk.length ? undefined : chunk.subarray(length);
    return length;
  }

  /** Sends all of `bytes`. */
  write(bytes: Uint8Array): Promise<number> {
    return this.#settled(bytes.length, (socket, done) => {
      socket.write(bytes, done);
    });
  }

  /** Sends the end of the stream. */
  async closeWrite(): Promise<void> {
    await this.#settled(0, (socket, done) => socket.end(() => done()));
  }

  /** Closes the connection. */
  close(): void {
    this.fail(new Error("Connection closed"));
  }

  /**
   * Waits for a callback of the socket, or for the failure of the wire: the
   * callback of a broken stream may never come.
   */
  #settled(
    result: number,
    begin: (socket: TLSSocket, done: (error?: Error | null) => void) => void,
  ): Promise<number> {
    const socket = this.#socket;
    if (this.#failure !== undefined || socket === undefined) {
      const notOpen = new Error("The connection is not open");
      return Promise.reject(this.#failure ?? notOpen);
    }
    return new Promise((resolve, reject) => {
      this.#unsettled.add(reject);
      begin(socket, (error) => {
        this.#unsettled.delete(reject);
        if (error) reject(error);
        else resolve(result);
      });
    });
  }

  #wake(): void {
    this.#onReadable?.();
    this.#onReadable = undefined;
  }
}

/** How a server answers a handshake. */
interface TlsAcceptOptions {
  /** Certificate, key and what is asked of the client. */
  readonly tls: ServerTls;
  /** The protocols that may be agreed on, such as `h2`. */
  readonly protocols: readonly string[];
}

const UNTRUSTED = "The certificate of the client is not trusted";

/** Disables the runtime's timeout: the server that accepts has its own. */
const NO_HANDSHAKE_TIMEOUT_MS = 0x7fff_ffff;

/**
 * Begins the handshake of a server on a connection, which the wire owns from
 * now on.
 */
export function acceptTls(
  connection: Deno.Conn,
  { tls, protocols }: TlsAcceptOptions,
): TlsWire {
  const carrier = createCarrier(new PlainWire(connection));
  const wire = new TlsWire(() => carrier.destroy());
  // Use the runtime's TLS server, as only that checks client certificates, and
  // one per connection, as it doesn't tell to which connection an error
  // belongs.
  const { cert, key, clientCa } = tls;
  const asksClient = clientCa !== undefined;
  let server: Server;
  try {
    server = createServer({
      cert,
      key,
      ca: clientCa,
      ALPNProtocols: [...protocols],
      requestCert: asksClient,
      rejectUnauthorized: asksClient,
      handshakeTimeout: NO_HANDSHAKE_TIMEOUT_MS,
    });
  } catch (cause) {
    // What the runtime dislikes in a certificate must not end the accepting.
    wire.fail(new Error("Cannot use certificate: TLS refuses it", { cause }));
    return wire;
  }
  server.once("secureConnection", (socket: TLSSocket) => {
    if (asksClient && !socket.authorized) {
      wire.fail(new Error(UNTRUSTED));
    } else wire.establish(socket);
  });
  server.once("tlsClientError", (error: Error, socket: TLSSocket) => {
    // Only this field tells that the client's certificate is the reason.
    const { authorizationError } = socket;
    wire.fail(
      authorizationError
        ? new Error(`${UNTRUSTED}: ${String(authorizationError)}`)
        : error,
    );
  });
  carrier.on("error", (error: Error) => wire.fail(error));
  // The runtime reports the reason right after the close, so wait for it.
  carrier.on("close", () => {
    setImmediate(() => wire.fail(new Error("Connection closed")));
  });
  let isOpen = false;
  wire.opened().then(() => isOpen = true, () => {});
  carrier.on("end", () => {
    // Before TLS is established, the end of the input is not announced.
    if (!isOpen) wire.fail(new Error("Connection closed"));
  });
  server.emit("connection", carrier);
  return wire;
}

/** The stream that the TLS of the runtime reads and writes. */
function createCarrier(connection: ByteConnection): Duplex {
  return new Duplex({
    read() {
      const buffer = new Uint8Array(READ_BYTES);
      connection.read(buffer).then(
        (length) =>
          this.push(length === null ? null : buffer.subarray(0, length)),
        (error) => this.destroy(error),
      );
    },
    write(chunk: Uint8Array, _encoding, callback) {
      connection.write(chunk).then(() => callback(), callback);
    },
    final(callback) {
      connection.closeWrite().then(() => callback(), callback);
    },
    destroy(error, callback) {
      connection.close();
      callback(error);
    },
  });
}
