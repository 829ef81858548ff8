/**
 * Sockets to memcached servers.
 *
 * @module
 */

import { connect, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import type { MemcachedAddress } from "./address.ts";

/** How connections are encrypted. */
export interface MemcachedTls {
  /**
   * Certificates that are trusted, as PEM.
   *
   * @default those of the system
   */
  readonly caPem?: string;
  /**
   * Our certificate chain, as PEM.
   *
   * @default none
   */
  readonly certPem?: string;
  /**
   * The private key of our certificate, as PEM.
   *
   * @default none
   */
  readonly keyPem?: string;
  /**
   * Whether a certificate for another host is good enough; who issued it is
   * looked at all the same.
   *
   * @default false
   */
  readonly skipHostnameVerification?: boolean;
}

/** What {@linkcode openSocket} is told. */
export interface OpenSocketOptions {
  /**
   * Encrypts the connection.
   *
   * @default not encrypted
   */
  readonly tls?: MemcachedTls;
  /** Is called when bytes can be sent, with TLS after the handshake. */
  readonly onOpen: () => void;
}

/**
 * Begins to connect.
 *
 * @throws {Error} When a certificate or key can't be read.
 */
export function openSocket(
  address: MemcachedAddress,
  options: OpenSocketOptions,
): Socket {
  const { host, port } = address;
  const { tls, onOpen } = options;
  const socket = tls === undefined
    ? connect({ host, port }, onOpen)
    : connectTls({
      host,
      port,
      // An IP address is not a server name (RFC 6066, section 3).
      ...(isIpAddress(host) ? {} : { servername: host }),
      ...(tls.caPem === undefined ? {} : { ca: tls.caPem }),
      ...(tls.certPem === undefined ? {} : { cert: tls.certPem }),
      ...(tls.keyPem === undefined ? {} : { key: tls.keyPem }),
      ...(tls.skipHostnameVerification
        ? { checkServerIdentity: () => undefined }
        : {}),
    }, onOpen);
  socket.setNoDelay(true);
  return socket;
}

function isIpAddress(host: string): boolean {
  return host.includes(":") || /^[\d.]+$/.test(host);
}
