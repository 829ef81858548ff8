/**
 * Opening the port with errors that say what to change.
 *
 * @module
 */

import { describeError } from "../shared/settled.ts";

/** Where the service is to listen, as its settings say. */
export interface PortPlace {
  /** The setting HOST. */
  readonly host: string;
  /** The setting PORT. */
  readonly port: number;
}

/**
 * Opens the port.
 *
 * @param open What opens it.
 * @throws {Error} when it cannot be opened: names the address, the reason and
 * the settings. What is wrong with the certificate is thrown as it is.
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
      `Cannot listen on ${shown(place)}: ${reasonOf(cause, place)}`,
      { cause },
    );
  }
}

function reasonOf(cause: unknown, { host, port }: PortPlace): string {
  if (cause instanceof Deno.errors.AddrInUse) {
    return `port ${port} is taken; free it, or set PORT to another one`;
  }
  if (cause instanceof Deno.errors.AddrNotAvailable) {
    return `this machine does not have the address "${host}"; set HOST to one ` +
      "that it has, such as 127.0.0.1, or 0.0.0.0 for all";
  }
  return `${describeError(cause)}; HOST and PORT say where`;
}

/** `127.0.0.1:8070`, `[::1]:8070`. */
function shown({ host, port }: PortPlace): string {
  return host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
}
