/**
 * Opening listeners with errors that say what to change.
 *
 * @module
 */

import type { GrpcAddress } from "../shared/grpc/method.ts";
import type { ListenAddress } from "../shared/http/server.ts";

/** What a listener is called and where its address comes from. */
export interface ListenerNames {
  /** Such as `gRPC`. */
  readonly what: string;
  /** Names of the settings. */
  readonly settings: string;
}

/**
 * Opens a listener.
 *
 * @throws {Error} When it can't be opened: names the listener, the reason and
 * the settings that move it.
 */
export async function opened<T>(
  open: () => Promise<T>,
  names: ListenerNames,
): Promise<T> {
  try {
    return await open();
  } catch (cause) {
    const reason = cause instanceof Deno.errors.AddrInUse
      ? `its address is taken (${cause.message})`
      : cause instanceof Error
      ? cause.message
      : String(cause);
    throw new Error(
      `Cannot open the ${names.what} listener: ${reason}; move it with ` +
        names.settings,
      { cause },
    );
  }
}

/** `127.0.0.1:8080`, `[::1]:8080`. */
export function shownHttpAddress({ hostname, port }: ListenAddress): string {
  return hostname.includes(":")
    ? `[${hostname}]:${port}`
    : `${hostname}:${port}`;
}

/** As for HTTP, or the path of the socket. */
export function shownGrpcAddress(address: GrpcAddress): string {
  return address.kind === "unix"
    ? address.path
    : shownHttpAddress({ hostname: address.host, port: address.port });
}
