/**
 * Opening a port with errors that say which setting to change.
 *
 * @module
 */

import { describeError } from "../settled.ts";

/** Where a port is to be opened, as the settings say. */
interface PortPlace {
  /** The address. */
  readonly host: string;
  /** The port. */
  readonly port: number;
  /**
   * The setting of the address.
   *
   * @default {"HOST"}
   */
  readonly hostSetting?: string;
  /**
   * The setting of the port.
   *
   * @default {"PORT"}
   */
  readonly portSetting?: string;
}

/**
 * Opens a port.
 *
 * @param open What opens it.
 * @throws {Error} when it cannot be opened: names the address, the reason and
 * the settings. What is wrong with a certificate is thrown as it is.
 */
export async function openPort<T>(
  open: () => Promise<T>,
  place: PortPlace,
): Promise<T> {
  try {
    return await open();
  } catch (cause) {
    // A certificate that cannot be used says so itself; the system has codes.
    if (cause instanceof TypeError && !("code" in cause)) throw cause;
    throw new Error(
      `Cannot listen on ${shownAddress(place.host, place.port)}: ` +
        reasonOf(cause, place),
      { cause },
    );
  }
}

/** An address and a port as in a URL: `127.0.0.1:8070`, `[::1]:8070`. */
export function shownAddress(host: string, port: number): string {
  return host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
}

function reasonOf(cause: unknown, place: PortPlace): string {
  const { host, port, hostSetting = "HOST", portSetting = "PORT" } = place;
  if (cause instanceof Deno.errors.AddrInUse) {
    return `port ${port} is taken; free it, or set ${portSetting} to another one`;
  }
  if (cause instanceof Deno.errors.AddrNotAvailable) {
    return `this machine does not have the address "${host}"; set ` +
      `${hostSetting} to one that it has, such as 127.0.0.1, or 0.0.0.0 for all`;
  }
  const where = hostSetting === portSetting
    ? `${hostSetting} says`
    : `${hostSetting} and ${portSetting} say`;
  return `${describeError(cause)}; ${where} where`;
}
