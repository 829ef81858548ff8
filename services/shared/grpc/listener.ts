/**
 * The listening socket under a gRPC server: opened, watched and closed apart
 * from the protocol that runs on its connections.
 *
 * @module
 */

import { connect, createServer, type Server, type Socket } from "node:net";
import { type Clock, repeatEvery, systemClock } from "../clock.ts";
import type { Logger } from "../logger.ts";
import { describeError } from "../settled.ts";
import type { GrpcAddress } from "./method.ts";

/** Options of {@linkcode watchListener}. */
interface WatchListenerOptions {
  /** Where it listens. */
  readonly address: GrpcAddress;
  /** How many connections it has taken in so far. */
  readonly accepted: () => number;
  /** Closes the listener and opens it again at the same address. */
  readonly reopen: () => Promise<void>;
  /** Hears of it. */
  readonly logger: Logger;
  /**
   * The time source.
   *
   * @default systemClock
   */
  readonly clock?: Clock;
  /**
   * Milliseconds between two calls.
   *
   * @default 5000
   */
  readonly intervalMs?: number;
  /**
   * Milliseconds after which a connection that was not taken in never will be.
   *
   * @default 5000
   */
  readonly acceptTimeoutMs?: number;
}

/** How often it is looked whether the connection was taken in. */
const LOOK_MS = 100;

/** Calls a listener from time to time; the returned function ends that. */
export function watchListener(options: WatchListenerOptions): () => void {
  const { reopen, logger, clock = systemClock, intervalMs = 5_000 } = options;
  const ending = new AbortController();
  let isUnderWay = false;
  const look = async (): Promise<void> => {
    if (await hears(options, ending.signal) || ending.signal.aborted) return;
    logger.error("The listener no longer takes connections; opens it again");
    await reopen();
  };
  const timer = repeatEvery(clock, {
    intervalMs,
    run() {
      if (isUnderWay) return;
      isUnderWay = true;
      look().catch((error) => {
        logger.error("Cannot open the listener again; tries later", {
          error: describeError(error),
        });
      }).finally(() => isUnderWay = false);
    },
  });
  return () => {
    timer.cancel();
    ending.abort();
  };
}

/** False when the listener is surely deaf. */
function hears(
  options: WatchListenerOptions,
  signal: AbortSignal,
): Promise<boolean> {
  const { address, accepted, clock = systemClock } = options;
  const { acceptTimeoutMs = 5_000 } = options;
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const before = accepted();
  const socket = connect(
    address.kind === "unix"
      ? { path: address.path }
      : { host: reachable(address.host), port: address.port },
  );
  // Looks rather than milliseconds: a process that was busy gets as many.
  let looks = Math.ceil(acceptTimeoutMs / LOOK_MS);
  const timer = repeatEvery(clock, {
    intervalMs: LOOK_MS,
    run() {
      if (accepted() !== before) resolve(true);
      else if (--looks <= 0) resolve(false);
    },
  });
  socket.on("error", (error: Error) => {
    // Such as the lack of a file for this call, which says nothing of those to
    // come. A socket that nothing answers on is left behind by an opening that
    // failed.
    resolve(!("code" in error && error.code === "ECONNREFUSED"));
  });
  signal.addEventListener("abort", () => resolve(true), { once: true });
  return promise.finally(() => {
    timer.cancel();
    socket.destroy();
  });
}

/** An address that can be called where it stands for all there are. */
function reachable(host: string): string {
  if (host === "0.0.0.0") return "127.0.0.1";
  return host === "::" ? "::1" : host;
}

/** What is done with connections. */
interface ListenOptions {
  /** Takes over a connection; called once for each. */
  readonly onConnection: (socket: Socket) => void;
  /** Hears that it had to be opened again. */
  readonly logger: Logger;
  /**
   * How long a Unix socket may take to show that a server answers on it.
   *
   * @default 1000
   */
  readonly probeTimeoutMs?: number;
}

/** A listening socket and the connections it has accepted. */
export interface Listener {
  /** Where it listens, with the real port where 0 was asked. */
  readonly address: GrpcAddress;
  /** Accepts no further connections; those it has stay open. */
  close(): void;
  /** Resolves when the listener and all its connections are closed. */
  closed(): Promise<void>;
  /** Breaks the connections that are still open. */
  destroyConnections(): void;
}

/** How long a caller may take to close its side once ours is closed. */
const LINGER_MS = 1_000;

