/**
 * Sockets to counter stores.
 *
 * @module
 */

import { connect, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { type StoreTls, tlsSocketOptions } from "./store_tls.ts";

/** Where a server listens. */
type StorePlace =
  | { readonly host: string; readonly port: number }
  /** Path of a unix socket, which is never encrypted. */
  | { readonly path: string };

/** Options of {@linkcode openStoreSocket}. */
interface OpenStoreSocketOptions {
  /**
   * Encrypts the connection.
   *
   * @default not encrypted
   */
  readonly tls?: StoreTls | undefined;
  /** Is called when bytes can be sent, with TLS after the handshake. */
  readonly onOpen: () => void;
}

/**
 * Begins to connect.
 *
 * @throws {Error} When a certificate or key can't be read.
 */
export function openStoreSocket(
  place: StorePlace,
  options: OpenStoreSocketOptions,
): Socket {
  const { tls, onOpen } = options;
  if ("path" in place) return connect({ path: place.path }, onOpen);
  const { host, port } = place;
  const socket = tls === undefined
    ? connect({ host, port }, onOpen)
    : connectTls({ host, port, ...tlsSocketOptions(tls, host) }, onOpen);
  socket.setNoDelay(true);
  return socket;
}
