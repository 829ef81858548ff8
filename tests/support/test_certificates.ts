/**
 * Certificates for tests, made on the spot: no file of the repository ever
 * expires, and no private key lies in it.
 *
 * @module
 */

import { Buffer } from "node:buffer";
import { generateKeyPairSync, type KeyObject, sign } from "node:crypto";

/** A certificate and its private key, as PEM. */
export interface TestCertificate {
  /** The certificate. */
  readonly certPem: string;
  /** Its private key. */
  readonly keyPem: string;
}

/** Issues certificates. */
export interface TestAuthority {
  /** The authority's own certificate, as PEM. */
  readonly caPem: string;
  /**
   * Issues a certificate for a DNS name or an IPv4 address, valid for two days
   * around now and of the curve P-256 unless told otherwise.
   */
  issue(name: string, options?: IssueOptions): TestCertificate;
}

/** Two keys that belong together. */
export interface TestKeys {
  /** Goes into the certificate. */
  readonly publicKey: KeyObject;
  /** Its owner's. */
  readonly privateKey: KeyObject;
}

/** What of a certificate is not as usual. */
interface IssueOptions extends Partial<Validity> {
  /** Its keys. */
  readonly keys?: TestKeys | undefined;
}

/** From when to when a certificate is valid, in milliseconds of the epoch. */
interface Validity {
  /** The first moment. */
  readonly fromMs: number;
  /** The last one. */
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
/** ecdsa-with-SHA256 (RFC 5758). */
const ECDSA_SHA256 = der(
  0x30,
  der(0x06, [0x2a, 0x86, 0x48, 0xce, 0x3d, 4, 3, 2]),
);

/** Makes an authority whose certificates are valid for two days around now. */
export function createTestAuthority(name = "Test authority"): TestAuthority {
  const own = generateKeyPairSync("ec", { namedCurve: "prime256v1" });
  // basicConstraints, critical: this one may issue others.
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

/** A certificate of version 3 (RFC 5280, section 4.1) as PEM. */
function certificate(fields: CertificateFields): string {
  const serial = crypto.getRandomValues(new Uint8Array(8));
  // A serial number is positive, and its first byte is not 0.
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

/** An extension of those below 2.5.29. */
function extension(id: number, value: Buffer, isCritical: boolean): Buffer {
  return der(
    0x30,
    der(0x06, [0x55, 0x1d, id]),
    ...(isCritical ? [der(0x01, [0xff])] : []),
    der(0x04, value),
  );
}

/** GeneralizedTime would do as well, but RFC 5280 wants UTCTime up to 2049. */
function time(ms: number): Buffer {
  const digits = new Date(ms).toISOString().replace(/\D/g, "");
  return der(0x17, Buffer.from(`${digits.slice(2, 14)}Z`));
}

/** A tag, a length and what belongs to it (X.690, DER). */
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