/**
 * Listens on `address`. The file of a Unix socket on which no server answers
 * any longer is removed first.
 *
 * @throws {Deno.errors.AddrInUse} When the address is taken, or the path of a
 * Unix socket holds something that is not a socket.
 */
export async function listen(
  address: GrpcAddress,
  options: ListenOptions,
): Promise<Listener> {
  if (address.kind === "unix") {
    await removeStaleSocket(address.path, options.probeTimeoutMs ?? 1_000);
  }
  const sockets = new Set<Socket>();
  const closes: Promise<void>[] = [];
  let accepted = 0;
  let closing = false;
  const open = async (at: GrpcAddress): Promise<Server> => {
    const server = createServer({ noDelay: true });
    server.on("connection", (socket: Socket) => {
      accepted++;
      // A connection may still come out of the backlog after the close.
      if (closing) return void socket.destroy();
      sockets.add(socket);
      socket.once("close", () => sockets.delete(socket));
      destroyAfterFinish(socket);
      options.onConnection(socket);
    });
    await opened(server, at);
    closes.push(
      new Promise<void>((resolve) => server.once("close", resolve)),
    );
    return server;
  };
  let server = await open(address);
  const bound = boundAddress(server, address);
  const endWatch = watchListener({
    address: bound,
    accepted: () => accepted,
    async reopen() {
      server.close();
      if (bound.kind === "unix") await removeIfThere(bound.path);
      if (closing) return;
      server = await open(bound);
      if (closing) server.close();
    },
    logger: options.logger,
  });
  return {
    address: bound,
    close() {
      if (closing) return;
      closing = true;
      endWatch();
      server.close();
    },
    async closed() {
      await Promise.all(closes);
    },
    destroyConnections() {
      for (const socket of sockets) socket.destroy();
    },
  };
}

function opened(server: Server, address: GrpcAddress): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", (error: Error) => {
      reject(isAddressInUse(error) ? addressInUse(address) : error);
    });
    if (address.kind === "unix") {
      server.listen({ path: address.path }, resolve);
    } else {
      server.listen({ host: address.host, port: address.port }, resolve);
    }
  });
}

function boundAddress(server: Server, asked: GrpcAddress): GrpcAddress {
  const bound = server.address();
  if (asked.kind === "unix" || bound === null || typeof bound === "string") {
    return asked;
  }
  return { kind: "tcp", host: bound.address, port: bound.port };
}

async function removeStaleSocket(
  path: string,
  probeTimeoutMs: number,
): Promise<void> {
  let info: Deno.FileInfo;
  try {
    info = await Deno.lstat(path);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return;
    throw error;
  }
  if (info.isSocket !== true) {
    throw new Deno.errors.AddrInUse(
      `Cannot listen on "${path}": the path holds something that is not a socket`,
    );
  }
  if (await answers(path, probeTimeoutMs)) {
    throw addressInUse({ kind: "unix", path });
  }
  await removeIfThere(path);
}

async function removeIfThere(path: string): Promise<void> {
  try {
    await Deno.remove(path);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
}

/**
 * When our side has said its last, the other has a moment to close too. Without
 * the moment a reset could overtake the last answer; without the end a caller
 * that is stuck would hold the connection, and the stop with it.
 */
function destroyAfterFinish(socket: Socket): void {
  socket.once("finish", () => {
    const timer = setTimeout(() => socket.destroy(), LINGER_MS);
    socket.once("close", () => clearTimeout(timer));
  });
}

/** Only a refused connection proves that no server is there. */
function answers(path: string, timeoutMs: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ path });
    const timer = setTimeout(() => finish(true), timeoutMs);
    const finish = (answered: boolean): void => {
      clearTimeout(timer);
      socket.destroy();
      resolve(answered);
    };
    socket.once("connect", () => finish(true));
    socket.once("error", (error: Error) => {
      finish(codeOf(error) !== "ECONNREFUSED" && codeOf(error) !== "ENOENT");
    });
  });
}

function isAddressInUse(error: Error): boolean {
  return codeOf(error) === "EADDRINUSE";
}

function codeOf(error: Error): unknown {
  return "code" in error ? error.code : undefined;
}

function addressInUse(address: GrpcAddress): Error {
  const name = address.kind === "unix"
    ? address.path
    : `${address.host}:${address.port}`;
  return new Deno.errors.AddrInUse(
    `Cannot listen on "${name}": another program listens there`,
  );
}
