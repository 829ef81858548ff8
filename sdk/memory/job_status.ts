/**
 * Looks at jobs.
 *
 * @module
 */

import {
  omitUndefined,
  readArray,
  readOptionalString,
  readString,
} from "./answer_reader.ts";
import type { ClientParts } from "./client_parts.ts";
import { MemError } from "./errors.ts";
import { readContentSalt, readReceipt } from "./receipt.ts";
import type {
  RememberBulkStatusResult,
  RememberJobState,
  RememberJobStatus,
} from "./remember_types.ts";
import { quote } from "./server_text.ts";

/** Whether it has nothing but letters, digits, `_` and `-`. */
export function isJobId(id: unknown): id is string {
  return typeof id === "string" && /^[A-Za-z0-9_-]+$/.test(id);
}

/**
 * Whether it can be asked for: it is a text that is not empty, has neither
 * whitespace nor `/`, `?`, `#`, is no path segment with a meaning of its own,
 * and can be written in a URL.
 */
export function canAskForJob(id: unknown): id is string {
  return typeof id === "string" && id !== "" && !/[\s/?#]/.test(id) &&
    id !== "." && id !== ".." && isWellFormed(id);
}

/** Half of a surrogate pair has no UTF-8 form. */
function isWellFormed(text: string): boolean {
  return !/\p{Surrogate}/u.test(text);
}

const NOT_FOUND = 404;
const STATES: readonly RememberJobState[] = [
  "pending",
  "running",
  "uploaded",
  "done",
  "failed",
  "not_found",
];

/** Most jobs of one request, as relayers take them. */
export const MAX_BULK = 20;

/** Options of the functions here. */
interface JobStatusOptions {
  /**
   * Milliseconds that each request may take.
   *
   * @default the client's `requestTimeoutMs`
   */
  readonly timeoutMs?: number | undefined;
  /**
   * Seconds, 1 to 20, that the relayer may hold the answer back until there is
   * news; for relayers that can.
   *
   * @default {0}
   */
  readonly waitSeconds?: number;
}

/**
 * Looks at a job once. An id that no job can have is not asked for, and the
 * answer is `not_found`.
 *
 * @throws {MemError} When the relayer does not tell.
 */
export async function getRememberStatus(
  parts: ClientParts,
  jobId: string,
  options: JobStatusOptions = {},
): Promise<RememberJobStatus> {
  if (!canAskForJob(jobId)) return { job_id: jobId, status: "not_found" };
  const { timeoutMs, waitSeconds = 0 } = options;
  const query = waitSeconds > 0 ? `?wait=${waitSeconds}` : "";
  const { status, json } = await parts.exchange.send({
    method: "GET",
    path: `/api/remember/${encodeURIComponent(jobId)}${query}`,
    alsoGood: [NOT_FOUND],
    timeoutMs: timeoutOf(timeoutMs, parts),
  });
  return status === NOT_FOUND
    ? { job_id: jobId, status: "not_found" }
    : jobStatusOf(json);
}

/**
 * Looks at several jobs once, 20 with each request. The answer has them in the
 * order they were asked for; ids that no job can have are not asked for, and
 * are `not_found`.
 *
 * @throws {TypeError} When `jobIds` is no list.
 * @throws {MemError} When the relayer does not tell.
 */
export async function getRememberBulkStatus(
  parts: ClientParts,
  jobIds: readonly string[],
  options: Omit<JobStatusOptions, "waitSeconds"> = {},
): Promise<RememberBulkStatusResult> {
  if (!Array.isArray(jobIds)) {
    throw new TypeError("Cannot look at jobs: the ids are no list");
  }
  const asked = [...new Set(jobIds.filter(isJobId))];
  const known = new Map<string, RememberJobStatus>();
  for (let at = 0; at < asked.length; at += MAX_BULK) {
    const { json } = await parts.exchange.send({
      method: "POST",
      path: "/api/remember/bulk/status",
      body: { job_ids: asked.slice(at, at + MAX_BULK) },
      timeoutMs: timeoutOf(options.timeoutMs, parts),
    });
    for (const entry of readArray(json, "results")) {
      const status = jobStatusOf(entry);
      known.set(status.job_id, status);
    }
  }
  return {
    results: jobIds.map((jobId: string) =>
      known.get(jobId) ?? { job_id: jobId, status: "not_found" }
    ),
  };
}

function jobStatusOf(json: unknown): RememberJobStatus {
  return omitUndefined({
    job_id: readString(json, "job_id"),
    status: stateOf(readString(json, "status")),
    owner: readOptionalString(json, "owner"),
    namespace: readOptionalString(json, "namespace"),
    blob_id: readOptionalString(json, "blob_id"),
    error: readOptionalString(json, "error"),
    receipt: readReceipt(json),
    content_salt: readContentSalt(json),
  });
}

function stateOf(word: string): RememberJobState {
  const state = STATES.find((known) => known === word);
  if (state !== undefined) return state;
  throw new MemError(
    `Cannot read the relayer's answer: ${quote(word)} is no state of a job`,
  );
}

function timeoutOf(
  timeoutMs: number | undefined,
  { requestTimeoutMs }: ClientParts,
): number {
  return timeoutMs !== undefined && timeoutMs > 0
    ? timeoutMs
    : requestTimeoutMs;
}
