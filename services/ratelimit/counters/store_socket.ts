/**
 * Opens sockets to the servers of counter stores.
 *
 * @module
 */

import { connect, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { type StoreTls, tlsSocketOptions } from "./store_tls.ts";

/** Address of a server. */
type StorePlace =
  | { readonly host: string; readonly port: number }
  /** Path of a unix socket, which is never encrypted. */
  | { readonly path: string };

/** Options of {@linkcode openStoreSocket}. */
interface OpenStoreSocketOptions {
  /**
   * TLS settings of the connection.
   *
   * @default not encrypted
   */
  readonly tls?: StoreTls | undefined;
  /** Called when bytes can be sent, with TLS after the handshake. */
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
