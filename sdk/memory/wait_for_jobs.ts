/**
 * Waits until one job or several jobs have ended.
 *
 * @module
 */

import { omitUndefined } from "./answer_reader.ts";
import { pause, steadyMs } from "./client_clock.ts";
import type { ClientParts } from "./client_parts.ts";
import {
  isPassingTrouble,
  type JobFacts,
  RateLimitError,
  RememberJobError,
  RememberJobFailed,
  RememberJobNotFound,
  RememberJobTimeout,
} from "./errors.ts";
import {
  getRememberBulkStatus,
  getRememberStatus,
  isJobId,
} from "./job_status.ts";
import { Poller } from "./poller.ts";
import type {
  RememberBulkItemResult,
  RememberBulkResult,
  RememberJobStatus,
  RememberResult,
  WaitOptions,
} from "./remember_types.ts";
import { presentable, quote } from "./server_text.ts";

const JOB_TIMEOUT_MS = 60_000;
/** How long a wait for several jobs takes at most when the caller says nothing. */
export const JOBS_TIMEOUT_MS = 120_000;
const BAD_GATEWAY = 502;

/** Does what {@linkcode Mem.waitForRememberJob} says. */
export async function waitForRememberJob(
  parts: ClientParts,
  jobId: string,
  options: WaitOptions = {},
): Promise<RememberResult> {
  if (!isJobId(jobId)) {
    throw new RememberJobNotFound(
      `Cannot wait for job ${quote(jobId)}: no job has such an id`,
      { jobId: String(jobId) },
    );
  }
  const poller = new Poller(parts, {
    ...options,
    defaultTimeoutMs: JOB_TIMEOUT_MS,
    canAwaitStatus: await parts.canAwaitStatus(),
  });
  let last: RememberJobStatus | undefined;
  do {
    const seen = await lookAtJob(parts, { jobId, poller, last });
    last = seen ?? last;
    const result = seen === undefined ? undefined : toResult(seen, jobId);
    if (result !== undefined) return result;
  } while (await poller.next());
  throw new RememberJobTimeout(
    `Cannot wait any longer for job "${jobId}": ` +
      `it is not done after ${poller.timeoutMs} ms` + limitNote(poller),
    toFacts(jobId, last),
  );
}

/**
 * Returns what the timeout's message adds when the relayer's rate limit was
 * met.
 */
function limitNote({ wasLimited }: Poller): string {
  return wasLimited ? ", and the relayer limited the rate of looks (429)" : "";
}

interface LookOptions {
  readonly jobId: string;
  readonly poller: Poller;
  readonly last: RememberJobStatus | undefined;
}

async function lookAtJob(
  parts: ClientParts,
  { jobId, poller, last }: LookOptions,
): Promise<RememberJobStatus | undefined> {
  try {
    return await getRememberStatus(parts, jobId, {
      timeoutMs: poller.lookTimeoutMs,
      // A relayer answers at once for an uploaded job, so it is not asked to
      // wait.
      waitSeconds: last?.status === "uploaded" ? 0 : poller.waitSeconds,
    });
  } catch (error) {
    if (!isPassingTrouble(error)) throw error;
    poller.note(error);
    return undefined;
  }
}

/** Returns the memory, or undefined when the job has not ended. */
function toResult(
  status: RememberJobStatus,
  jobId: string,
): RememberResult | undefined {
  const facts = toFacts(jobId, status);
  switch (status.status) {
    case "not_found":
      throw new RememberJobNotFound(
        `Cannot find job "${jobId}": the owner has none such`,
        facts,
      );
    case "failed":
      throw new RememberJobFailed(
        `Cannot complete job "${jobId}": ${
          presentable(status.error ?? "it failed")
        }`,
        facts,
      );
    case "done":
      return toMemory(status, jobId);
    default:
      return undefined;
  }
}

function toMemory(status: RememberJobStatus, jobId: string): RememberResult {
  const { blob_id, owner = "", namespace = "" } = status;
  if (blob_id === undefined || blob_id === "") {
    throw new RememberJobError(
      `Cannot complete job "${jobId}": it is done and has no blob`,
      { ...toFacts(jobId, status), status: BAD_GATEWAY },
    );
  }
  const { receipt, content_salt } = status;
  return omitUndefined({
    ...{ id: jobId, job_id: jobId, blob_id, owner, namespace },
    ...{ receipt, content_salt },
  });
}

function toFacts(
  jobId: string,
  status: RememberJobStatus | undefined,
): JobFacts {
  return { jobId, lastStatus: status?.status, lastBlobId: status?.blob_id };
}

/**
 * Sends what is waited for afterwards. While the relayer's rate limit refuses
 * it, the request is sent again when the relayer says, within the time of the
 * wait.
 *
 * @returns The answer, and the wait that is left.
 * @throws {RateLimitError} When the limit lasts longer than the wait.
 */
