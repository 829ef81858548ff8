/**
 * Who is at the other end of a connection.
 *
 * @module
 */

/** What the server knows of a connection; the runtime's handler info fits. */
export interface ConnectionInfo {
  /**
   * The address the connection came from; to be read before the request is
   * answered, as the runtime forgets it then.
   */
  readonly remoteAddr: Deno.Addr;
}

/**
 * Tells whether an address is of this machine: a loopback address (RFC 5735 and
 * RFC 4291, also in its IPv4-mapped form).
 *
 * A proxy on this machine makes every client look local; what is guarded by
 * this must not be reachable through one.
 */
export function isLoopbackAddress(address: string): boolean {
  const lower = address.toLowerCase();
  return lower === "::1" ||
    /^(::ffff:)?127\.\d{1,3}\.\d{1,3}\.\d{1,3}$/.test(lower);
}
