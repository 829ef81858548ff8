/**
 * The sockets of a gRPC server: the one it listens on, and those of its
 * connections, which send output in order and close after it.
 *
 * @module
 */

import { H2Connection, type OutputPort } from "../h2/connection.ts";
import type { ConnectionPlace } from "../h2/connection_turns.ts";
import { Alarm } from "../h2/connection_alarms.ts";
import type { H2Engine } from "../h2/engine.ts";
import { ifThere, removeIfThere } from "../missing_file.ts";
import { describeError } from "../settled.ts";
import type { ByteConnection } from "../wire.ts";
import type { GrpcAddress } from "./method.ts";

/** A listening socket of either kind. */
type GrpcListener = Deno.Listener<Deno.TcpConn | Deno.UnixConn>;

/**
 * Listens on `address`. The file of a Unix socket on which no server answers
 * any longer is removed first.
 *
 * @param options.reusePort Whether others that ask for it as well may listen on
 * the same port; the system then deals connections out.
 * @throws {Deno.errors.AddrInUse} When the address is taken.
 * @throws {Deno.errors.AlreadyExists} When the path of a Unix socket holds
 * something that is not a socket.
 */
export async function listen(
  address: GrpcAddress,
  { reusePort = false }: { readonly reusePort?: boolean | undefined } = {},
): Promise<GrpcListener> {
  if (address.kind === "unix") await removeStaleSocket(address.path);
  try {
    return address.kind === "unix"
      ? await listenUnix(address)
      : Deno.listen({ hostname: address.host, port: address.port, reusePort });
  } catch (error) {
    if (error instanceof Deno.errors.AddrInUse) throw addressInUse(address);
    throw error;
  }
}

async function listenUnix(
  { path, mode }: Extract<GrpcAddress, { readonly kind: "unix" }>,
): Promise<GrpcListener> {
  const listener = Deno.listen({ transport: "unix", path });
  try {
    if (mode !== undefined) await Deno.chmod(path, mode);
    return listener;
  } catch (error) {
    listener.close();
    await removeIfThere(path);
    throw error;
  }
}

/** Where a listener listens, with the real port where 0 was asked. */
export function getAddress({ addr }: GrpcListener): GrpcAddress {
  return addr.transport === "tcp"
    ? { kind: "tcp", host: addr.hostname, port: addr.port }
    : { kind: "unix", path: "path" in addr ? addr.path : "" };
}

async function removeStaleSocket(path: string): Promise<void> {
  const info = await ifThere(Deno.lstat(path));
  if (info === undefined) return;
  if (info.isSocket !== true) {
    throw new Deno.errors.AlreadyExists(
      `Cannot listen on "${path}": the path holds something that is not a socket`,
    );
  }
  if (await answers(path)) throw addressInUse({ kind: "unix", path });
  await removeIfThere(path);
}

/** Whether a server answers; only a refused connection proves there is none. */
async function answers(path: string): Promise<boolean> {
  try {
    (await Deno.connect({ transport: "unix", path })).close();
    return true;
  } catch (error) {
    return !(error instanceof Deno.errors.ConnectionRefused ||
      error instanceof Deno.errors.NotFound);
  }
}

function addressInUse(address: GrpcAddress): Error {
  const name = address.kind === "unix"
    ? address.path
    : `${address.host}:${address.port}`;
  return new Deno.errors.AddrInUse(
    `Cannot listen on "${name}": another program listens there`,
  );
}

/** Size of the read buffer, and of the larger one that replaces a full one. */
const READ_BYTES = 16_384;
const MOST_READ_BYTES = 65_536;

/**
 * How long a caller may take to close its side once ours is closed. Without
 * this wait, a reset could overtake the last answer; without its limit, a
 * stuck caller would hold the connection, and delay the stop of the server.
 */
const LINGER_MS = 1_000;

/** A socket and the connection that runs on it. */
export class H2Socket implements OutputPort {
  /** The HTTP/2 connection on the socket. */
  readonly connection: H2Connection;
  readonly #engine: H2Engine;
  readonly #socket: ByteConnection;
  readonly #linger = new Alarm(() => this.destroy());
  readonly #isPlain: boolean;
  readonly #place: ConnectionPlace;
  readonly #unsent: Uint8Array[] = [];
  #unsentBytes = 0;
  #sending: Promise<void> | undefined;
  #isEnding = false;
  #isClosed = false;

  /**
   * Owns the socket from now on; nothing is read before `run()`. `isPlain`
   * tells that a read which doesn't fill its buffer has emptied the socket,
   * which is not so with TLS.
   */
  constructor(
    engine: H2Engine,
    socket: ByteConnection,
    { isPlain = true }: { readonly isPlain?: boolean } = {},
  ) {
    this.#isPlain = isPlain;
    this.#engine = engine;
    this.#socket = socket;
    this.connection = new H2Connection(engine, this);
    this.#place = engine.turns.place(this.connection);
  }

  /** Bytes taken that wait to be sent. */
  get unsentBytes(): number {
    return this.#unsentBytes;
  }

  /** Feeds received bytes to the connection until it ends. Never rejects. */
  async run(): Promise<void> {
    let buffer = new Uint8Array(READ_BYTES);
    try {
      while (true) {
        const length = await this.#socket.read(buffer);
        if (length === null) break;
        const isAll = this.#isPlain && length < buffer.length;
        // A copy, since methods get parts of it and may keep them.
        const bytes = buffer.slice(0, length);
        const wait = this.#place.receive(bytes, { isAll });
        if (wait !== undefined) await wait;
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

  /** Closes our side once all is sent; the caller then closes its own. */
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
