/**
 * The rows of jobs, written within a transaction and read.
 *
 * @module
 */

import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { JobRow, JobStatus, NewJob } from "../rows.ts";
import type { Change, JobPatch } from "../store.ts";

/** In the order of their numbers; what is released never moves. */
const STATUSES: readonly JobStatus[] = [
  "pending",
  "running",
  "uploaded",
  "done",
  "failed",
];

/** Numbers below it are of jobs that are unfinished. */
const FIRST_FINISHED = 3;

/** The number of a status. */
function statusCode(status: JobStatus): number {
  return STATUSES.indexOf(status);
}

/**
 * The status of a number.
 *
 * @throws {RangeError} when there is none
 */
function statusOf(code: number): JobStatus {
  const status = STATUSES[code];
  if (status === undefined) {
    throw new RangeError(`Cannot read job: its status is ${code}`);
  }
  return status;
}

/** Whether a job of this status is still to be worked on. */
function isUnfinished(code: number): boolean {
  return code < FIRST_FINISHED;
}

/** What of a job decides how it may be changed. */
interface JobHead {
  readonly n: number;
  readonly version: number;
  readonly status: number;
  readonly attempts: number;
  readonly next_attempt_ms: number;
  readonly payload_bytes: number;
}

interface JobRecord extends JobHead {
  readonly owner: string;
  readonly id: string;
  readonly created_ms: number;
  readonly updated_ms: number;
  readonly importance: number;
  readonly namespace: string;
  readonly agent_id: string;
  readonly key_id: string;
  readonly supersedes: string | null;
  readonly blob_id: string | null;
  readonly error: string | null;
  readonly bytes: Uint8Array | null;
}

const ROW =
  "SELECT jobs.*, payloads.bytes FROM jobs LEFT JOIN payloads USING(n)";

/** Jobs of a database. */
export class JobRows {
  readonly #insert: StatementSync;
  readonly #insertPayload: StatementSync;
  readonly #deletePayload: StatementSync;
  readonly #head: StatementSync;
  readonly #update: StatementSync;
  readonly #addOpen: StatementSync;
  readonly #get: StatementSync;
  readonly #due: StatementSync;
  readonly #next: StatementSync;
  readonly #open: StatementSync;

