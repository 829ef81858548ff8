/**
 * One connection of the `redis` package, cut down to what this project uses:
 * no queue while offline, no redial of its own, no commands of its own.
 *
 * @module
 */

import { Buffer } from "node:buffer";
import type { Duplex } from "node:stream";
import { createClient, ErrorReply } from "redis";
import { type StoreTls, tlsSocketOptions } from "../../store_tls.ts";
import type { RedisAddress, RedisAuth } from "./address.ts";

/** One argument of a command. */
export type RedisArgument = string | Buffer;

/** One command. */
export type RedisCommand = readonly RedisArgument[];

/** A connection that is dialled once. */
export interface RedisClient {
  /**
   * Dials and signs in.
   *
   * @throws {Error} When that fails.
   */
  connect(): Promise<void>;
  /**
   * Sends a command; all commands of one tick go out in one write.
   *
   * @throws {Error} When the server refuses it, see
   * {@linkcode isRedisErrorReply}, or the connection is lost.
   */
  send(command: RedisCommand): Promise<unknown>;
  /** Closes the connection at once, even while it is being dialled. */
  destroy(): void;
}

/** How a {@linkcode RedisClient} is made. */
export interface RedisClientOptions {
  /** Where the server listens. */
  readonly address: RedisAddress;
  /**
   * What to sign in with.
   *
   * @default not signing in
   */
  readonly auth?: RedisAuth | undefined;
  /**
   * Number of the database.
   *
   * @default 0
   */
  readonly database?: number | undefined;
  /**
   * Encrypts the connection; unix sockets are never encrypted.
   *
   * @default not encrypted
   */
  readonly tls?: StoreTls | undefined;
  /** Bound on the dialling in milliseconds. */
  readonly timeoutMs: number;
  /** Is called when the connection fails, perhaps more than once. */
  readonly onError: (error: Error) => void;
}

/** Makes a client; `connect()` dials. */
export function openRedisClient(options: RedisClientOptions): RedisClient {
  const { address, auth } = options;
  const aborter = new AbortController();
  const common = {
    connectTimeout: options.timeoutMs,
    reconnectStrategy: false,
    signal: aborter.signal,
    writev: writeTogether,
  } as const;
  // The package makes a class of hundreds of methods for each new set of
  // options, which takes longer than a dial; it keeps one, which is to be this
  // one.
  const template = createClient({ RESP: 2 });
  template.destroy();
  const client = template.duplicate({
    // With the second protocol version nothing is sent before the first
    // command of ours, so old servers and proxies understand us as well.
    RESP: 2,
    disableClientInfo: true,
    maintNotifications: "disabled",
    disableOfflineQueue: true,
    // The package's own time limit ends once a command is written.
    commandOptions: { timeout: 0 },
    socket: address.kind === "unix"
      ? { ...common, path: address.path, tls: false }
      : {
        ...common,
        host: address.host,
        port: address.port,
        ...(options.tls === undefined
          ? { tls: false }
          : { tls: true, ...tlsSocketOptions(options.tls, address.host) }),
      },
    ...auth,
    database: options.database ?? 0,
  });
  client.on("error", options.onError);
  return {
    async connect() {
      await client.connect();
    },
    send: (command) => client.sendCommand(command),
    destroy() {
      client.destroy();
      // The package does not close a socket that is still being dialled.
      aborter.abort();
    },
  };
}

/**
 * True for an error that the server answered with, on a connection that works.
 */
export function isRedisErrorReply(error: unknown): error is Error {
  return error instanceof ErrorReply;
}

/**
 * Writes all chunks of one turn as one: the package makes up to three of each
 * command, and Deno 2 gives each chunk for a unix socket to the system by
 * itself.
 */
function writeTogether(
  this: Duplex,
  chunks: ReadonlyArray<{
    readonly chunk: Buffer | string;
    readonly encoding: BufferEncoding;
  }>,
  callback: (error?: Error | null) => void,
): void {
  const buffers = chunks.map(({ chunk, encoding }) =>
    typeof chunk === "string" ? Buffer.from(chunk, encoding) : chunk
  );
  // "buffer" says that it is no text; the type leaves that value out.
  const encoding = "buffer" as BufferEncoding;
  this._write(Buffer.concat(buffers), encoding, callback);
}
