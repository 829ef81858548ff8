/**
 * Routes that accept texts, one or several at once, and answer the status of
 * their jobs.
 *
 * @module
 */

import { quote } from "../../../shared/quote.ts";
import { list } from "../../../shared/schema/composite.ts";
import { optional } from "../../../shared/schema/object.ts";
import { described } from "../../../shared/schema/schema.ts";
import { text as plainText } from "../../../shared/schema/values.ts";
import type { Caller } from "../../auth/authenticate.ts";
import type { AcceptOutcome } from "../../jobs/job_intake.ts";
import { hasStored } from "../../jobs/stored_jobs.ts";
import { toVectorState, type VectorState } from "../../recall/memory_index.ts";
import type { JobRow, MemoryRow } from "../../store/rows.ts";
import {
  type Answer,
  type JsonView,
  ok,
  refused,
  wireTime,
} from "../answer.ts";
import {
  IMPORTANCE,
  isRecordId,
  MAX_TEXT_BYTES,
  members,
  METADATA,
  NAMESPACE,
  RECORD_ID,
  SHORT_NAME,
  text,
} from "../body_schemas.ts";
import { signedPost } from "../json_body.ts";
import { formatSaltText } from "../../receipts/receipt.ts";
import type { RelayerParts } from "../parts.ts";
import { ID_SAMPLE } from "../document/answer_parts.ts";
import { memoryAnswer } from "../document/memory_answers.ts";
import { isGranted } from "../../auth/token_claims.ts";
import { MAX_SMALL_BODY_BYTES, type SignedRoute } from "../route.ts";
import { READS, WRITES } from "../token_rule.ts";

/** The answer to texts that were not accepted. */
export function intakeRefusal(
  outcome: Exclude<AcceptOutcome, { readonly kind: "accepted" }>,
): Answer {
  switch (outcome.kind) {
    case "key_reused":
      return refused(
        409,
        "Cannot remember: the idempotency key was used with another request",
      );
    case "nothing_to_supersede":
      return refused(
        404,
        `Cannot supersede memory ${quote(outcome.id)}: there is none such`,
      );
    case "over_quota":
      return overQuota(outcome.quotaBytes);
    case "busy":
      return refused(
        503,
        "Cannot remember: too many memories are in progress",
        {
          retryAfterMs: outcome.retryAfterMs,
        },
      );
  }
}

/** What the document says of {@linkcode overQuota}. */
export const OVER_QUOTA_WORDS = {
  402: "The owner would have more than the quota",
};

/** The answer to an owner who would have more than the quota. */
export function overQuota(quotaBytes: number): Answer {
  return refused(
    402,
    `Cannot remember: the owner would have more than ${quotaBytes} bytes; ` +
      "delete memories to make room",
  );
}

/** Most texts of one request. */
const MAX_BULK_ITEMS = 20;

/** Longest time that a status waits for the job, in seconds. */
export const MAX_WAIT_SECONDS = 20;

const DIGITS = /^\d{1,30}$/;

const TEXT_FIELDS = {
  text: described(text(MAX_TEXT_BYTES), "The remembered text"),
  namespace: NAMESPACE,
  importance: IMPORTANCE,
  metadata: optional(
    described(METADATA, "What the client says of it; recall filters by it"),
  ),
  supersedes: optional(
    described(RECORD_ID, "The memory that it replaces; recall leaves that out"),
  ),
};

const KEY_FIELD = {
  idempotency_key: optional(
    described(SHORT_NAME, "Sent again, it stands for the same job"),
  ),
};

const NEW_TEXT = members({ ...TEXT_FIELDS, ...KEY_FIELD });

const NEW_TEXTS = members({
  items: described(
    list(members(TEXT_FIELDS), { minItems: 1, maxItems: MAX_BULK_ITEMS }),
    "The texts, each with what goes with it",
  ),
  ...KEY_FIELD,
});

/**
 * Any text is allowed as an id: one that is not an id gets the status
 * `not_found`.
 */
const JOB_IDS = members({
  job_ids: described(
    list(plainText({ maxLength: MAX_SMALL_BODY_BYTES }), {
      minItems: 1,
      maxItems: MAX_BULK_ITEMS,
    }),
    "What `remember`, `rememberTexts` or `analyze` answered",
  ),
});

const NOT_ACCEPTED_WORDS = {
  ...OVER_QUOTA_WORDS,
  404: "There is no memory to supersede",
  409: "The idempotency key stood for something else before",
};

