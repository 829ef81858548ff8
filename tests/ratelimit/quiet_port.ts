/**
 * Finds ports that no other program takes by chance.
 *
 * @module
 */

const FIRST = 12_000;
const LAST = 31_999;

/**
 * Returns a free loopback port outside of the range from which the system takes
 * ports for outgoing connections, so that it is still free when a process
 * listens on it later.
 */
export function quietPort(): number {
  for (let tries = 0; tries < 100; tries++) {
    const port = FIRST + Math.floor(Math.random() * (LAST - FIRST + 1));
    try {
      Deno.listen({ hostname: "127.0.0.1", port }).close();
      return port;
    } catch (error) {
      if (!(error instanceof Deno.errors.AddrInUse)) throw error;
    }
  }
  throw new Error("Cannot find a free port");
}
