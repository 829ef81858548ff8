/**
 * Statsd lines over TCP.
 *
 * @module
 */

import { connect, type Socket } from "node:net";
import type { StatsdLink, StatsdTarget } from "./statsd_link.ts";

const maxPayloadBytes = 16 * 1024;
const keepAliveDelayMs = 30_000;

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
      resolve(new TcpLink(socket));
    });
  });
}

class TcpLink implements StatsdLink {
  readonly maxPayloadBytes = maxPayloadBytes;
  readonly closed: Promise<string>;
  readonly #socket: Socket;
  readonly #close: (reason: string) => void;
  #reason: string | undefined;
  #failSend: ((error: Error) => void) | undefined;

  constructor(socket: Socket) {
    const { promise, resolve } = Promise.withResolvers<string>();
    this.closed = promise;
    this.#close = resolve;
    this.#socket = socket;
    socket.on("error", (error) => this.destroy(error.message));
    socket.on("close", () => this.destroy("the connection was closed"));
    // The end of the other side is only seen when what it says is read.
    socket.on("end", () => this.destroy("the server closed the connection"));
    socket.resume();
    socket.setKeepAlive(true, keepAliveDelayMs);
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
    if (this.#reason === undefined) {
      await new Promise<void>((resolve) => {
        this.#socket.end(resolve);
        this.#socket.once("close", () => resolve());
      });
    }
    this.destroy("it was ended");
  }

  destroy(reason: string): void {
    if (this.#reason !== undefined) return;
    this.#reason = reason;
    this.#socket.destroy();
    this.#failSend?.(new Error(reason));
    this.#close(reason);
  }
}

// A socket that has been given up may still report why.
function ignoreLateError(): void {}