  /** Jobs of an open database. */
  constructor(db: DatabaseSync) {
    this.#insert = db.prepare(
      "INSERT INTO jobs(owner, id, version, status, attempts, " +
        "next_attempt_ms, created_ms, updated_ms, payload_bytes, importance, " +
        "namespace, agent_id, key_id, supersedes) " +
        "VALUES(?, ?, 1, ?, 0, ?, ?, ?, ?, ?, ?, ?, ?, ?) " +
        "ON CONFLICT DO NOTHING",
    );
    this.#insertPayload = db.prepare(
      "INSERT INTO payloads VALUES(?, ?) " +
        "ON CONFLICT(n) DO UPDATE SET bytes = excluded.bytes",
    );
    this.#deletePayload = db.prepare("DELETE FROM payloads WHERE n = ?");
    this.#head = db.prepare(
      "SELECT n, version, status, attempts, next_attempt_ms, payload_bytes " +
        "FROM jobs WHERE owner = ? AND id = ?",
    );
    // Without a blob or an error given, those that are there stay.
    this.#update = db.prepare(
      "UPDATE jobs SET version = version + 1, status = ?, attempts = ?, " +
        "next_attempt_ms = ?, updated_ms = ?, payload_bytes = ?, " +
        "blob_id = coalesce(?, blob_id), " +
        "error = CASE ? WHEN 1 THEN ? ELSE error END WHERE n = ?",
    );
    this.#addOpen = db.prepare(
      "INSERT INTO owners(owner, open_jobs, open_bytes) VALUES(?, ?, ?) " +
        "ON CONFLICT(owner) DO UPDATE SET " +
        "open_jobs = open_jobs + excluded.open_jobs, " +
        "open_bytes = open_bytes + excluded.open_bytes",
    );
    this.#get = db.prepare(`${ROW} WHERE owner = ? AND id = ?`);
    this.#due = db.prepare(
      `${ROW} WHERE status < 3 AND next_attempt_ms <= ? ` +
        "ORDER BY next_attempt_ms, n LIMIT ?",
    );
    this.#next = db.prepare(
      "SELECT min(next_attempt_ms) AS ms FROM jobs WHERE status < 3",
    );
    this.#open = db.prepare(
      "SELECT open_jobs AS jobs, open_bytes AS bytes FROM owners " +
        "WHERE owner = ?",
    );
  }

  /** Adds a job; false when the owner has one of its id. */
  add(job: NewJob, nowMs: number): boolean {
    const { owner, payload } = job;
    const code = statusCode(job.status);
    const { changes, lastInsertRowid } = this.#insert.run(
      owner,
      job.id,
      code,
      job.nextAttemptAtMs,
      job.createdAtMs,
      nowMs,
      payload.length,
      job.importance,
      job.namespace,
      job.agentId,
      job.keyId,
      job.supersedes ?? null,
    );
    if (Number(changes) === 0) return false;
    this.#insertPayload.run(lastInsertRowid, payload);
    if (isUnfinished(code)) this.#addOpen.run(owner, 1, payload.length);
    return true;
  }

  /** Changes a job; false unless it is of the expected version. */
  change(
    change: Extract<Change, { readonly kind: "job" }>,
    nowMs: number,
  ): boolean {
    const { owner, id, expectedVersion, patch } = change;
    const head = this.#head.get(owner, id) as JobHead | undefined;
    if (head === undefined || head.version !== expectedVersion) return false;
    const status = patch.status === undefined
      ? head.status
      : statusCode(patch.status);
    const payloadBytes = this.#writePayload(head, patch);
    this.#update.run(
      status,
      patch.attempts ?? head.attempts,
      patch.nextAttemptAtMs ?? head.next_attempt_ms,
      nowMs,
      payloadBytes,
      patch.blobId ?? null,
      patch.error === undefined ? 0 : 1,
      patch.error ?? null,
      head.n,
    );
    const before = openOf(head.status, head.payload_bytes);
    const after = openOf(status, payloadBytes);
    const jobs = after.jobs - before.jobs;
    const bytes = after.bytes - before.bytes;
    if (jobs !== 0 || bytes !== 0) this.#addOpen.run(owner, jobs, bytes);
    return true;
  }

  /** An owner's job. */
  get(owner: string, id: string): JobRow | undefined {
    const row = this.#get.get(owner, id);
    return row === undefined ? undefined : jobOf(row as unknown as JobRecord);
  }

  /** Unfinished jobs whose time has come, the longest waiting first. */
  due(nowMs: number, limit: number): readonly JobRow[] {
    const rows = this.#due.all(nowMs, limit) as unknown as JobRecord[];
    return rows.map(jobOf);
  }

  /** When the next unfinished job's time comes. */
  nextMs(): number | undefined {
    const ms = this.#next.get()?.["ms"];
    return typeof ms === "number" ? ms : undefined;
  }

  /** What of an owner is unfinished. */
  open(owner: string): { readonly jobs: number; readonly bytes: number } {
    const row = this.#open.get(owner);
    return {
      jobs: Number(row?.["jobs"] ?? 0),
      bytes: Number(row?.["bytes"] ?? 0),
    };
  }

  #writePayload(head: JobHead, { payload }: JobPatch): number {
    if (payload === undefined) return head.payload_bytes;
    if (payload === null) {
      this.#deletePayload.run(head.n);
      return 0;
    }
    this.#insertPayload.run(head.n, payload);
    return payload.length;
  }
}

function openOf(
  status: number,
  bytes: number,
): { readonly jobs: number; readonly bytes: number } {
  return isUnfinished(status) ? { jobs: 1, bytes } : { jobs: 0, bytes: 0 };
}

function jobOf(row: JobRecord): JobRow {
  return {
    id: row.id,
    owner: row.owner,
    namespace: row.namespace,
    agentId: row.agent_id,
    status: statusOf(row.status),
    nextAttemptAtMs: row.next_attempt_ms,
    createdAtMs: row.created_ms,
    keyId: row.key_id,
    importance: row.importance,
    supersedes: row.supersedes ?? undefined,
    version: row.version,
    attempts: row.attempts,
    updatedAtMs: row.updated_ms,
    payload: row.bytes ?? undefined,
    blobId: row.blob_id ?? undefined,
    error: row.error ?? undefined,
  };
}
