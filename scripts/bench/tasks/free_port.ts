/**
 * Finds free ports, for servers that have to be given a port.
 *
 * @module
 */

/** Returns a port of the loopback interface that is free at the moment. */
export function freePort(): number {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  return listener.addr.port;
}
