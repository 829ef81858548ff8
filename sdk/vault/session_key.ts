/**
 * Session keys, with which an address allows requests to key servers for a
 * short time. The address signs a message that names the session's public key,
 * and the session's key signs each request, so that a wallet is asked once and
 * not for each request. The messages are those of the public client of these
 * key servers.
 *
 * @module
 */

import {
  decodeBase64,
  decodeBech32,
  decodeUtf8,
  encodeBase64,
  encodeBech32,
} from "../memory/encodings.ts";
import {
  type Ed25519Keys,
  importSeed,
  isSignedBy,
  randomBytes,
} from "../memory/cryptography.ts";
import { BcsWriter } from "./bcs.ts";
import { checkSignature, signWithSeed } from "./signatures.ts";

/** Most minutes that a session may last. */
export const MAX_SESSION_MINUTES = 30;
/**
 * A session counts as ended this many milliseconds earlier than it does, so
 * that a request still arrives in time.
 */
const MARGIN_MS = 10_000;
/**
 * How far the clock of the machine that made a session may be ahead of a key
 * server's clock.
 */
export const MAX_SKEW_MS = 10_000;
const KEY_BYTES = 32;
const SIGNATURE_BYTES = 64;
const KEY_PREFIX = "suiprivkey";
const MAX_HEADER_LETTERS = 4_096;

/** The proof for key servers that a session acts for an address. */
export interface SessionCertificate {
  /** The address. */
  readonly user: string;
  /** The session's public key, Base64. */
  readonly session_vk: string;
  /** When the session began, in milliseconds since the Unix epoch. */
  readonly creation_time: number;
  /** Minutes that the session lasts. */
  readonly ttl_min: number;
  /** The address's signature, Base64. */
  readonly signature: string;
  /**
   * The package's registered name, where the signed message has the name
   * instead of the id.
   */
  readonly mvr_name?: string | undefined;
}

/**
 * A session in a form that can be sent. It includes the private key, so its
 * holder can act as the session.
 */
export interface ExportedSession {
  /** The address that the session acts for. */
  readonly address: string;
  /** The package whose keys the session may request. */
  readonly packageId: string;
  /** The package's registered name. */
  readonly mvrName?: string | undefined;
  /** When the session began, in milliseconds since the Unix epoch. */
  readonly creationTimeMs: number;
  /** Minutes that the session lasts. */
  readonly ttlMin: number;
  /** The address's signature, Base64. */
  readonly personalMessageSignature: string;
  /** The session's private key, `suiprivkey…`. */
  readonly sessionKey: string;
}

/** The parts of a request for keys that the session signs. */
interface SignedKeyRequest {
  /** The approving transaction without its first byte. */
  readonly ptb: Uint8Array;
  /** The key that the answer is encrypted to, 48 bytes. */
  readonly encKey: Uint8Array;
  /** The other public key of the same pair, 96 bytes. */
  readonly encVerificationKey: Uint8Array;
}

/** Options of {@linkcode SessionKey.create}. */
interface SessionOptions {
  /** The address that the session acts for. */
  readonly address: string;
  /** The package whose keys the session may request. */
  readonly packageId: string;
  /** Minutes that the session lasts, 1 to 30. */
  readonly ttlMin: number;
  /** The current time, in milliseconds since the Unix epoch. */
  readonly nowMs: number;
  /**
   * Signs a message as the address and returns the signature in Base64, as
   * wallets do.
   */
  readonly signPersonalMessage: (message: Uint8Array) => Promise<string>;
}

/** A session that can sign requests. */
export class SessionKey {
  readonly #seed: Uint8Array;
  readonly #keys: Ed25519Keys;
  readonly #exported: Omit<ExportedSession, "sessionKey">;
  /** The proof that the session acts for its address. */
  readonly certificate: SessionCertificate;

  private constructor(
    seed: Uint8Array,
    parts: {
      readonly keys: Ed25519Keys;
      readonly exported: Omit<ExportedSession, "sessionKey">;
    },
  ) {
    const { exported } = parts;
    this.#seed = seed;
    this.#keys = parts.keys;
    this.#exported = exported;
    this.certificate = {
      user: exported.address,
      session_vk: encodeBase64(parts.keys.publicKey),
      creation_time: exported.creationTimeMs,
      ttl_min: exported.ttlMin,
      signature: exported.personalMessageSignature,
      mvr_name: exported.mvrName,
    };
  }

