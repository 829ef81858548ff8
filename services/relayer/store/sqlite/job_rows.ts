/**
 * Reads the rows of jobs, and writes them within a transaction.
 *
 * @module
 */

import type { DatabaseSync } from "node:sqlite";
import type { JobRow, NewJob } from "../rows.ts";
import type { Change } from "../changes.ts";
import type { JobLeases, JobName, RelayerStore } from "../store.ts";
import {
  FIRST_FINISHED,
  FIRST_SETTLED,
  IS_DELETED,
  isUnfinished,
  JOBS,
  readJob,
  STATUSES,
  type StoredJob,
} from "../row_columns.ts";
import {
  type DatabaseRecord,
  prepareAll,
  type Statements,
} from "./row_columns.ts";

const SELECT = `SELECT n, ${JOBS.selected}, bytes AS payload
  FROM jobs LEFT JOIN payloads USING(n)`;
const UNFINISHED = `status < ${FIRST_FINISHED}`;
/** Leaves out the jobs of a list of numbers, as JSON. */
const UNLISTED = "n NOT IN (SELECT value FROM json_each(?))";

const STATEMENTS = {
  insert: `INSERT INTO jobs${JOBS.inserted} ON CONFLICT DO NOTHING`,
  insertPayload: `INSERT INTO payloads VALUES(?, ?)
    ON CONFLICT(n) DO UPDATE SET bytes = excluded.bytes`,
  deletePayload: "DELETE FROM payloads WHERE n = ?",
  head: `SELECT n, ${JOBS.selected} FROM jobs WHERE owner = ? AND id = ?`,
  // If no blob id or error is given, the stored one stays.
  update: `UPDATE jobs SET version = version + 1, status = ?, attempts = ?,
    next_attempt_ms = ?, updated_ms = ?, payload_bytes = ?,
    blob_id = coalesce(?, blob_id),
    error = CASE ? WHEN 1 THEN ? ELSE error END WHERE n = ?`,
  addOpen: `INSERT INTO owners(owner, open_jobs, open_bytes) VALUES(?, ?, ?)
    ON CONFLICT(owner) DO UPDATE SET
    open_jobs = open_jobs + excluded.open_jobs,
    open_bytes = open_bytes + excluded.open_bytes`,
  get: `${SELECT} WHERE owner = ? AND id = ?`,
  due: `SELECT n, payload_bytes, next_attempt_ms FROM jobs
    WHERE ${UNFINISHED} AND next_attempt_ms <= ? AND ${UNLISTED}
    ORDER BY next_attempt_ms, n LIMIT ?`,
  one: `${SELECT} WHERE n = ?`,
  deleted: `${SELECT} WHERE ${IS_DELETED} AND next_attempt_ms <= ?
    ORDER BY next_attempt_ms LIMIT ?`,
  next: `SELECT next_attempt_ms AS ms FROM jobs
    WHERE ${UNFINISHED} AND ${UNLISTED} ORDER BY next_attempt_ms, n LIMIT 1`,
  open: `SELECT open_jobs AS jobs, open_bytes AS bytes FROM owners
    WHERE owner = ?`,
};

/** An instance's lease of a job. */
interface Lease {
  readonly instance: string;
  readonly untilMs: number;
  /** When the job's next attempt is due. */
  readonly nextAttemptMs: number;
}

/**
 * Reads and writes jobs, and keeps each owner's sums of unfinished ones. Leases
 * are in memory: one process has the file, and they end with it.
 */
export class JobRows {
  readonly #statements: Statements<typeof STATEMENTS>;
  readonly #isMember: (instance: string) => boolean;
  /** By the numbers of the jobs. */
  readonly #leases = new Map<number, Lease>();
  /** Jobs that a commit gives back which is being applied. */
  readonly #givenBack: number[] = [];

  /**
   * Prepares statements for an open database.
   *
   * @param isMember whether an instance lives
   */
  constructor(db: DatabaseSync, isMember: (instance: string) => boolean) {
    this.#statements = prepareAll(db, STATEMENTS);
    this.#isMember = isMember;
  }

  /** Adds a job; false when the owner has one of its id. */
  add({ payload, ...job }: NewJob, nowMs: number): boolean {
    const { insert, insertPayload, addOpen } = this.#statements;
    const status = STATUSES.indexOf(job.status);
    const { changes, lastInsertRowid } = insert.run(...JOBS.toValues({
      ...job,
      status,
      version: 1,
      attempts: 0,
      updatedAtMs: nowMs,
      payloadBytes: payload.length,
    }));
    if (Number(changes) === 0) return false;
    insertPayload.run(lastInsertRowid, payload);
    if (isUnfinished(status)) addOpen.run(job.owner, 1, payload.length);
    return true;
  }

