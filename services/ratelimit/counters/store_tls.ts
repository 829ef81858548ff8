/**
 * How connections to counter stores are encrypted.
 *
 * @module
 */

import { isIP } from "node:net";

/** How connections are encrypted. */
export interface StoreTls {
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
   * The host that the server's certificate is to be for.
   *
   * @default the host that is dialled
   */
  readonly serverName?: string;
  /**
   * Whether a certificate for another host is good enough; who issued it is
   * looked at all the same.
   *
   * @default false
   */
  readonly skipHostnameVerification?: boolean;
}

/** The TLS options of a socket. */
interface TlsSocketOptions {
  /** Trusted certificates. */
  readonly ca?: string;
  /** Own certificate chain. */
  readonly cert?: string;
  /** Its key. */
  readonly key?: string;
  /** The name asked for in the handshake. */
  readonly servername?: string;
  /** Looks at the name in the certificate. */
  readonly checkServerIdentity?: () => undefined;
}

/** Turns our options into those of a socket to `host`. */
export function tlsSocketOptions(
  tls: StoreTls,
  host: string,
): TlsSocketOptions {
  const { caPem, certPem, keyPem, serverName, skipHostnameVerification } = tls;
  const name = serverName ?? host;
  return {
    ...(caPem === undefined ? {} : { ca: caPem }),
    ...(certPem === undefined ? {} : { cert: certPem }),
    ...(keyPem === undefined ? {} : { key: keyPem }),
    // An IP address is not a server name (RFC 6066, section 3).
    ...(isIP(name) === 0 ? { servername: name } : {}),
    ...(skipHostnameVerification
      ? { checkServerIdentity: () => undefined }
      : {}),
  };
}
