/**
 * Clients on this machine, which ports for its operators trust more than
 * others, and the pages of other sites that would pass for one.
 *
 * @module
 */

import { isIP } from "node:net";
import { quote } from "../quote.ts";

/**
 * Tells whether an address is of this machine: a loopback address (RFC 5735 and
 * RFC 4291). A proxy on this machine makes every client look local.
 */
export function isLoopbackAddress(address: string): boolean {
  return address === "::1" || /^127\.\d{1,3}\.\d{1,3}\.\d{1,3}$/.test(address);
}

/**
 * Tells why a request of a client on this machine is refused; undefined when it
 * is not.
 *
 * A page in a browser of this machine can have its own host name resolve to
 * 127.0.0.1 and then read what it finds there (DNS rebinding). So such a client
 * must name an address, `localhost` or the host that was set: a page of another
 * site has none of them as its origin.
 *
 * @param request The field Host as it was sent, and the client's address.
 * @param port The host the port was set to, the setting that did it, and what
 * the port has to tell.
 */
export function localHostFault(
  request: { readonly host: string | undefined; readonly address: string },
  port: {
    readonly host: string;
    readonly setting: string;
    readonly tells: string;
  },
): string | undefined {
  const { host, address } = request;
  // Browsers always send the field.
  if (host === undefined || !isLoopbackAddress(address)) return undefined;
  const name = host.replace(/:\d*$/, "").replace(/^\[(.*)\]$/, "$1")
    .toLowerCase();
  if (isIP(name) !== 0 || name === "localhost") return undefined;
  if (name === port.host.toLowerCase()) return undefined;
  return `Cannot tell ${port.tells} to host ${quote(name)} on this machine: ` +
    `ask by address, by localhost, or by the name in ${port.setting}`;
}