export async function sendWithin<Answer>(
  { clock, signal }: ClientParts,
  { timeoutMs, defaultTimeoutMs = JOB_TIMEOUT_MS, send }: WaitOptions & {
    /** The time of the wait when the caller gives none. */
    readonly defaultTimeoutMs?: number;
    /** Sends the request. */
    readonly send: () => Promise<Answer>;
  },
): Promise<readonly [Answer, Pick<WaitOptions, "timeoutMs">]> {
  const endMs = steadyMs(clock) +
    (timeoutMs !== undefined && timeoutMs > 0 ? timeoutMs : defaultTimeoutMs);
  for (;;) {
    try {
      const answer = await send();
      return [answer, { timeoutMs: Math.max(1, endMs - steadyMs(clock)) }];
    } catch (error) {
      if (!(error instanceof RateLimitError)) throw error;
      const delayMs = 1_000 * Math.max(1, error.retryAfterSeconds ?? 1);
      if (steadyMs(clock) + delayMs >= endMs) throw error;
      await pause(delayMs, { clock, signal });
    }
  }
}

/** Options of {@linkcode waitForRememberJobs}. */
interface WaitForJobsOptions extends WaitOptions {
  /**
   * The namespaces of the jobs, in the same order. A namespace that the relayer
   * reports takes precedence.
   *
   * @default unknown
   */
  readonly namespaces?: readonly (string | undefined)[] | undefined;
}

/** Does what {@linkcode Mem.waitForRememberJobs} says. */
export async function waitForRememberJobs(
  parts: ClientParts,
  jobIds: readonly string[],
  options: WaitForJobsOptions = {},
): Promise<RememberBulkResult> {
  if (!Array.isArray(jobIds)) {
    throw new TypeError("Cannot wait for jobs: the ids are not a list");
  }
  const known = new Map<string, RememberJobStatus>();
  const open = new Set<string>(jobIds.filter(isJobId));
  let note = "";
  if (open.size > 0) {
    const poller = new Poller(parts, {
      ...options,
      defaultTimeoutMs: JOBS_TIMEOUT_MS,
      canAwaitStatus: await parts.canAwaitStatus(),
    });
    do {
      await lookAtJobs(parts, { open, known, poller });
      if (open.size === 0) break;
      await awaitNews(parts, { open, known, poller });
    } while (await poller.next());
    note = ` after ${poller.timeoutMs} ms${limitNote(poller)}`;
  }
  const results = jobIds.map((jobId: string, index: number) =>
    toItem(known.get(jobId), {
      jobId,
      namespace: options.namespaces?.[index] ?? "",
      isOpen: open.has(jobId),
      note,
    })
  );
  return { results, ...countResults(results) };
}

interface Round {
  readonly open: Set<string>;
  readonly known: Map<string, RememberJobStatus>;
  readonly poller: Poller;
}

async function lookAtJobs(
  parts: ClientParts,
  { open, known, poller }: Round,
): Promise<void> {
  try {
    const { results } = await getRememberBulkStatus(parts, [...open], {
      timeoutMs: poller.lookTimeoutMs,
    });
    for (const status of results) {
      known.set(status.job_id, status);
      if (hasEnded(status)) open.delete(status.job_id);
    }
  } catch (error) {
    if (!isPassingTrouble(error)) throw error;
    poller.note(error);
  }
}

/**
 * Waits until the status of one of the jobs changes. The jobs were started
 * together, so its change is a sign that the others have changed, too.
 */
async function awaitNews(
  parts: ClientParts,
  { open, known, poller }: Round,
): Promise<void> {
  const waitSeconds = poller.waitSeconds;
  const jobId = [...open].findLast((id) =>
    known.get(id)?.status !== "uploaded" && known.has(id)
  );
  if (waitSeconds === 0 || jobId === undefined) return;
  try {
    await getRememberStatus(parts, jobId, {
      timeoutMs: poller.lookTimeoutMs,
      waitSeconds,
    });
  } catch (error) {
    if (!isPassingTrouble(error)) throw error;
    poller.note(error);
  }
}

function hasEnded({ status }: RememberJobStatus): boolean {
  return status === "done" || status === "failed" || status === "not_found";
}

interface ItemFacts {
  readonly jobId: string;
  readonly namespace: string;
  readonly isOpen: boolean;
  readonly note: string;
}

function toItem(
  last: RememberJobStatus | undefined,
  { jobId, namespace, isOpen, note }: ItemFacts,
): RememberBulkItemResult {
  const blobId = last?.blob_id ?? "";
  const item = {
    id: jobId,
    job_id: jobId,
    blob_id: blobId,
    namespace: last?.namespace ?? namespace,
  };
  if (isOpen) {
    return { ...item, status: "timeout", error: `it is not done${note}` };
  }
  switch (last?.status) {
    case "done":
      return blobId === ""
        ? { ...item, status: "failed", error: "it is done and has no blob" }
        : omitUndefined({
          ...{ ...item, status: "done" as const },
          ...{ receipt: last.receipt, content_salt: last.content_salt },
        });
    case "failed":
      return {
        ...item,
        status: "failed",
        error: presentable(last.error ?? "it failed"),
      };
    default:
      return { ...item, status: "failed", error: "there is no such job" };
  }
}

function countResults(
  results: readonly RememberBulkItemResult[],
): Omit<RememberBulkResult, "results"> {
  const count = (wanted: RememberBulkItemResult["status"]) =>
    results.filter(({ status }) => status === wanted).length;
  return {
    total: results.length,
    succeeded: count("done"),
    failed: count("failed"),
    timedOut: count("timeout"),
  };
}
