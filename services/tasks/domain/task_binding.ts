/**
 * What binds a task to its history: a digest of what it holds, in the last record
 * of each change. Who changes the task elsewhere has to change the record too,
 * and with it the hash of the record.
 *
 * @module
 */

import type { Digest } from "./history.ts";
import type { Task } from "./task.ts";

/** What of a task is bound. All of it changes together with a record. */
type BoundTask = Pick<
  Task,
  | "tenantId"
  | "id"
  | "workerId"
  | "job"
  | "callback"
  | "status"
  | "dataJson"
  | "resultJson"
>;

/** Characters of the salt: 72 random bits in base64url. */
export const SALT_CHARS = 12;

/** Longer payloads count by their digest, which may be known already. */
const MAX_PLAIN_CHARS = 2_048;

/**
 * The digest of a task, behind its salt. Without the salt who sees the hashes of
 * a history and not the data could find out whether a guess at it is right.
 */
export function bindingOf(
  task: BoundTask,
  { salt, digest }: { readonly salt: string; readonly digest: Digest },
): string {
  const { callback } = task;
  const parts = [
    salt,
    task.tenantId,
    task.id,
    task.workerId,
    task.status,
    // A job is a single line, and JSON text begins with no "sha256:".
    task.job,
    callback === undefined ? "" : JSON.stringify([callback.url, callback.on]),
    payloadOf(task.dataJson, digest),
    task.resultJson === undefined ? "" : payloadOf(task.resultJson, digest),
  ];
  return salt + digest(parts.join("\n"));
}

/** Whether a task is the one that a digest was made of. */
export function isBoundBy(
  task: BoundTask,
  { binding, digest }: { readonly binding: string; readonly digest: Digest },
): boolean {
  const salt = binding.slice(0, SALT_CHARS);
  return bindingOf(task, { salt, digest }) === binding;
}

function payloadOf(text: string, digest: Digest): string {
  return text.length <= MAX_PLAIN_CHARS ? text : `sha256:${digest(text)}`;
}
