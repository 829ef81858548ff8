/**
 * Waits for one job.
 *
 * @module
 */

import { omitUndefined } from "./answer_reader.ts";
import type { ClientParts } from "./client_parts.ts";
import {
  isPassingTrouble,
  type JobFacts,
  RememberJobError,
  RememberJobFailed,
  RememberJobNotFound,
  RememberJobTimeout,
} from "./errors.ts";
import { getRememberStatus, isJobId } from "./job_status.ts";
import { Poller } from "./poller.ts";
import type {
  RememberJobStatus,
  RememberResult,
  WaitOptions,
} from "./remember_types.ts";
import { presentable, quote } from "./server_text.ts";

const DEFAULT_TIMEOUT_MS = 60_000;
const BAD_GATEWAY = 502;

/**
 * Looks at a job until it is done. No answer, 429 and 500 and above are trouble
 * that passes.
 *
 * @throws {RememberJobNotFound} When the owner has no such job (404), or no job
 * can have this id; that is not asked for.
 * @throws {RememberJobFailed} When it failed (500).
 * @throws {RememberJobTimeout} When it was not done in time (504).
 * @throws {RememberJobError} When it is done without a blob (502).
 * @throws {MemError} When the relayer refuses.
 */
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
    defaultTimeoutMs: DEFAULT_TIMEOUT_MS,
    canAwaitStatus: await parts.canAwaitStatus(),
  });
  let last: RememberJobStatus | undefined;
  do {
    const seen = await look(parts, { jobId, poller, last });
    last = seen ?? last;
    const result = seen === undefined ? undefined : resultOf(seen, jobId);
    if (result !== undefined) return result;
  } while (await poller.next());
  throw new RememberJobTimeout(
    `Cannot wait any longer for job "${jobId}": ` +
      `it is not done after ${poller.timeoutMs} ms` + limitNote(poller),
    factsOf(jobId, last),
  );
}

/** What a wait that is over says of limits it met. */
export function limitNote({ wasLimited }: Poller): string {
  return wasLimited ? ", and the relayer limited the rate of looks (429)" : "";
}

interface LookOptions {
  readonly jobId: string;
  readonly poller: Poller;
  readonly last: RememberJobStatus | undefined;
}

async function look(
  parts: ClientParts,
  { jobId, poller, last }: LookOptions,
): Promise<RememberJobStatus | undefined> {
  try {
    return await getRememberStatus(parts, jobId, {
      timeoutMs: poller.lookTimeoutMs,
      // A job that is uploaded is news already, so nothing would be held back.
      waitSeconds: last?.status === "uploaded" ? 0 : poller.waitSeconds,
    });
  } catch (error) {
    if (!isPassingTrouble(error)) throw error;
    poller.note(error);
    return undefined;
  }
}

/** The memory, or undefined when the job goes on. */
function resultOf(
  status: RememberJobStatus,
  jobId: string,
): RememberResult | undefined {
  const facts = factsOf(jobId, status);
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
      return memoryOf(status, jobId);
    default:
      return undefined;
  }
}

function memoryOf(status: RememberJobStatus, jobId: string): RememberResult {
  const { blob_id, owner = "", namespace = "" } = status;
  if (blob_id === undefined || blob_id === "") {
    throw new RememberJobError(
      `Cannot complete job "${jobId}": it is done and has no blob`,
      { ...factsOf(jobId, status), status: BAD_GATEWAY },
    );
  }
  const { receipt, content_salt } = status;
  return omitUndefined({
    ...{ id: jobId, job_id: jobId, blob_id, owner, namespace },
    ...{ receipt, content_salt },
  });
}

function factsOf(
  jobId: string,
  status: RememberJobStatus | undefined,
): JobFacts {
  return { jobId, lastStatus: status?.status, lastBlobId: status?.blob_id };
}
