/**
 * What the API shows of a worker's secrets: names and dates, never values.
 *
 * @module
 */

import type { SigningSecret, WorkerCredential } from "../../domain/records.ts";
import type { SecretRecord } from "../../engine/repositories.ts";
import { optionalTime, utcTime } from "../../domain/utc_time.ts";

/** A secret as the API shows it. */
export type SecretView = Readonly<Record<string, unknown>>;

/** A named value, without the value. */
export function viewValue(
  secret: Omit<SecretRecord, "sealed">,
): SecretView {
  return {
    type: "value",
    name: secret.name,
    version: secret.version,
    created_at: utcTime(secret.createdAtMs),
    updated_at: utcTime(secret.updatedAtMs),
  };
}

/** What a worker logs in with, without its secret part. */
export function viewCredential(credential: WorkerCredential): SecretView {
  return {
    type: "credential",
    id: credential.id,
    name: credential.name === "" ? null : credential.name,
    secrets: credential.secrets,
    created_at: utcTime(credential.createdAtMs),
    expires_at: optionalTime(credential.expiresAtMs),
    last_used_at: optionalTime(credential.lastUsedAtMs),
  };
}

/** A secret that signs calls, by its number. */
export function viewSigning(secret: SigningSecret): SecretView {
  return {
    type: "signing",
    number: secret.number,
    expires_at: optionalTime(secret.expiresAtMs),
  };
}
