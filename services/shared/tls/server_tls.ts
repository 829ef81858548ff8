/**
 * Checks the certificate and key of a TLS server, and the authorities of its
 * clients.
 *
 * @module
 */

import { createPrivateKey, type KeyObject, X509Certificate } from "node:crypto";

/** The texts that TLS of a server is made from, all as PEM. */
export interface ServerTlsTexts {
  /** The certificate, followed by those of the authorities between. */
  readonly cert: string;
  /** Its private key. */
  readonly key: string;
  /**
   * The authorities that sign the certificates of clients; with them a client
   * without such a certificate is refused.
   *
   * @default clients need no certificate
   */
  readonly clientCa?: string | undefined;
}

/** TLS of a server, ready for handshakes. */
export interface ServerTls extends ServerTlsTexts {
  /** When our certificate begins to be valid. */
  readonly notBefore: Date;
  /** When it ends. */
  readonly notAfter: Date;
}

/** TLS, or why the texts are of no use; without a word of the key. */
export type ServerTlsOutcome =
  | { readonly kind: "usable"; readonly tls: ServerTls }
  | {
    readonly kind: "unusable";
    readonly problem: string;
    /** Where the fault is: our certificate and key, or clients' authorities. */
    readonly of: "pair" | "clientCa";
  };

/**
 * Prepares TLS and checks all texts: the runtime would accept any text, and
 * then fail with each connection.
 */
export function prepareServerTls(texts: ServerTlsTexts): ServerTlsOutcome {
  const { cert, key, clientCa } = texts;
  let own: X509Certificate;
  let privateKey: KeyObject;
  let isPair: boolean;
  try {
    own = new X509Certificate(cert);
    privateKey = createPrivateKey(key);
    isPair = own.checkPrivateKey(privateKey);
  } catch {
    // The error might quote the key.
    return unusable("it or its key is not readable as PEM");
  }
  if (!isPair) return unusable("the key is that of another certificate");
  if (!isSupported(privateKey)) {
    return unusable(
      "its key is of a kind that TLS does not take; make one of RSA with " +
        "2048 bits or more, of the curves P-256, P-384 or P-521, or Ed25519",
    );
  }
  if (clientCa !== undefined && !isBundle(clientCa)) {
    return unusable(
      "the authorities of clients are not readable as PEM",
      "clientCa",
    );
  }
  const tls: ServerTls = {
    cert,
    key,
    clientCa,
    notBefore: new Date(own.validFrom),
    notAfter: new Date(own.validTo),
  };
  return { kind: "usable", tls };
}

function unusable(
  state: string,
  of: "pair" | "clientCa" = "pair",
): ServerTlsOutcome {
  return { kind: "unusable", problem: `Cannot use certificate: ${state}`, of };
}

const CURVES = ["prime256v1", "secp384r1", "secp521r1"];
const LEAST_RSA_BITS = 2_048;

/** Whether the TLS of the runtime signs with such a key. */
function isSupported(
  { asymmetricKeyType, asymmetricKeyDetails }: KeyObject,
): boolean {
  switch (asymmetricKeyType) {
    case "rsa":
      return (asymmetricKeyDetails?.modulusLength ?? 0) >= LEAST_RSA_BITS;
    case "ec":
      return CURVES.includes(asymmetricKeyDetails?.namedCurve ?? "");
    default:
      return asymmetricKeyType === "ed25519";
  }
}

/** Whether a text holds certificates, and each of them is readable. */
function isBundle(text: string): boolean {
  const parts = text.match(
    /-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g,
  ) ?? [];
  const begun = text.split("-----BEGIN CERTIFICATE-----").length - 1;
  if (parts.length === 0 || parts.length !== begun) return false;
  try {
    for (const part of parts) new X509Certificate(part);
    return true;
  } catch {
    return false;
  }
}
