/**
 * The status of accepted texts.
 *
 * @module
 */

import { isRecordId, members } from "../body_schemas.ts";
import { list } from "../../../shared/schema/composite.ts";
import { text } from "../../../shared/schema/values.ts";
import type { JobRow, MemoryRow } from "../../store/rows.ts";
import { type Answer, type JsonView, ok, refused } from "../answer.ts";
import { readBody } from "../json_body.ts";
import type { RelayerParts } from "../parts.ts";
import { MAX_SMALL_BODY_BYTES, type SignedRoute } from "../route.ts";
import { MAX_BULK_ITEMS } from "./remember_routes.ts";

/**
 * The view of a job. An error is told only of a job that failed for good: while it
 * is tried again, nothing is lost yet.
 */
function jobView(job: JobRow): JsonView {
  const { id, status, owner, namespace, blobId, error } = job;
  return {
    job_id: id,
    status,
    owner,
    namespace,
    blob_id: blobId,
    error: status === "failed" ? error : undefined,
  };
}

/** The view of a job that is forgotten, while what it stored is there. */
function storedJobView(memory: MemoryRow): JsonView {
  const { id, owner, namespace, blobId } = memory;
  return { job_id: id, status: "done", owner, namespace, blob_id: blobId };
}

/** Longest time that a status waits for the job, in seconds. */
const MAX_WAIT_SECONDS = 20;

const DIGITS = /^\d{1,30}$/;

/** The routes. */
export function jobRoutes(parts: RelayerParts): readonly SignedRoute[] {
  return [statusRoute(parts), bulkStatusRoute(parts)];
}

function statusRoute({ jobWatch, store }: RelayerParts): SignedRoute {
  return {
    access: "signed",
    method: "GET",
    path: "/api/remember/:id",
    maxBodyBytes: 0,
    async answer({ caller, params, query, signal }) {
      const id = params["id"] ?? "";
      const waitMs = waitOf(query);
      if (waitMs === undefined) return BAD_WAIT;
      if (!isRecordId(id)) return NO_JOB;
      const { owner } = caller;
      const job = await jobWatch.wait(owner, id, { waitMs, signal });
      if (job !== undefined) return ok(jobView(job));
      // Jobs are forgotten long before what they stored.
      const [memory] = await store.memories(owner, [id]);
      return memory === undefined ? NO_JOB : ok(storedJobView(memory));
    },
  };
}

function bulkStatusRoute({ store }: RelayerParts): SignedRoute {
  return {
    access: "signed",
    method: "POST",
    path: "/api/remember/bulk/status",
    maxBodyBytes: MAX_SMALL_BODY_BYTES,
    async answer({ caller, body }) {
      const read = readBody(body, JOB_IDS, { action: "look jobs up" });
      if (read.kind === "refused") return read.answer;
      const ids = read.value.job_ids;
      const views = await viewsOf(ids, { store, owner: caller.owner });
      return ok({
        results: ids.map((id) => {
          const view = views.get(id);
          if (view === undefined) return { job_id: id, status: "not_found" };
          const { owner: _owner, ...shown } = view;
          return shown;
        }),
      });
    },
  };
}

async function viewsOf(
  ids: readonly string[],
  { store, owner }: {
    readonly store: RelayerParts["store"];
    readonly owner: string;
  },
): Promise<ReadonlyMap<string, JsonView>> {
  const views = new Map<string, JsonView>();
  const jobs = await store.jobs(owner, ids.filter(isRecordId));
  for (const job of jobs) {
    if (job !== undefined) views.set(job.id, jobView(job));
  }
  const missing = ids.filter((id) => isRecordId(id) && !views.has(id));
  if (missing.length === 0) return views;
  for (const memory of await store.memories(owner, missing)) {
    if (memory !== undefined) views.set(memory.id, storedJobView(memory));
  }
  return views;
}

/** A text that is not an id is not found as a job, which is an answer too. */
const JOB_IDS = members({
  job_ids: list(text({ maxLength: MAX_SMALL_BODY_BYTES }), {
    minItems: 1,
    maxItems: MAX_BULK_ITEMS,
  }),
});

const NO_JOB: Answer = refused(404, "Cannot find job: there is none such");

const BAD_WAIT: Answer = refused(
  400,
  'Cannot wait for job: "wait" is no whole number of seconds from 0 on',
);

/** Undefined when it is no time to wait. */
function waitOf(query: string): number | undefined {
  const text = new URLSearchParams(query).get("wait");
  if (text === null) return 0;
  return DIGITS.test(text)
    ? Math.min(Number(text), MAX_WAIT_SECONDS) * 1_000
    : undefined;
}