  /**
   * Creates a session, whose message is signed with `signPersonalMessage`.
   *
   * @throws {RangeError} When the session would last for less than 1 or more
   * than 30 minutes.
   * @throws {MemError} When the runtime has no Ed25519.
   */
  static async create(options: SessionOptions): Promise<SessionKey> {
    const { address, packageId, ttlMin, nowMs: creationTimeMs } = options;
    if (!isSessionLength(ttlMin)) {
      throw new RangeError(
        `Cannot create a session: it lasts ${ttlMin} minutes, 1 to ` +
          `${MAX_SESSION_MINUTES} are possible`,
      );
    }
    const seed = randomBytes(KEY_BYTES);
    const keys = await importSeed(seed);
    const personalMessageSignature = await options.signPersonalMessage(
      sessionMessage(
        { packageName: packageId, ttlMin, creationTimeMs },
        keys.publicKey,
      ),
    );
    const exported = {
      address,
      packageId,
      creationTimeMs,
      ttlMin,
      personalMessageSignature,
    };
    return new SessionKey(seed, { keys, exported });
  }

  /**
   * Restores a session from what {@linkcode SessionKey.export} returned. The
   * session is not checked.
   */
  static async import(
    session: ExportedSession,
  ): Promise<SessionKey | undefined> {
    const content = decodeBech32(session.sessionKey);
    if (
      content?.prefix !== KEY_PREFIX || content.bytes[0] !== 0 ||
      content.bytes.length !== 1 + KEY_BYTES
    ) return undefined;
    const seed = content.bytes.slice(1);
    content.bytes.fill(0);
    const { sessionKey: _, ...exported } = session;
    return new SessionKey(seed, {
      keys: await importSeed(seed),
      exported,
    });
  }

  /** The address that the session acts for. */
  get address(): string {
    return this.#exported.address;
  }

  /** The package whose keys the session may request. */
  get packageId(): string {
    return this.#exported.packageId;
  }

  /** When the session ends, in milliseconds since the Unix epoch. */
  get endsAtMs(): number {
    const { creationTimeMs, ttlMin } = this.#exported;
    return creationTimeMs + ttlMin * 60_000;
  }

  /** Tells whether the session ends too soon to start a request with it. */
  isEnding(nowMs: number): boolean {
    return nowMs >= this.endsAtMs - MARGIN_MS;
  }

