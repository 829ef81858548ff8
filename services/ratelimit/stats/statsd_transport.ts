/**
 * Sends payloads of statsd lines to their server, over UDP or TCP.
 *
 * @module
 */

import { describeError, unlessAborted } from "../../shared/settled.ts";
import { createSocket } from "node:dgram";
import { connect, type Socket } from "node:net";
import type { Clock } from "../../shared/clock.ts";
import { lookUpName, StatsdAddress } from "./statsd_address.ts";

/** An open link to the server. */
export interface StatsdLink {
  /** Most bytes that should be in one payload. */
  readonly maxPayloadBytes: number;
  /** Settles with the reason once the link is unusable; never rejects. */
  readonly closed: Promise<string>;
  /**
   * Sends a payload; resolves once the system has taken it. One at a time.
   *
   * @throws {Error} when the link is closed before that.
   */
  send(payload: Uint8Array): Promise<void>;
  /** Ends the link; resolves when all payloads were passed to the network. */
  end(): Promise<void>;
  /**
   * Closes the link at once, with the reason; does nothing when it is closed.
   */
  destroy(reason: string): void;
}

/** Address of the server. */
interface StatsdTarget {
  /** Host name or address. */
  readonly host: string;
  /** Port. */
  readonly port: number;
  /** Aborts the attempt; has no effect once the link is open. */
  readonly signal: AbortSignal;
  /** Gives the time, after which a name is looked up again. */
  readonly clock: Clock;
}

/**
 * Opens a link.
 *
 * @throws {Error} when the server cannot be reached or the signal ends it.
 */
export type StatsdDial = (target: StatsdTarget) => Promise<StatsdLink>;

// Fits an Ethernet frame behind IPv6 and UDP headers, with room for a tunnel's.
const UDP_PAYLOAD_BYTES = 1_432;

/**
 * Opens a socket to a statsd server. Whether a server listens there cannot be
 * known: only a name without an address and faults of this machine are errors.
 * The name is looked up again every minute.
 *
 * @throws {Error} when the name has no address, the process may not bind a
 * local one, or the signal ends it.
 */
export async function dialStatsdUdp(
  target: StatsdTarget,
): Promise<StatsdLink> {
  const { host, port, signal, clock } = target;
  const addresses = await unlessAborted(lookUpName(host), signal);
  // A server that listens on one family mostly listens on IPv4.
  const found = addresses.find(({ family }) => family === 4) ?? addresses[0];
  if (found === undefined) {
    throw new Error(`Cannot find "${host}": it has no address`);
  }
  await mayBind(found.family === 6 ? "[::]:0" : "0.0.0.0:0");
  const server = new StatsdAddress({ host, found, lookUp: lookUpName, clock });
  const socket = createSocket(found.family === 6 ? "udp6" : "udp4");
  const link = new SocketLink({
    maxPayloadBytes: UDP_PAYLOAD_BYTES,
    write: (payload, taken) => socket.send(payload, port, server.take(), taken),
    flush: () => Promise.resolve(),
    close: () => socket.close(),
  });
  socket.on("error", (error) => link.destroy(describeError(error)));
  return link;
}

// Checked first: the socket binds a local address with its first datagram, and
// throws past every handler when the process may not.
async function mayBind(host: string): Promise<void> {
  const { state } = await Deno.permissions.query({ name: "net", host });
  if (state === "granted") return;
  throw new Error(
    `Cannot open a UDP socket: no permission to bind "${host}", run with --allow-net or add it there`,
  );
}

const TCP_PAYLOAD_BYTES = 16 * 1024;
const KEEP_ALIVE_DELAY_MS = 30_000;

/**
 * Connects to a statsd server.
 *
 * @throws {Error} when the server cannot be reached or the signal ends it.
 */
export function dialStatsdTcp(target: StatsdTarget): Promise<StatsdLink> {
  const { host, port, signal } = target;
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason);
    const socket = connect({ host, port, noDelay: true });
    const settle = () => {
      signal.removeEventListener("abort", onAbort);
      socket.off("error", onError);
    };
    const onAbort = () => {
      settle();
      socket.on("error", ignoreLateError);
      socket.destroy();
      reject(signal.reason);
    };
    const onError = (error: Error) => {
      settle();
      socket.on("error", ignoreLateError);
      socket.destroy();
      reject(error);
    };
    signal.addEventListener("abort", onAbort);
    socket.on("error", onError);
    socket.once("connect", () => {
      if (signal.aborted) return;
      settle();
      resolve(tcpLink(socket));
    });
  });
}

function tcpLink(socket: Socket): StatsdLink {
  const link = new SocketLink({
    maxPayloadBytes: TCP_PAYLOAD_BYTES,
    write: (payload, taken) => socket.write(payload, taken),
    flush: () =>
      new Promise<void>((resolve) => {
        socket.end(resolve);
        socket.once("close", () => resolve());
      }),
    close: () => socket.destroy(),
  });
  socket.on("error", (error) => link.destroy(describeError(error)));
  socket.on("close", () => link.destroy("the connection was closed"));
  // The end of the other side is only noticed while its data is read.
  socket.on("end", () => link.destroy("the server closed the connection"));
  socket.resume();
  socket.setKeepAlive(true, KEEP_ALIVE_DELAY_MS);
  return link;
}

// A socket that has been given up may still report an error.
function ignoreLateError(): void {}

/** The socket of a {@linkcode SocketLink}, over UDP or TCP. */
interface LinkSocket {
  readonly maxPayloadBytes: number;
  /** Sends, and calls back once the system has taken the payload. */
  readonly write: (
    payload: Uint8Array,
    taken: (error?: Error | null) => void,
  ) => void;
  /** Resolves when all payloads were passed to the network. */
  readonly flush: () => Promise<void>;
  readonly close: () => void;
}

/** A link over a socket; it is closed once, with one reason. */
class SocketLink implements StatsdLink {
  readonly closed: Promise<string>;
  readonly #socket: LinkSocket;
  readonly #close: (reason: string) => void;
  #reason: string | undefined;
  #failSend: ((error: Error) => void) | undefined;

  constructor(socket: LinkSocket) {
    const { promise, resolve } = Promise.withResolvers<string>();
    this.closed = promise;
    this.#close = resolve;
    this.#socket = socket;
  }

  get maxPayloadBytes(): number {
    return this.#socket.maxPayloadBytes;
  }

  send(payload: Uint8Array): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    if (this.#reason !== undefined) {
      reject(new Error(this.#reason));
      return promise;
    }
    this.#failSend = reject;
    this.#socket.write(payload, (error) => {
      this.#failSend = undefined;
      if (error) reject(error);
      else resolve();
    });
    return promise;
  }

  async end(): Promise<void> {
    if (this.#reason === undefined) await this.#socket.flush();
    this.destroy("it was ended");
  }

  destroy(reason: string): void {
    if (this.#reason !== undefined) return;
    this.#reason = reason;
    this.#socket.close();
    this.#failSend?.(new Error(reason));
    this.#close(reason);
  }
}
