/**
 * The socket of a gRPC client: connects, with TLS if configured, and runs an
 * HTTP/2 connection on it.
 *
 * @module
 */

import type { Buffer } from "node:buffer";
import { lookup } from "node:dns/promises";
import { connect as connectSocket, isIP, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import type { Clock, Timer } from "../clock.ts";
import {
  type ClientConnectionOptions,
  H2ClientConnection,
} from "../h2/client_connection.ts";
import type { OutputPort } from "../h2/connection.ts";
import { shownAddress } from "../http/open_port.ts";
import { describeError, unlessAborted } from "../settled.ts";

/** How a client authenticates the server, and itself, over TLS. */
export interface GrpcClientTls {
  /**
   * Certificates of the authorities that are trusted, as PEM.
   *
   * @default those of the runtime
   */
  readonly caPem?: string | undefined;
  /**
   * The client's own certificate chain, as PEM.
   *
   * @default none
   */
  readonly certPem?: string | undefined;
  /** Its private key, as PEM; goes with `certPem`. */
  readonly keyPem?: string | undefined;
  /**
   * The name that the server's certificate must have.
   *
   * @default the host
   */
  readonly serverName?: string | undefined;
}

/** Where a server is. */
export type GrpcTarget =
  | {
    readonly kind: "tcp";
    readonly host: string;
    readonly port: number;
    /**
     * TLS of the connection.
     *
     * @default none
     */
    readonly tls?: GrpcClientTls | undefined;
  }
  | { readonly kind: "unix"; readonly path: string };

/** Text of a target, for errors and for the `:authority` of calls. */
export function targetText(target: GrpcTarget): string {
  return target.kind === "tcp"
    ? shownAddress(target.host, target.port)
    : `unix:${target.path}`;
}

/** How long an address is tried before the next one (RFC 8305, section 5). */
const NEXT_ADDRESS_MS = 250;

/** What bounds the opening of a socket. */
interface OpenSocketOptions {
  /** Ends the attempt. */
  readonly signal: AbortSignal;
  /** The time. */
  readonly clock: Clock;
}

/**
 * Connects to a server; of several addresses of a name the first that answers
 * is taken, and a silent one does not hold up the next.
 *
 * @throws When no address answers, TLS can't be established, or `signal` is
 * aborted.
 */
export async function openSocket(
  target: GrpcTarget,
  { signal, clock }: OpenSocketOptions,
): Promise<Socket> {
  if (target.kind === "unix") {
    return await settled(connectSocket({ path: target.path }), {
      event: "connect",
      signal,
    });
  }
  const { host, port, tls } = target;
  const addresses = await unlessAborted(
    resolveAddresses(host),
    signal,
    waitEnded,
  );
  signal.throwIfAborted();
  const losers = new AbortController();
  const ended = AbortSignal.any([signal, losers.signal]);
  const open = (address: string): Promise<Socket> =>
    tls === undefined
      ? settled(connectSocket({ host: address, port }), {
        event: "connect",
        signal: ended,
      })
      : tlsSocket({ address, host, port, tls }, ended);
  try {
    return await openFirst(addresses, { open, signal, clock });
  } finally {
    losers.abort();
  }
}

/** Tries the addresses in turn until one is open; an error starts the next. */
function openFirst(
  addresses: readonly string[],
  { open, signal, clock }: OpenSocketOptions & {
    readonly open: (address: string) => Promise<Socket>;
  },
): Promise<Socket> {
  const { promise, resolve, reject } = Promise.withResolvers<Socket>();
  const faults = new Set<string>();
  let at = 0;
  let left = addresses.length;
  let isOpen = false;
  let timer: Timer | undefined;
  const next = (): void => {
    timer?.cancel();
    const address = addresses[at++];
    if (isOpen || address === undefined) return;
    if (at < addresses.length) timer = clock.setTimer(next, NEXT_ADDRESS_MS);
    open(address).then((socket) => {
      timer?.cancel();
      // Another address was faster.
      if (isOpen) socket.destroy();
      isOpen = true;
      resolve(socket);
    }, (error: unknown) => {
      faults.add(describeError(error));
      left--;
      if (left === 0 || signal.aborted) {
        timer?.cancel();
        reject(new Error([...faults].join("; ")));
      } else next();
    });
  };
  next();
  return promise;
}

async function resolveAddresses(host: string): Promise<readonly string[]> {
  if (isIP(host) !== 0) return [host];
  const found = await lookup(host, { all: true });
  return found.map(({ address }) => address);
}

async function tlsSocket(
  to: {
    readonly address: string;
    readonly host: string;
    readonly port: number;
    readonly tls: GrpcClientTls;
  },
  signal: AbortSignal,
): Promise<Socket> {
  const { caPem, certPem, keyPem, serverName = to.host } = to.tls;
  // The runtime keeps what belongs to TLS on a socket that never connected.
  const plain = await settled(
    connectSocket({ host: to.address, port: to.port }),
    { event: "connect", signal },
  );
  const socket = await settled(
    connectTls({
      socket: plain,
      host: to.address,
      ca: caPem,
      cert: certPem,
      key: keyPem,
      // An address is no server name (RFC 6066, 3); the certificate is
      // checked against it all the same.
      servername: isIP(serverName) === 0 ? serverName : undefined,
      ALPNProtocols: ["h2"],
    }),
    { event: "secureConnect", signal },
  );
  if (socket.alpnProtocol !== "h2") {
    socket.destroy();
    throw new Error("the server does not offer HTTP/2 in TLS (ALPN h2)");
  }
  return socket;
}

function waitEnded(): Error {
  return new Error("the wait was ended");
}

/** Waits for `event`; closes the socket when it can't come. */
function settled<S extends Socket>(
  socket: S,
  { event, signal }: {
    readonly event: "connect" | "secureConnect";
    readonly signal: AbortSignal;
  },
): Promise<S> {
  return new Promise((resolve, reject) => {
    const abort = (): void => fail(waitEnded());
    const fail = (error: Error): void => {
      signal.removeEventListener("abort", abort);
      socket.destroy();
      reject(error);
    };
    // Stays for good: an error without a listener would end the process.
    socket.on("error", fail);
    socket.once("close", () => fail(new Error("the connection was closed")));
    socket.once(event, () => {
      signal.removeEventListener("abort", abort);
      resolve(socket);
    });
    if (signal.aborted) abort();
    else signal.addEventListener("abort", abort, { once: true });
  });
}

/** With more unsent bytes at the end, the socket is closed after a time. */
const LAST_WORDS_BYTES = 1_024;
const LINGER_MS = 1_000;

/** A socket and the connection of HTTP/2 on it. */
export class ClientSocket implements OutputPort {
  /** The HTTP/2 connection on the socket. */
  readonly connection: H2ClientConnection;
  readonly #socket: Socket;
  readonly #clock: Clock;
  #linger: Timer | undefined;

  /** Owns the socket from now on, and sends the preface and the settings. */
  constructor(
    socket: Socket,
    options: ClientConnectionOptions & { readonly onClosed: () => void },
  ) {
    this.#socket = socket;
    this.#clock = options.clock;
    socket.setNoDelay(true);
    this.connection = new H2ClientConnection(this, options);
    let reason = "the server closed the connection";
    socket.on("data", (bytes: Buffer) => this.connection.receive(bytes));
    socket.on("error", (error: Error) => {
      reason = `the connection broke: ${describeError(error)}`;
    });
    socket.on("end", () => this.connection.closed(reason));
    socket.on("close", () => {
      this.connection.closed(reason);
      this.#linger?.cancel();
      options.onClosed();
    });
    this.connection.start();
  }

  /** Bytes taken that wait to be sent. */
  get unsentBytes(): number {
    return this.#socket.writableLength;
  }

  /** Sends bytes after those that wait. */
  write(bytes: Uint8Array): void {
    if (this.#socket.destroyed) return;
    this.#socket.write(bytes, () => {
      if (this.#socket.writableLength === 0) this.connection.drained();
    });
  }

  /** Closes the socket once all is sent; waits a second for a slow server. */
  end(): void {
    if (this.#socket.destroyed || this.#linger !== undefined) return;
    const isStuck = this.unsentBytes > LAST_WORDS_BYTES;
    this.#socket.end();
    this.#socket.destroySoon();
    // A server that takes nothing must not keep the socket.
    if (!isStuck) return;
    this.#linger = this.#clock.setTimer(() => this.destroy(), LINGER_MS);
  }

  /** Breaks the connection. */
  destroy(): void {
    this.#socket.destroy();
  }
}
