/**
 * What the routes of tasks share beside the parts of the whole API.
 *
 * @module
 */

import type { ApiParts } from "../api_parts.ts";
import type { BodyLimits } from "../../http/route.ts";
import type { KeyLocks } from "../../engine/key_locks.ts";
import type { Operations } from "../../engine/bulk/operations.ts";
import type { Schema } from "../../../shared/schema/schema.ts";
import { choice } from "../../../shared/schema/values.ts";

/** The parts of these routes. */
export interface TasksParts extends ApiParts {
  /** Locks a task while it is changed. */
  readonly locks: KeyLocks;
  /** Does what is done to many tasks in the background. */
  readonly operations: Operations;
}

/** What a task has beside its data at most, as clients write it, in bytes. */
const TASK_OVERHEAD_BYTES = 131_072;

/**
 * The largest body with one task. Its data may be written longer than the text
 * that counts, with blanks and escapes.
 */
export function taskBodyBytes({ payloadBytes }: BodyLimits): number {
  return payloadBytes * 2 + TASK_OVERHEAD_BYTES;
}

/** What routes that read tasks have in common. */
export const READS_TASKS = {
  method: "GET",
  hosts: "tenant",
  tags: ["tasks"],
  access: { kind: "member", role: "viewer", scope: "tasks:read" },
} as const;

/** Who may make and change tasks. */
export const WRITES_TASKS = {
  kind: "member",
  role: "member",
  scope: "tasks:write",
} as const;

/** Which way a list goes. */
export const ORDER: Schema<"asc" | "desc"> = choice(["asc", "desc"]);
