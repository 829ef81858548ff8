/**
 * Opens ports and sockets; errors name the service and the setting to change,
 * in the same words for every service.
 *
 * @module
 */

import { describeError } from "../settled.ts";

/** Whose port or socket it is. */
interface Owner {
  /** The service, such as `tasks`. */
  readonly service: string;
  /**
   * What it is for, where the service has several, such as `metrics`.
   *
   * @default the service has one
   */
  readonly what?: string;
}

/** Where a port is to be opened, as the settings say. */
interface PortPlace extends Owner {
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

/** Where a unix socket is to be opened, as a setting says. */
interface SocketPlace extends Owner {
  /** Its path. */
  readonly path: string;
  /** The setting. */
  readonly pathSetting: string;
}

/**
 * Opens a port or a unix socket.
 *
 * @param open What opens it.
 * @throws {Error} when it cannot be opened: names the service, the address, the
 * reason and the settings. Errors of a certificate are thrown unchanged.
 */
export async function openPort<T>(
  open: () => Promise<T>,
  place: PortPlace | SocketPlace,
): Promise<T> {
  try {
    return await open();
  } catch (cause) {
    // A TypeError without a system code is about a certificate: it says so.
    if (cause instanceof TypeError && !("code" in cause)) throw cause;
    throw new Error(
      `Cannot open ${shownPlace(place)}: ${describeReason(cause, place)}`,
      { cause },
    );
  }
}

/** An address and a port as in a URL: `127.0.0.1:8070`, `[::1]:8070`. */
export function shownAddress(host: string, port: number): string {
  return host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
}

/** `the metrics port of tasks, 127.0.0.1:9070`. */
function shownPlace(place: PortPlace | SocketPlace): string {
  const { service, what } = place;
  const [kind, where] = "path" in place
    ? ["socket", place.path]
    : ["port", shownAddress(place.host, place.port)];
  const name = what === undefined ? kind : `${what} ${kind}`;
  return `the ${name} of ${service}, ${where}`;
}

function taken(remedy: string): string {
  return `it is taken; free it, or ${remedy}`;
}

function describeReason(
  cause: unknown,
  place: PortPlace | SocketPlace,
): string {
  const { AddrInUse, AddrNotAvailable } = Deno.errors;
  if ("path" in place) {
    return cause instanceof AddrInUse
      ? taken(`set ${place.pathSetting} to another one`)
      : `${describeError(cause)}; ${place.pathSetting} says where`;
  }
  const { host, hostSetting = "HOST", portSetting = "PORT" } = place;
  if (cause instanceof AddrInUse) {
    return taken(`set ${portSetting} to another one`);
  }
  if (cause instanceof AddrNotAvailable) {
    return `this machine does not have the address "${host}"; set ` +
      `${hostSetting} to one that it has, such as 127.0.0.1, or 0.0.0.0 for all`;
  }
  const where = hostSetting === portSetting
    ? `${hostSetting} says`
    : `${hostSetting} and ${portSetting} say`;
  return `${describeError(cause)}; ${where} where`;
}
