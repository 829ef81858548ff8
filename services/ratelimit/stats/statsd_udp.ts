/**
 * Statsd lines over UDP.
 *
 * @module
 */

import { createSocket, type Socket } from "node:dgram";
import { lookup } from "node:dns/promises";
import type { StatsdLink, StatsdTarget } from "./statsd_link.ts";

// Fits an Ethernet frame behind IPv6 and UDP headers, with room for a tunnel's.
const maxPayloadBytes = 1_432;

/**
 * Opens a socket to a statsd server. Whether anybody listens there cannot be
 * told: only a name without an address and faults of this machine are errors.
 * The name is looked up once.
 *
 * @throws {Error} when the name has no address, the process may not bind a
 * local one, or the signal ends it.
 */
export async function dialStatsdUdp(
  target: StatsdTarget,
): Promise<StatsdLink> {
  const { host, port, signal } = target;
  const addresses = await unlessAborted(lookup(host, { all: true }), signal);
  // A server that listens on one family mostly listens on IPv4.
  const found = addresses.find(({ family }) => family === 4) ?? addresses[0];
  if (found === undefined) {
    throw new Error(`Cannot find "${host}": it has no address`);
  }
  await mayBind(found.family === 6 ? "[::]:0" : "0.0.0.0:0");
  const socket = createSocket(found.family === 6 ? "udp6" : "udp4");
  return new UdpLink(socket, { address: found.address, port });
}

// The socket takes a local address with its first datagram, and throws past
// every handler when it may not.
async function mayBind(host: string): Promise<void> {
  const { state } = await Deno.permissions.query({ name: "net", host });
  if (state === "granted") return;
  throw new Error(
    `Cannot open a UDP socket: no permission to bind "${host}", run with --allow-net or add it there`,
  );
}

function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(signal.reason);
    if (signal.aborted) onAbort();
    signal.addEventListener("abort", onAbort);
    work.then(resolve, reject).finally(() =>
      signal.removeEventListener("abort", onAbort)
    );
  });
}

class UdpLink implements StatsdLink {
  readonly maxPayloadBytes = maxPayloadBytes;
  readonly closed: Promise<string>;
  readonly #socket: Socket;
  readonly #server: { readonly address: string; readonly port: number };
  readonly #close: (reason: string) => void;
  #reason: string | undefined;
  #failSend: ((error: Error) => void) | undefined;

  constructor(
    socket: Socket,
    server: { readonly address: string; readonly port: number },
  ) {
    const { promise, resolve } = Promise.withResolvers<string>();
    this.closed = promise;
    this.#close = resolve;
    this.#socket = socket;
    this.#server = server;
    socket.on("error", (error) => this.destroy(error.message));
  }

  send(payload: Uint8Array): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    if (this.#reason !== undefined) {
      reject(new Error(this.#reason));
      return promise;
    }
    this.#failSend = reject;
    const { address, port } = this.#server;
    this.#socket.send(payload, port, address, (error) => {
      this.#failSend = undefined;
      if (error) reject(error);
      else resolve();
    });
    return promise;
  }

  end(): Promise<void> {
    this.destroy("it was ended");
    return Promise.resolve();
  }

  destroy(reason: string): void {
    if (this.#reason !== undefined) return;
    this.#reason = reason;
    this.#socket.close();
    this.#failSend?.(new Error(reason));
    this.#close(reason);
  }
}
