/**
 * The unix socket in the folder of a local memory, at which the process that
 * has the memory open serves it to the others.
 *
 * @module
 */

import { dirname } from "node:path";
import type { Clock } from "../../shared/clock.ts";
import { tighten } from "../../shared/data_file.ts";
import type { HttpHandler } from "../../shared/http/exchange.ts";
import { Http1Server } from "../../shared/http1/server.ts";
import type { Logger } from "../../shared/logger.ts";
import { removeIfThere } from "../../shared/missing_file.ts";

/**
 * The longest path of a socket in bytes: macOS has room for 104, Linux for 108,
 * a zero at the end included.
 */
const MAX_PATH_BYTES = 103;

/** Most other processes that have a connection at a time. */
const MAX_CONNECTIONS = 256;

/** Bytes that all bodies together may hold while they come in. */
const MAX_BODIES_BYTES = 134_217_728;

/** What a socket is served with. */
interface MemorySocketOptions {
  /** The folder of the memory. */
  readonly folder: string;
  /**
   * Where a socket goes whose path in the folder is too long.
   *
   * @default the system's folder for temporary files
   */
  readonly runtimeFolder?: string | undefined;
  /** The time. */
  readonly clock: Clock;
  /** Takes faults of the handler. */
  readonly logger: Logger;
}

/** A socket that is served. */
interface MemorySocket {
  /** Lets each answer from now on be the last one of its connection. */
  drain(): void;
  /** Answers what is under way, and removes the socket. */
  stop(graceMs: number): Promise<void>;
}

/**
 * Serves a handler at the socket of a folder. Only the process that has locked
 * the folder may call this: a socket that is there was left by a process that
 * has ended, and is removed.
 *
 * @throws {Error} when the socket cannot be made
 */
export async function serveMemorySocket(
  handler: HttpHandler,
  { folder, runtimeFolder, clock, logger }: MemorySocketOptions,
): Promise<MemorySocket> {
  // A folder of its own, so that no other user can connect before the socket
  // has its mode, whatever the mode of the data folder is.
  await Deno.mkdir(dirname(linkPath(folder)), {
    recursive: true,
    mode: 0o700,
  });
  tighten(dirname(linkPath(folder)));
  await removeSocket(folder);
  const path = await makePlace(folder, runtimeFolder);
  const server = new Http1Server({
    socketPath: path,
    handler,
    maxConnections: MAX_CONNECTIONS,
    maxBodyBytesInFlight: MAX_BODIES_BYTES,
    logger,
    clock,
  });
  await server.start();
  await Deno.chmod(path, 0o600);
  return {
    drain: () => server.drain(),
    async stop(graceMs) {
      await server.stop(graceMs);
      await removeSocket(folder);
    },
  };
}

/** The path to connect to; undefined when there is no socket. */
export async function findMemorySocket(
  folder: string,
): Promise<string | undefined> {
  const path = linkPath(folder);
  try {
    return (await Deno.lstat(path)).isSymlink
      ? await Deno.readLink(path)
      : path;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}

/** The socket, or a link to it where its path would be too long. */
function linkPath(folder: string): string {
  return `${folder}/run/relayer.sock`;
}

/** Returns the path for a new socket. */
async function makePlace(
  folder: string,
  runtimeFolder: string | undefined,
): Promise<string> {
  const path = linkPath(folder);
  if (new TextEncoder().encode(path).length <= MAX_PATH_BYTES) return path;
  // Only its owner may look into a new folder, and its name cannot be guessed.
  const place = await Deno.makeTempDir({
    ...(runtimeFolder === undefined ? {} : { dir: runtimeFolder }),
    prefix: PREFIX,
  }).catch(() => Deno.makeTempDir({ prefix: PREFIX }));
  const target = `${place}/relayer.sock`;
  await Deno.symlink(target, path);
  return target;
}

const PREFIX = "tercet-";

async function removeSocket(folder: string): Promise<void> {
  const path = await findMemorySocket(folder);
  if (path === undefined) return;
  await removeIfThere(linkPath(folder));
  const place = dirname(path);
  if (path === linkPath(folder) || !place.includes(PREFIX)) return;
  await removeIfThere(path);
  await removeIfThere(place);
}
