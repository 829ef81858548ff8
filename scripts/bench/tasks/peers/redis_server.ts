/**
 * Starts a Redis server that syncs each write to disk before it answers.
 *
 * @module
 */

/** A running Redis server. */
export interface RedisServer {
  /** Ends the server process. */
  stop(): Promise<void>;
}

/**
 * Starts the server.
 *
 * @returns `undefined` when redis-server is not on the path.
 */
export function startDurableRedis(
  folder: string,
  port: number,
): RedisServer | undefined {
  const args = [
    ...["--bind", "127.0.0.1", "--port", String(port), "--dir", folder],
    ...["--save", "", "--appendonly", "yes", "--appendfsync", "always"],
    ...["--maxmemory-policy", "noeviction"],
  ];
  try {
    const child = new Deno.Command("redis-server", {
      args,
      stdin: "null",
      stdout: "null",
      stderr: "null",
    }).spawn();
    return {
      async stop() {
        child.kill("SIGKILL");
        await child.status;
      },
    };
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}