  /** Changes a job; false unless it is of the expected version. */
  change(
    change: Extract<Change, { readonly kind: "job" }>,
    nowMs: number,
  ): boolean {
    const { owner, id, expectedVersion, patch } = change;
    const record = this.#statements.head.get(owner, id);
    if (record?.["version"] !== expectedVersion) return false;
    const head = JOBS.readRow(record);
    const n = Number(record["n"]);
    const status = patch.status === undefined
      ? head.status
      : STATUSES.indexOf(patch.status);
    const payloadBytes = this.#writePayload(n, patch.payload) ??
      head.payloadBytes;
    this.#statements.update.run(
      status,
      patch.attempts ?? head.attempts,
      patch.nextAttemptAtMs ?? head.nextAttemptAtMs,
      nowMs,
      payloadBytes,
      patch.blobId ?? null,
      patch.error === undefined ? 0 : 1,
      patch.error ?? null,
      n,
    );
    if (patch.nextAttemptAtMs !== undefined || !isUnfinished(status)) {
      this.#givenBack.push(n);
    }
    const before = countOpen(head);
    const after = countOpen({ status, payloadBytes });
    const jobs = after.jobs - before.jobs;
    const bytes = after.bytes - before.bytes;
    if (jobs !== 0 || bytes !== 0) {
      this.#statements.addOpen.run(owner, jobs, bytes);
    }
    return true;
  }

  /** An owner's job. */
  get(owner: string, id: string): JobRow | undefined {
    const record = this.#statements.get.get(owner, id);
    return record && this.#read(record);
  }

  /** Whether a request waits for an owner's job no longer. */
  isSettled({ owner, id }: JobName): boolean {
    const status = this.#statements.head.get(owner, id)?.["status"];
    return status === undefined || Number(status) >= FIRST_SETTLED;
  }

  /** Ends the leases that a commit ended, if all of it was applied. */
  settleCommit(isApplied: boolean): void {
    const given = this.#givenBack.splice(0);
    if (isApplied) { for (const n of given) this.#leases.delete(n); }
  }

  /** Takes due jobs for an instance; see {@linkcode RelayerStore.leaseJobs}. */
  lease(of: JobLeases): readonly JobRow[] {
    const { nowMs, dueMs = nowMs, limit, instance, leaseMs } = of;
    const { maxBytes = Infinity } = of;
    for (const [n, lease] of this.#leases) {
      const isDead = lease.instance !== instance &&
        !this.#isMember(lease.instance);
      if (isDead || lease.untilMs <= nowMs) this.#leases.delete(n);
    }
    const jobs: JobRow[] = [];
    let bytes = 0;
    const { due, one } = this.#statements;
    for (const head of due.all(dueMs, this.#listLeased(), limit)) {
      bytes += Number(head["payload_bytes"]);
      if (jobs.length > 0 && bytes > maxBytes) break;
      const n = Number(head["n"]);
      this.#leases.set(n, {
        ...{ instance, untilMs: nowMs + leaseMs },
        nextAttemptMs: Number(head["next_attempt_ms"]),
      });
      const record = one.get(n);
      if (record !== undefined) jobs.push(this.#read(record));
    }
    return jobs;
  }

  /** Deleted jobs that are due; see {@linkcode RelayerStore.deletedJobs}. */
  deleted(
    { nowMs, limit }: Parameters<RelayerStore["deletedJobs"]>[0],
  ): readonly JobRow[] {
    return this.#statements.deleted.all(nowMs, limit)
      .map((record) => this.#read(record));
  }

  /** Sets when leases end; see {@linkcode RelayerStore.renewLeases}. */
  renew(
    { instance, jobs, untilMs }: Parameters<RelayerStore["renewLeases"]>[0],
  ): void {
    for (const { owner, id } of jobs) {
      const n = Number(this.#statements.head.get(owner, id)?.["n"]);
      const lease = this.#leases.get(n);
      if (lease?.instance === instance) {
        this.#leases.set(n, { ...lease, untilMs });
      }
    }
  }

  /**
   * When the next attempt of any unfinished job is due, or its lease ends;
   * undefined if none is.
   */
  nextMs(): number | undefined {
    const ms = this.#statements.next.get(this.#listLeased())?.["ms"];
    const next = Math.min(
      typeof ms === "number" ? ms : Infinity,
      ...[...this.#leases.values()].map(({ untilMs, nextAttemptMs }) =>
        Math.max(untilMs, nextAttemptMs)
      ),
    );
    return next === Infinity ? undefined : next;
  }

  /**
   * How many jobs of an owner are unfinished, and the bytes of their payloads.
   */
  open(owner: string): { readonly jobs: number; readonly bytes: number } {
    const row = this.#statements.open.get(owner);
    return {
      jobs: Number(row?.["jobs"] ?? 0),
      bytes: Number(row?.["bytes"] ?? 0),
    };
  }

  /** The numbers of jobs with a lease, as JSON. */
  #listLeased(): string {
    return JSON.stringify([...this.#leases.keys()]);
  }

  #read(record: DatabaseRecord): JobRow {
    const lease = this.#leases.get(Number(record["n"]));
    return {
      ...readJob(record),
      leasedBy: lease?.instance,
      leasedUntilMs: lease?.untilMs,
    };
  }

  /**
   * Writes or deletes a payload; returns its length, undefined if unchanged.
   */
  #writePayload(
    n: number,
    payload: Uint8Array | null | undefined,
  ): number | undefined {
    if (payload === undefined) return undefined;
    if (payload === null) this.#statements.deletePayload.run(n);
    else this.#statements.insertPayload.run(n, payload);
    return payload?.length ?? 0;
  }
}

function countOpen(
  { status, payloadBytes: bytes }: Pick<StoredJob, "status" | "payloadBytes">,
): { readonly jobs: number; readonly bytes: number } {
  return isUnfinished(status) ? { jobs: 1, bytes } : { jobs: 0, bytes: 0 };
}
