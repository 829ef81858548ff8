/**
 * Reads the status of jobs that store memories.
 *
 * @module
 */

import {
  isObject,
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
import { quote, unexpectedAnswer } from "./server_text.ts";

/**
 * Tells whether an id has only letters, digits, `_` and `-`, as all job ids do.
 */
export function isJobId(id: unknown): id is string {
  return typeof id === "string" && /^[A-Za-z0-9_-]+$/.test(id);
}

/**
 * Tells whether an id can be part of a request's path: a text that is not
 * empty, has no whitespace and no `/`, `?` or `#`, is not a path segment with a
 * special meaning (`.` or `..`), and can be written in a URL.
 */
export function canAskForJob(id: unknown): id is string {
  return typeof id === "string" && id !== "" && !/[\s/?#]/.test(id) &&
    id !== "." && id !== ".." && isWellFormed(id);
}

/** Tells whether a text has a UTF-8 form; half of a surrogate pair has none. */
function isWellFormed(text: string): boolean {
  // Older versions of React Native know no \p{Surrogate}.
  return !/[\ud800-\udfff]/u.test(text);
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

/** The most jobs in one request; relayers have the same limit. */
export const MAX_BULK = 20;

/** Options for reading the status of jobs. */
interface JobStatusOptions {
  /**
   * Milliseconds that each request may take.
   *
   * @default the client's `requestTimeoutMs`
   */
  readonly timeoutMs?: number | undefined;
  /**
   * Seconds, 1 to 20, that the relayer may delay its answer until the status
   * changes. Only for relayers that support this.
   *
   * @default {0}
   */
  readonly waitSeconds?: number;
}

/** Does what {@linkcode Mem.getRememberStatus} says. */
export async function getRememberStatus(
  parts: ClientParts,
  jobId: string,
  options: JobStatusOptions = {},
): Promise<RememberJobStatus> {
  if (!canAskForJob(jobId)) return { job_id: jobId, status: "not_found" };
  const { timeoutMs, waitSeconds = 0 } = options;
  const query = waitSeconds > 0 ? `?wait=${waitSeconds}` : "";
  const path = `/api/remember/${encodeURIComponent(jobId)}`;
  const { status, json } = await parts.exchange.send({
    method: "GET",
    path: path + query,
    alsoGood: [NOT_FOUND],
    timeoutMs: pickTimeout(timeoutMs, parts),
  });
  if (status !== NOT_FOUND) return readJobStatus(json);
  // A proxy answers 404 as well, and knows nothing about jobs.
  if (!isObject(json)) throw unexpectedAnswer(`GET ${path}`, { status });
  return { job_id: jobId, status: "not_found" };
}

/**
 * Does what {@linkcode Mem.getRememberBulkStatus} says, with one request for
 * each 20 jobs. Ids that no job can have are not sent.
 */
export async function getRememberBulkStatus(
  parts: ClientParts,
  jobIds: readonly string[],
  options: Omit<JobStatusOptions, "waitSeconds"> = {},
): Promise<RememberBulkStatusResult> {
  if (!Array.isArray(jobIds)) {
    throw new TypeError("Cannot read jobs: the ids are not a list");
  }
  const asked = [...new Set(jobIds.filter(isJobId))];
  const known = new Map<string, RememberJobStatus>();
  for (let at = 0; at < asked.length; at += MAX_BULK) {
    const { json } = await parts.exchange.send({
      method: "POST",
      path: "/api/remember/bulk/status",
      body: { job_ids: asked.slice(at, at + MAX_BULK) },
      timeoutMs: pickTimeout(options.timeoutMs, parts),
    });
    for (const entry of readArray(json, "results")) {
      const status = readJobStatus(entry);
      known.set(status.job_id, status);
    }
  }
  return {
    results: jobIds.map((jobId: string) =>
      known.get(jobId) ?? { job_id: jobId, status: "not_found" }
    ),
  };
}

function readJobStatus(json: unknown): RememberJobStatus {
  return omitUndefined({
    job_id: readString(json, "job_id"),
    status: readState(readString(json, "status")),
    owner: readOptionalString(json, "owner"),
    namespace: readOptionalString(json, "namespace"),
    blob_id: readOptionalString(json, "blob_id"),
    error: readOptionalString(json, "error"),
    receipt: readReceipt(json),
    content_salt: readContentSalt(json),
  });
}

function readState(word: string): RememberJobState {
  const state = STATES.find((known) => known === word);
  if (state !== undefined) return state;
  throw new MemError(
    `Cannot read the relayer's answer: ${quote(word)} is not a state of a job`,
  );
}

function pickTimeout(
  timeoutMs: number | undefined,
  { requestTimeoutMs }: ClientParts,
): number {
  return timeoutMs !== undefined && timeoutMs > 0
    ? timeoutMs
    : requestTimeoutMs;
}
