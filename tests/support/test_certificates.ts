/**
 * Creates certificates during a test, so that no file in the repository ever
 * expires and none contains a private key.
 *
 * @module
 */

import { Buffer } from "node:buffer";
import { generateKeyPairSync, type KeyObject, sign } from "node:crypto";

/** A certificate and its private key, as PEM. */
export interface TestCertificate {
  /** The certificate as PEM. */
  readonly certPem: string;
  /** The private key as PEM. */
  readonly keyPem: string;
}

/** A certificate authority for tests. */
export interface TestAuthority {
  /** The authority's own certificate, as PEM. */
  readonly caPem: string;
  /**
   * Issues a certificate for a DNS name or an IPv4 address. It is valid for two
   * days around now and has a new key of the curve P-256, unless the options
   * say otherwise.
   */
  issue(name: string, options?: IssueOptions): TestCertificate;
}

/** A pair of keys. */
export interface TestKeys {
  /** The key that the certificate contains. */
  readonly publicKey: KeyObject;
  /** The key of the certificate's owner. */
  readonly privateKey: KeyObject;
}

/** The parts of a certificate that differ from the default. */
interface IssueOptions extends Partial<Validity> {
  /** The keys of the certificate; new ones unless given. */
  readonly keys?: TestKeys | undefined;
}

/** The validity of a certificate, in milliseconds since the epoch. */
interface Validity {
  /** The first moment at which the certificate is valid. */
  readonly fromMs: number;
  /** The last moment at which the certificate is valid. */
  readonly toMs: number;
}

interface CertificateFields extends Partial<Validity> {
  readonly subject: string;
  readonly issuer: string;
  readonly publicKey: KeyObject;
  readonly signingKey: KeyObject;
  readonly extension: Buffer;
}

const DAY_MS = 86_400_000;
/** The algorithm ecdsa-with-SHA256 (RFC 5758). */
const ECDSA_SHA256 = der(
  0x30,
  der(0x06, [0x2a, 0x86, 0x48, 0xce, 0x3d, 4, 3, 2]),
);

/**
 * Creates an authority whose certificates are valid for two days around now.
 */
export function createTestAuthority(name = "Test authority"): TestAuthority {
  const own = generateKeyPairSync("ec", { namedCurve: "prime256v1" });
  // The critical extension basicConstraints: this certificate may issue others.
  const isAuthority = extension(19, der(0x30, der(0x01, [0xff])), true);
  return {
    caPem: certificate({
      subject: name,
      issuer: name,
      publicKey: own.publicKey,
      signingKey: own.privateKey,
      extension: isAuthority,
    }),
    issue(subject, { keys, ...validity } = {}) {
      const { publicKey, privateKey } = keys ??
        generateKeyPairSync("ec", { namedCurve: "prime256v1" });
      const certPem = certificate({
        subject,
        ...validity,
        issuer: name,
        publicKey,
        signingKey: own.privateKey,
        extension: extension(17, der(0x30, alternativeName(subject)), false),
      });
      const keyPem = privateKey.export({ type: "pkcs8", format: "pem" });
      return { certPem, keyPem: String(keyPem) };
    },
  };
}

/** Returns a certificate of version 3 (RFC 5280, section 4.1) as PEM. */
function certificate(fields: CertificateFields): string {
  const serial = crypto.getRandomValues(new Uint8Array(8));
  // A serial number must be positive, and its first byte must not be 0.
  serial[0] = (serial[0]! & 0x7f) | 0x40;
  const { fromMs = Date.now() - DAY_MS, toMs = Date.now() + DAY_MS } = fields;
  const body = der(
    0x30,
    der(0xa0, der(0x02, [2])),
    der(0x02, serial),
    ECDSA_SHA256,
    commonName(fields.issuer),
    der(0x30, time(fromMs), time(toMs)),
    commonName(fields.subject),
    fields.publicKey.export({ type: "spki", format: "der" }),
    der(0xa3, der(0x30, fields.extension)),
  );
  const signature = sign("sha256", body, fields.signingKey);
  const whole = der(0x30, body, ECDSA_SHA256, der(0x03, [0], signature));
  const lines = whole.toString("base64").match(/.{1,64}/g) ?? [];
  return [
    "-----BEGIN CERTIFICATE-----",
    ...lines,
    "-----END CERTIFICATE-----",
    "",
  ].join("\n");
}

function commonName(name: string): Buffer {
  const type = der(0x06, [0x55, 4, 3]);
  const pair = der(0x30, type, der(0x0c, Buffer.from(name)));
  return der(0x30, der(0x31, pair));
}

function alternativeName(name: string): Buffer {
  return /^\d+(\.\d+){3}$/.test(name)
    ? der(0x87, name.split(".").map(Number))
    : der(0x82, Buffer.from(name));
}

/** Returns an extension whose object id is below 2.5.29. */
function extension(id: number, value: Buffer, isCritical: boolean): Buffer {
  return der(
    0x30,
    der(0x06, [0x55, 0x1d, id]),
    ...(isCritical ? [der(0x01, [0xff])] : []),
    der(0x04, value),
  );
}

/**
 * Returns a UTCTime, which RFC 5280 requires up to 2049; GeneralizedTime would
 * work as well.
 */
function time(ms: number): Buffer {
  const digits = new Date(ms).toISOString().replace(/\D/g, "");
  return der(0x17, Buffer.from(`${digits.slice(2, 14)}Z`));
}

/** Returns a tag, a length and the content (X.690, DER). */
function der(
  tag: number,
  ...parts: readonly (Uint8Array | readonly number[])[]
): Buffer {
  const content = Buffer.concat(parts.map((part) => Uint8Array.from(part)));
  const { length } = content;
  const size = length < 0x80
    ? [length]
    : length < 0x100
    ? [0x81, length]
    : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Uint8Array.from([tag, ...size]), content]);
}
