/**
 * Reads and writes addresses of memcached servers.
 *
 * @module
 */

import { shownAddress } from "../../../../shared/http/open_port.ts";
import { quote } from "../../../../shared/quote.ts";

/** Address of a server. */
export interface MemcachedAddress {
  /** Host name or IP address, in lower case. */
  readonly host: string;
  /** TCP port. */
  readonly port: number;
}

/** The addresses of a list, or what is wrong with its text. */
type MemcachedAddresses =
  | {
    readonly kind: "parsed";
    /** The addresses in the order of the list, each of them once. */
    readonly addresses: readonly MemcachedAddress[];
  }
  | { readonly kind: "invalid"; readonly reason: string };

const FORM = /^(?:\[([0-9a-f:.]+)\]|([^\s:,@/[\]]+)):(\d{1,5})$/i;

/** Reads `host:port,host:port,…`; an IPv6 address must be in brackets. */
export function parseMemcachedAddresses(text: string): MemcachedAddresses {
  const found = new Map<string, MemcachedAddress>();
  for (const item of text.split(",")) {
    const match = FORM.exec(item.trim());
    const address = memcachedAddress(
      match?.[1] ?? match?.[2] ?? "",
      Number(match?.[3]),
    );
    if (address === undefined) {
      return {
        kind: "invalid",
        reason: `Cannot use ${
          quote(item.trim())
        } as a server address: it is not of the form "host:port" or "[IPv6 address]:port"`,
      };
    }
    found.set(formatMemcachedAddress(address), address);
  }
  return { kind: "parsed", addresses: [...found.values()] };
}

/**
 * Returns the address of a host and a port; `undefined` when it cannot be the
 * address of a server. A dot at the end of the host is left out.
 */
export function memcachedAddress(
  host: string,
  port: number,
): MemcachedAddress | undefined {
  const bare = host.replace(/\.$/, "").toLowerCase();
  if (!/^[^\s,@/[\]]{1,253}$/.test(bare)) return undefined;
  if (!Number.isInteger(port) || port < 1 || port > 65_535) return undefined;
  return { host: bare, port };
}

/**
 * Returns the address as `host:port`, for logs and as the name of the server.
 */
export function formatMemcachedAddress(address: MemcachedAddress): string {
  return shownAddress(address.host, address.port);
}