  /** Returns the session in a form that can be sent, with its private key. */
  export(): ExportedSession {
    const bytes = Uint8Array.of(0, ...this.#seed);
    try {
      const sessionKey = encodeBech32(KEY_PREFIX, bytes);
      return { ...this.#exported, sessionKey };
    } finally {
      bytes.fill(0);
    }
  }

  /** Signs a request and returns the signature in Base64. */
  async signRequest(request: SignedKeyRequest): Promise<string> {
    return encodeBase64(await this.#keys.sign(requestBytes(request)));
  }

  /** Overwrites the session's key, as far as the runtime allows. */
  wipe(): void {
    this.#seed.fill(0);
    this.#keys.wipe();
  }
}

/**
 * Returns a function that signs messages as the address of a seed of 32 bytes.
 */
export function messageSigner(
  seed: Uint8Array,
): SessionOptions["signPersonalMessage"] {
  return (message) => signWithSeed(seed, message, "personal message");
}

/** Writes a session as the value of the header field `x-seal-session`. */
export function writeSessionHeader(session: SessionKey): string {
  const json = JSON.stringify(session.export());
  return encodeBase64(new TextEncoder().encode(json));
}

/** Reads that header field; undefined when it does not hold a session. */
export function readSessionHeader(text: string): ExportedSession | undefined {
  const bytes = decodeBase64(text, { maxBytes: MAX_HEADER_LETTERS });
  if (bytes === undefined) return undefined;
  let value: unknown;
  try {
    value = JSON.parse(decodeUtf8(bytes) ?? "");
  } catch {
    // The text is not UTF-8 or not JSON; neither is a session.
    return undefined;
  }
  if (typeof value !== "object" || value === null) return undefined;
  const session: Partial<Record<keyof ExportedSession, unknown>> = value;
  const { address, packageId, creationTimeMs, ttlMin, mvrName } = session;
  const { personalMessageSignature, sessionKey } = session;
  if (
    typeof address !== "string" || typeof packageId !== "string" ||
    !Number.isSafeInteger(creationTimeMs) || !isSessionLength(ttlMin) ||
    typeof personalMessageSignature !== "string" ||
    typeof sessionKey !== "string" ||
    (mvrName !== undefined && mvrName !== null && typeof mvrName !== "string")
  ) return undefined;
  return {
    address,
    packageId,
    mvrName: mvrName ?? undefined,
    creationTimeMs: Number(creationTimeMs),
    ttlMin,
    personalMessageSignature,
    sessionKey,
  };
}

/**
 * The outcome of checking a certificate: the address that it is for, or why it
 * is not accepted.
 */
export type CertificateCheck =
  | {
    readonly kind: "ok";
    /** Whose session it is. */
    readonly address: string;
    /** The session's public key, 32 bytes. */
    readonly sessionPublicKey: Uint8Array<ArrayBuffer>;
    /** When the session ends, in milliseconds since the Unix epoch. */
    readonly endsAtMs: number;
  }
  | { readonly kind: "invalid"; readonly reason: string }
  | { readonly kind: "expired"; readonly reason: string };

/**
 * Checks a certificate as a key server does.
 *
 * @param options.packageName The package whose keys are requested, by its id
 * or, where the certificate has `mvr_name`, by that name.
 */
export async function checkCertificate(
  certificate: SessionCertificate,
  { packageName, nowMs }: {
    readonly packageName: string;
    readonly nowMs: number;
  },
): Promise<CertificateCheck> {
  const { ttl_min: ttlMin, creation_time: creationTimeMs } = certificate;
  if (!isSessionLength(ttlMin) || !Number.isSafeInteger(creationTimeMs)) {
    return {
      kind: "invalid",
      reason: `a session lasts 1 to ${MAX_SESSION_MINUTES} minutes`,
    };
  }
  if (creationTimeMs > nowMs + MAX_SKEW_MS) {
    return { kind: "invalid", reason: "the session begins in the future" };
  }
  const endsAtMs = creationTimeMs + ttlMin * 60_000;
  if (nowMs >= endsAtMs) {
    return { kind: "expired", reason: "the session has ended" };
  }
  const sessionPublicKey = decodeBase64(certificate.session_vk, {
    maxBytes: KEY_BYTES,
  });
  if (sessionPublicKey?.length !== KEY_BYTES) {
    return { kind: "invalid", reason: "the session's key has not 32 bytes" };
  }
  const message = sessionMessage(
    { packageName, ttlMin, creationTimeMs },
    sessionPublicKey,
  );
  const check = await checkSignature(
    certificate.signature,
    message,
    "personal message",
  );
  if (check.kind === "invalid") {
    return { kind: "invalid", reason: `the signature: ${check.reason}` };
  }
  if (check.address !== certificate.user) {
    return { kind: "invalid", reason: "another address has signed" };
  }
  return { kind: "ok", address: check.address, sessionPublicKey, endsAtMs };
}

/** Tells whether a session has signed a request. */
export async function isSignedRequest(
  request: SignedKeyRequest,
  { signature, sessionPublicKey }: {
    readonly signature: string;
    readonly sessionPublicKey: Uint8Array<ArrayBuffer>;
  },
): Promise<boolean> {
  const bytes = decodeBase64(signature, { maxBytes: SIGNATURE_BYTES });
  return bytes?.length === SIGNATURE_BYTES &&
    await isSignedBy({
      publicKey: sessionPublicKey,
      signature: bytes,
      bytes: requestBytes(request),
    });
}

function isSessionLength(minutes: unknown): minutes is number {
  return typeof minutes === "number" && Number.isInteger(minutes) &&
    minutes >= 1 && minutes <= MAX_SESSION_MINUTES;
}

function sessionMessage(
  { packageName, ttlMin, creationTimeMs }: {
    readonly packageName: string;
    readonly ttlMin: number;
    readonly creationTimeMs: number;
  },
  sessionPublicKey: Uint8Array,
): Uint8Array {
  const begins = new Date(creationTimeMs).toISOString().slice(0, 19)
    .replace("T", " ");
  return new TextEncoder().encode(
    `Accessing keys of package ${packageName} for ${ttlMin} mins from ` +
      `${begins} UTC, session key ${encodeBase64(sessionPublicKey)}`,
  );
}

function requestBytes(
  { ptb, encKey, encVerificationKey }: SignedKeyRequest,
): Uint8Array<ArrayBuffer> {
  return new BcsWriter().byteVector(ptb).byteVector(encKey)
    .byteVector(encVerificationKey).toBytes();
}
