/**
 * Waits for several jobs.
 *
 * @module
 */

import { omitUndefined } from "./answer_reader.ts";
import type { ClientParts } from "./client_parts.ts";
import { isPassingTrouble } from "./errors.ts";
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
  WaitOptions,
} from "./remember_types.ts";
import { presentable } from "./server_text.ts";
import { limitNote } from "./wait_for_job.ts";

const DEFAULT_TIMEOUT_MS = 120_000;

/** Options of {@linkcode waitForRememberJobs}. */
interface WaitForJobsOptions extends WaitOptions {
  /**
   * The namespaces that the jobs are of, in the same order; what the relayer
   * says goes before.
   *
   * @default unknown
   */
  readonly namespaces?: readonly (string | undefined)[] | undefined;
}

/**
 * Looks at jobs until each has ended. What becomes of a job is in the result,
 * never an exception.
 *
 * @throws {TypeError} When `jobIds` is no list.
 * @throws {MemError} When the relayer refuses the looks themselves.
 */
export async function waitForRememberJobs(
  parts: ClientParts,
  jobIds: readonly string[],
  options: WaitForJobsOptions = {},
): Promise<RememberBulkResult> {
  if (!Array.isArray(jobIds)) {
    throw new TypeError("Cannot wait for jobs: the ids are no list");
  }
  const known = new Map<string, RememberJobStatus>();
  const open = new Set<string>(jobIds.filter(isJobId));
  let note = "";
  if (open.size > 0) {
    const poller = new Poller(parts, {
      ...options,
      defaultTimeoutMs: DEFAULT_TIMEOUT_MS,
      canAwaitStatus: await parts.canAwaitStatus(),
    });
    do {
      await look(parts, { open, known, poller });
      if (open.size === 0) break;
      await awaitNews(parts, { open, known, poller });
    } while (await poller.next());
    note = ` after ${poller.timeoutMs} ms${limitNote(poller)}`;
  }
  const results = jobIds.map((jobId: string, index: number) =>
    itemOf(known.get(jobId), {
      jobId,
      namespace: options.namespaces?.[index] ?? "",
      isOpen: open.has(jobId),
      note,
    })
  );
  return { results, ...countsOf(results) };
}

interface Round {
  readonly open: Set<string>;
  readonly known: Map<string, RememberJobStatus>;
  readonly poller: Poller;
}

async function look(
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

/** One job's news stands for that of all: they were begun together. */
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

function itemOf(
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

function countsOf(
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
