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
 * Tells whether the other end is on this machine: a loopback address (RFC 5735
 * and RFC 4291, also in its IPv4-mapped form) or a unix socket. Without
 * knowledge of the connection the answer is no.
 *
 * A proxy on this machine makes every client look local; routes guarded by
 * this must not be reachable through one.
 */
export function isLoopbackPeer(info: ConnectionInfo | undefined): boolean {
  if (info === undefined) return false;
  const address = info.remoteAddr;
  if (address.transport === "unix" || address.transport === "unixpacket") {
    return true;
  }
  if (address.transport !== "tcp") return false;
  const hostname = address.hostname.toLowerCase();
  return hostname === "::1" ||
    /^(::ffff:)?127\.\d{1,3}\.\d{1,3}\.\d{1,3}$/.test(hostname);
}
