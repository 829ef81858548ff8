/**
 * The certificate of a public server, which may change while it runs.
 *
 * @module
 */

import { createPrivateKey, X509Certificate } from "node:crypto";
import { createSecureContext, type SecureContext } from "node:tls";

/** A certificate and its private key, both as PEM. */
export interface TlsCertificate {
  /** The certificate, followed by those of the authorities between. */
  readonly cert: string;
  /** Its private key. */
  readonly key: string;
}

/** Where the certificate comes from. */
export interface PublicTls {
  /** Reads it; called at the start and at each reload. */
  readonly certificate: () => TlsCertificate | Promise<TlsCertificate>;
}

/**
 * Prepares TLS with a certificate. The runtime takes any text and fails with
 * each connection then, so the two are looked at here.
 *
 * @throws {TypeError} when the two are unreadable or don't belong together
 */
export function secureContextOf(certificate: TlsCertificate): SecureContext {
  const { cert, key } = certificate;
  let isPair: boolean;
  try {
    isPair = new X509Certificate(cert).checkPrivateKey(createPrivateKey(key));
  } catch {
    // The error might quote the key.
    throw new TypeError(
      "Cannot use certificate: it or its key is not readable as PEM",
    );
  }
  if (!isPair) {
    throw new TypeError(
      "Cannot use certificate: the key is that of another certificate",
    );
  }
  return createSecureContext({ cert, key });
}
