/**
 * Starts Redis and memcached servers for a benchmark.
 *
 * @module
 */

import { freePort } from "./tasks/free_port.ts";

/** A server process that a benchmark started. */
export interface BenchServer {
  /** The TCP port of the loopback interface on which the server listens. */
  readonly port: number;
  /**
   * The path of the unix socket on which the server listens; "" when it has
   * none.
   */
  readonly socketPath: string;
  /** Ends the server process. */
  stop(): Promise<void>;
}

const HOST = "127.0.0.1";
const START_MS = 5_000;

/**
 * Starts a Redis server that keeps nothing on disk.
 *
 * @param folder The folder for the server's unix socket.
 * @returns `undefined` when redis-server is not on the path.
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
 * @returns `undefined` when memcached is not on the path.
 */
export function startMemcached(): Promise<BenchServer | undefined> {
  const port = freePort();
  return start("memcached", { port, socketPath: "" }, [
    ...["-l", HOST, "-p", String(port), "-U", "0"],
    // memcached refuses to run as the superuser unless `-u` names a user whose
    // rights it takes.
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
      // The process has already ended by itself.
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
