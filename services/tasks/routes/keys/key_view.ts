/**
 * An API key as the API shows it: everything but the secret.
 *
 * @module
 */

import type { ApiKey } from "../../domain/records.ts";
import { endOfKey } from "../../engine/key_end.ts";
import type { JsonObject } from "../../../shared/schema/schema.ts";
import { optionalTime, utcTime } from "../../domain/utc_time.ts";

/** Returns a key as the API shows it. */
export function viewKey(key: ApiKey): JsonObject {
  return {
    id: key.id,
    name: key.name,
    role: key.role ?? null,
    scopes: key.scopes ?? null,
    networks: key.networks ?? [],
    payloads: key.payloads,
    made_by: key.madeBy ?? null,
    created_at: utcTime(key.createdAtMs),
    expires_at: optionalTime(endOfKey(key)),
    last_used_at: optionalTime(key.lastUsedAtMs),
  };
}