const NO_JOB: Answer = refused(404, "Cannot find job: it does not exist");

const BAD_WAIT: Answer = refused(
  400,
  'Cannot wait for job: "wait" is not a whole number of seconds from 0 on',
);

/**
 * What looking after a job costs: next to nothing, since a text was paid for
 * when it was accepted.
 */
const LOOK_POINTS = 0.1;

/** The routes that remember texts. */
export function rememberRoutes(
  parts: RelayerParts,
): readonly SignedRoute[] {
  const { intake, jobWatch, store } = parts;
  return [
    signedPost("/api/remember", NEW_TEXT, {
      action: "remember text",
      words: {
        id: "remember",
        tag: "remember",
        summary: "Remember a text",
        description:
          "The text is encrypted before the answer; a job embeds and " +
          "stores it. With an `idempotency_key` it is remembered once however " +
          "often it is sent.",
        sent: {
          text: "Ada prefers tea",
          namespace: "default",
          importance: 0.7,
        },
        status: 202,
        answer: memoryAnswer("AcceptedText"),
        means: "It is taken in",
        others: NOT_ACCEPTED_WORDS,
      },
      token: WRITES,
      namespacesOf: ({ namespace }) => [namespace],
      points: 5,
      async answer({ caller, pausing }, body) {
        const { idempotency_key: idempotencyKey, ...newText } = body;
        const outcome = await intake.accept(caller, [newText], {
          status: "running",
          pausing,
          idempotencyKey,
        });
        if (outcome.kind !== "accepted") return intakeRefusal(outcome);
        return ok({ job_id: outcome.jobIds[0], status: "running" }, 202);
      },
    }),
    signedPost("/api/remember/bulk", NEW_TEXTS, {
      action: "remember texts",
      words: {
        id: "rememberTexts",
        tag: "remember",
        summary: "Remember up to 20 texts",
        sent: {
          items: [{ text: "Ada prefers tea" }, { text: "Bob has a dog" }],
        },
        status: 202,
        answer: memoryAnswer("AcceptedTexts"),
        means: "All texts were accepted",
        others: NOT_ACCEPTED_WORDS,
      },
      token: WRITES,
      namespacesOf: ({ items }) => items.map(({ namespace }) => namespace),
      points: 10,
      async answer({ caller, pausing }, body) {
        const { items, idempotency_key: idempotencyKey } = body;
        const outcome = await intake.accept(caller, items, {
          status: "running",
          pausing,
          idempotencyKey,
        });
        if (outcome.kind !== "accepted") return intakeRefusal(outcome);
        const { jobIds } = outcome;
        const total = jobIds.length;
        return ok({ job_ids: jobIds, total, status: "running" }, 202);
      },
    }),
    {
      access: "signed",
      method: "GET",
      path: "/api/remember/:id",
      words: {
        id: "getJob",
        tag: "remember",
        summary: "Read the state of a job",
        query: {
          wait: {
            type: "integer",
            minimum: 0,
            description: "Seconds to wait for its end; 20 are enough",
          },
        },
        answer: memoryAnswer("Job"),
        means: "The job",
        others: { 400: "`wait` is not a number", 404: "There is no such job" },
      },
      token: READS,
      points: LOOK_POINTS,
      async answer({ caller: { owner, grant }, params, query, signal }) {
        const id = params["id"] ?? "";
        const waitMs = parseWait(query);
        if (waitMs === undefined) return BAD_WAIT;
        if (!isRecordId(id)) return NO_JOB;
        const job = await jobWatch.wait(owner, id, { waitMs, signal });
        if (job !== undefined) {
          return isGranted(grant, job.namespace)
            ? ok(await wholeJobView(job, parts))
            : NO_JOB;
        }
        // Jobs are deleted long before the memories that they stored.
        const [memory] = await store.memories(owner, [id]);
        return memory === undefined || !isGranted(grant, memory.namespace)
          ? NO_JOB
          : ok(storedJobView(memory));
      },
    },
    signedPost("/api/remember/bulk/status", JOB_IDS, {
      action: "look jobs up",
      words: {
        id: "getJobs",
        tag: "remember",
        summary: "Read the states of several jobs",
        sent: { job_ids: [ID_SAMPLE] },
        answer: memoryAnswer("Jobs"),
        means: "The jobs, in the order that was asked",
      },
      token: READS,
      namespacesOf: () => [],
      points: LOOK_POINTS,
      onlyReads: true,
      maxBodyBytes: MAX_SMALL_BODY_BYTES,
      async answer({ caller }, { job_ids: ids }) {
        const views = await loadViews(ids, { ...parts, caller });
        return ok({
          results: ids.map((id) => {
            const view = views.get(id);
            if (view === undefined) return { job_id: id, status: "not_found" };
            const { owner: _owner, ...shown } = view;
            return shown;
          }),
        });
      },
    }),
  ];
}

