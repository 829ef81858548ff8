/**
 * Connects a socket to a PostgreSQL server, by TCP and, where it is asked for,
 * by TLS. The npm client gets the socket when it is ready: it would neither try
 * the next host for a standby, nor say that a server has no TLS.
 *
 * @module
 */

import type { Buffer } from "node:buffer";
import { isIP, Socket } from "node:net";
import { connect as connectTls, type TLSSocket } from "node:tls";
import type { Clock } from "../clock.ts";
import type { DatabaseTls, ServerAddress } from "./connection.ts";

/** Options of {@linkcode dial}. */
interface DialOptions {
  /** Without it the connection is not encrypted. */
  readonly tls?: DatabaseTls | undefined;
  /** The authorities as PEM. @default those of the system */
  readonly ca?: string | undefined;
  /** How long all of it may take in milliseconds. */
  readonly timeoutMs: number;
  /** Sets the timer. */
  readonly clock: Pick<Clock, "setTimer">;
  /** Gives up when it is aborted. */
  readonly signal: AbortSignal;
}

/** The request to speak TLS (PostgreSQL's protocol, "SSLRequest"). */
const TLS_REQUEST = Uint8Array.of(0, 0, 0, 8, 4, 210, 22, 47);
const YES = "S".charCodeAt(0);

/**
 * Connects to a server.
 *
 * @throws {Error} when it does not answer in time, refuses, has no TLS or a
 * certificate that does not hold
 */
export async function dial(
  { host, port }: ServerAddress,
  options: DialOptions,
): Promise<Socket> {
  const { tls, timeoutMs, signal } = options;
  const socket = new Socket();
  const late = new Error(
    `Cannot connect to "${host}:${port}": no answer within ${timeoutMs} ms`,
  );
  const timer = options.clock.setTimer(() => socket.destroy(late), timeoutMs);
  const giveUp = (): void => void socket.destroy();
  signal.addEventListener("abort", giveUp);
  try {
    signal.throwIfAborted();
    await once(socket, "connect", () => socket.connect(port, host));
    // A statement is a few writes, of which none must wait for an answer.
    socket.setNoDelay(true);
    if (tls === undefined) return socket;
    const answer = await once<Buffer>(
      socket,
      "data",
      () => socket.write(TLS_REQUEST),
    );
    // More than one byte would be text put before the encrypted one on the way
    // (CVE-2021-23222).
    if (answer.length !== 1 || answer[0] !== YES) {
      throw new Error(
        `Cannot connect to "${host}:${port}": the server has no TLS; turn it ` +
          "on there, or set sslmode=disable",
      );
    }
    socket.pause();
    const encrypted: TLSSocket = connectTls({
      socket,
      // The name to check; without it, it would be "localhost".
      host,
      ...(options.ca === undefined ? {} : { ca: options.ca }),
      ...(isIP(host) === 0 ? { servername: host } : {}),
      rejectUnauthorized: tls.verify !== "none",
      ...(tls.verify === "full"
        ? {}
        : { checkServerIdentity: () => undefined }),
    });
    await once(encrypted, "secureConnect", () => {});
    return encrypted;
  } catch (error) {
    socket.destroy();
    throw error;
  } finally {
    timer.cancel();
    signal.removeEventListener("abort", giveUp);
  }
}

/** Waits for an event of a socket, or its error. */
function once<T = void>(
  socket: Socket,
  event: string,
  begin: () => void,
): Promise<T> {
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  const onClose = (): void =>
    reject(new Error("Cannot connect: the server closed the connection"));
  socket.once(event, resolve);
  socket.once("error", reject);
  socket.once("close", onClose);
  begin();
  return promise.finally(() => {
    socket.off(event, resolve);
    socket.off("error", reject);
    socket.off("close", onClose);
  });
}
