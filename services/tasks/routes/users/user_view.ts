/**
 * A user as the API shows it.
 *
 * @module
 */

import type { User } from "../../domain/records.ts";
import type { JsonObject } from "../../../shared/schema/schema.ts";
import { optionalTime, utcTime } from "../../domain/utc_time.ts";

/** Returns a user as the API shows it. */
export function viewUser(user: User): JsonObject {
  return {
    id: user.id,
    email: user.email,
    name: user.name,
    role: user.role,
    status: user.status,
    payloads: user.payloads,
    idp_subject: user.identity?.subject ?? null,
    created_at: utcTime(user.createdAtMs),
    updated_at: utcTime(user.updatedAtMs),
    last_seen_at: optionalTime(user.lastSeenAtMs),
  };
}