/**
 * The view of a job. An error is told only of a job that failed for good: while it
 * is tried again, nothing is lost yet.
 */
function jobView(job: JobRow): JsonView {
  const { id, status, owner, namespace, blobId, error } = job;
  const { attempts, nextAttemptAtMs } = job;
  return {
    job_id: id,
    status,
    owner,
    namespace,
    blob_id: hasStored({ status }) ? blobId : undefined,
    error: status === "failed" ? error : undefined,
    retrying: attempts > 0 && (status === "running" || status === "pending")
      ? { attempts, reason: error, next_at: wireTime(nextAttemptAtMs) }
      : undefined,
  };
}

type JobViewParts = Pick<
  RelayerParts,
  "receipts" | "vault" | "store" | "embedder"
>;

/** The view of a job with what the owner's keys tell of its memory. */
async function wholeJobView(
  job: JobRow,
  parts: JobViewParts,
): Promise<JsonView> {
  return {
    ...jobView(job),
    vector: await findVectorState(job, parts),
    ...await buildReceipt(job, parts),
  };
}

/**
 * What became of a stored memory's vector. Only jobs whose memory was stored
 * without one have an error, so that no other entry is opened.
 */
async function findVectorState(
  job: JobRow,
  { store, vault, embedder }: JobViewParts,
): Promise<VectorState | undefined> {
  if (!hasStored(job)) return undefined;
  if (job.error === undefined) return "ready";
  const [memory] = await store.memories(job.owner, [job.id]);
  if (memory === undefined) return undefined;
  const opened = await vault.openIndex(job.owner, memory.sealedIndex);
  return opened.kind === "ok"
    ? toVectorState(opened.value, embedder)
    : undefined;
}

/**
 * The view of a job that was deleted after a while, made of the memory that it
 * stored.
 */
function storedJobView(memory: MemoryRow): JsonView {
  const { id, owner, namespace, blobId } = memory;
  return { job_id: id, status: "done", owner, namespace, blob_id: blobId };
}

/**
 * Makes the receipt of a job that has stored its memory, and the salt of the
 * receipt's hash; empty for other jobs.
 */
async function buildReceipt(
  job: JobRow,
  { receipts, vault }: ReceiptParts,
): Promise<JsonView> {
  const { id: memoryId, owner, namespace, blobId, contentHash } = job;
  if (!hasStored(job) || blobId === undefined || contentHash === undefined) {
    return {};
  }
  const salt = await vault.digest(owner, formatSaltText(memoryId));
  const timeMs = job.createdAtMs;
  const receipt = receipts.sign({
    ...{ kind: "remember", owner, namespace, memoryId, blobId },
    ...{ contentHash, timeMs },
  });
  return { receipt, content_salt: salt };
}

type ReceiptParts = Pick<RelayerParts, "receipts" | "vault">;

async function loadViews(
  ids: readonly string[],
  { caller, ...parts }: JobViewParts & { readonly caller: Caller },
): Promise<ReadonlyMap<string, JsonView>> {
  const { store } = parts;
  const { owner, grant } = caller;
  const views = new Map<string, JsonView>();
  const known = ids.filter(isRecordId);
  for (const job of await store.jobs(owner, known)) {
    if (job === undefined || !isGranted(grant, job.namespace)) continue;
    views.set(job.id, await wholeJobView(job, parts));
  }
  const missing = known.filter((id) => !views.has(id));
  if (missing.length === 0) return views;
  for (const memory of await store.memories(owner, missing)) {
    if (memory === undefined || !isGranted(grant, memory.namespace)) continue;
    views.set(memory.id, storedJobView(memory));
  }
  return views;
}

/**
 * Returns the milliseconds to wait; undefined when `wait` is not a whole
 * number.
 */
function parseWait(query: string): number | undefined {
  const text = new URLSearchParams(query).get("wait");
  if (text === null) return 0;
  return DIGITS.test(text)
    ? Math.min(Number(text), MAX_WAIT_SECONDS) * 1_000
    : undefined;
}
