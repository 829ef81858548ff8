/**
 * Servers that a benchmark starts for itself.
 *
 * @module
 */

import { freePort } from "./tasks/free_port.ts";

/** A server program that runs. */
export interface BenchServer {
  /** A port of the loopback interface on which it listens. */
  readonly port: number;
  /** A unix socket on which it listens, where it was told to. */
  readonly socketPath: string;
  /** Ends it. */
  stop(): Promise<void>;
}

const HOST = "127.0.0.1";
const START_MS = 5_000;

/**
 * Starts a Redis server that keeps nothing on disk.
 *
 * @param folder Where its socket goes.
 * @returns `undefined` when the program is not on the path.
 */
export function startRedis(folder: string): Promise<BenchServer | undefined> {
  const port = freePort();
  const socketPath = `${folder}/redis_${port}.sock`;
  return start("redis-server", { port, socketPath }, [
    ...["--bind", HOST, "--port", String(port), "--unixsocket", socketPath],
    ...["--save", "", "--appendonly", "no", "--dir", folder],
  ]);
}

/**
 * Starts a memcached server.
 *
 * @returns `undefined` when the program is not on the path.
 */
export function startMemcached(): Promise<BenchServer | undefined> {
  const port = freePort();
  return start("memcached", { port, socketPath: "" }, [
    ...["-l", HOST, "-p", String(port), "-U", "0"],
    // It refuses to run as the superuser unless told whose rights to take.
    ...["-u", "nobody"],
  ]);
}

async function start(
  program: string,
  place: { readonly port: number; readonly socketPath: string },
  args: readonly string[],
): Promise<BenchServer | undefined> {
  let child: Deno.ChildProcess;
  try {
    child = new Deno.Command(program, {
      args: [...args],
      stdin: "null",
      stdout: "null",
      stderr: "null",
    }).spawn();
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
  async function stop(): Promise<void> {
    try {
      child.kill("SIGKILL");
    } catch (error) {
      // It has ended by itself.
      if (!(error instanceof TypeError)) throw error;
    }
    await child.status;
  }
  if (await isReached(place.port)) return { ...place, stop };
  await stop();
  throw new Error(`Cannot start ${program}: nothing listens on ${place.port}`);
}

async function isReached(port: number): Promise<boolean> {
  const endMs = performance.now() + START_MS;
  while (performance.now() < endMs) {
    try {
      (await Deno.connect({ hostname: HOST, port })).close();
      return true;
    } catch (error) {
      if (!(error instanceof Deno.errors.ConnectionRefused)) throw error;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }
  return false;
}
