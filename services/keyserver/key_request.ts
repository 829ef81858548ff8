/**
 * Reads and validates a request for keys: its JSON, its session certificate and
 * its signature. Nothing here needs the ledger.
 *
 * @module
 */

import {
  type CertificateCheck,
  checkCertificate,
  isSignedRequest,
  type SessionCertificate,
} from "../../sdk/vault/session_key.ts";
import {
  jsonShapeFault,
  type JsonShapeLimits,
} from "../shared/http/json_shape.ts";
import { isJsonObject } from "../shared/schema/schema.ts";

/** A request for keys that was read and whose signatures are valid. */
interface KeyRequest {
  /**
   * The bytes of the approving transaction's kind, with the leading byte that
   * says it is programmable.
   */
  readonly kind: Uint8Array;
  /** The public key that the answer's keys are encrypted to, 48 bytes. */
  readonly encKey: Uint8Array;
  /** The verification key that belongs to `encKey`, 96 bytes. */
  readonly encVerificationKey: Uint8Array;
  /** The address that asks for keys. */
  readonly user: string;
}

/** Errors by the names that the public client knows. */
export type KeyErrorName =
  | "InvalidPTB"
  | "NoAccess"
  | "InvalidCertificate"
  | "InvalidSignature"
  | "InvalidSessionSignature"
  | "InvalidParameter"
  | "InvalidMVRName"
  | "InvalidServiceId"
  | "UnsupportedPackageId"
  | "Failure";

/** The outcome of reading a request. */
type KeyRequestOutcome =
  | { readonly kind: "ok"; readonly request: KeyRequest }
  | {
    readonly kind: "refused";
    /** The error's name, as the public client knows it. */
    readonly error: KeyErrorName;
    /** What is wrong, as a sentence for the client. */
    readonly message: string;
  };

/** Options of {@linkcode readKeyRequest}. */
interface ReadOptions {
  /** The package whose keys are given. */
  readonly packageId: string;
  /** The time, milliseconds since the Unix epoch. */
  readonly nowMs: number;
}

const LIMITS: JsonShapeLimits = { maxDepth: 3, maxValues: 64 };
const ENC_KEY_BYTES = 48;
const ENC_VERIFICATION_KEY_BYTES = 96;
/** The leading byte of a transaction kind: a programmable transaction. */
const KIND = 0;

/** Reads a request and checks its certificate and its signature. */
export async function readKeyRequest(
  body: Uint8Array,
  { packageId, nowMs }: ReadOptions,
): Promise<KeyRequestOutcome> {
  const json = parsed(body);
  if (json === undefined) {
    return refused("InvalidParameter", "the body is not a JSON object");
  }
  const ptb = readBase64(json["ptb"]);
  const encKey = readBase64(json["enc_key"]);
  const encVerificationKey = readBase64(json["enc_verification_key"]);
  const signature = json["request_signature"];
  if (
    ptb === undefined || encKey?.length !== ENC_KEY_BYTES ||
    encVerificationKey?.length !== ENC_VERIFICATION_KEY_BYTES ||
    typeof signature !== "string"
  ) {
    return refused(
      "InvalidParameter",
      "ptb, enc_key, enc_verification_key and request_signature are Base64 of " +
        "a transaction, 48, 96 and 64 bytes",
    );
  }
  const certificate = readCertificate(json["certificate"]);
  if (certificate === undefined) {
    return refused("InvalidParameter", "the certificate lacks a member");
  }
  if (certificate.mvr_name !== undefined) {
    return refused(
      "InvalidMVRName",
      "packages are named by their id here, not by mvr_name",
    );
  }
  const check: CertificateCheck = await checkCertificate(certificate, {
    packageName: packageId,
    nowMs,
  });
  if (check.kind === "expired") {
    return refused("InvalidCertificate", check.reason);
  }
  if (check.kind === "invalid") {
    return refused("InvalidSignature", check.reason);
  }
  const { address: user, sessionPublicKey } = check;
  const signed = { ptb, encKey, encVerificationKey };
  if (!await isSignedRequest(signed, { signature, sessionPublicKey })) {
    return refused(
      "InvalidSessionSignature",
      "the session's key has not signed this request",
    );
  }
  const kind = Uint8Array.of(KIND, ...ptb);
  return { kind: "ok", request: { kind, encKey, encVerificationKey, user } };
}

function parsed(
  body: Uint8Array,
): Readonly<Record<string, unknown>> | undefined {
  if (jsonShapeFault(body, LIMITS) !== undefined) return undefined;
  try {
    const json: unknown = JSON.parse(
      new TextDecoder("utf-8", { fatal: true }).decode(body),
    );
    return isJsonObject(json) ? json : undefined;
  } catch {
    // The body is not UTF-8 or not JSON: not a request in either case.
    return undefined;
  }
}

function readCertificate(value: unknown): SessionCertificate | undefined {
  if (!isJsonObject(value)) return undefined;
  const { user, session_vk, creation_time, ttl_min, signature } = value;
  const mvr_name = value["mvr_name"] ?? undefined;
  if (
    typeof user !== "string" || typeof session_vk !== "string" ||
    typeof creation_time !== "number" || typeof ttl_min !== "number" ||
    typeof signature !== "string" ||
    (mvr_name !== undefined && typeof mvr_name !== "string")
  ) return undefined;
  return { user, session_vk, creation_time, ttl_min, signature, mvr_name };
}

function readBase64(value: unknown): Uint8Array | undefined {
  if (typeof value !== "string") return undefined;
  try {
    return Uint8Array.fromBase64(value);
  } catch {
    // The text is not Base64.
    return undefined;
  }
}

function refused(error: KeyErrorName, state: string): KeyRequestOutcome {
  return {
    kind: "refused",
    error,
    message: `Cannot accept request: ${state}`,
  };
}
