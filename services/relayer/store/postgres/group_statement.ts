/**
 * Builds the statement that applies a group of changes: all of them, or none
 * where one of them conflicts.
 *
 * @module
 */

import {
  addLink,
  type GroupLink,
} from "../../../shared/postgres/group_link.ts";
import { UNAWAITED } from "../../../shared/postgres/pool.ts";
import type { Statement } from "../../../shared/postgres/transaction.ts";
import { FIRST_FINISHED, STATUSES } from "../row_columns.ts";
import { ChangeBuilder } from "./change_builder.ts";
import { type GroupedChanges, toSteps } from "./commit_steps.ts";
import type { Change } from "../changes.ts";
import { addMarks, addMemories, addSums } from "./memory_parts.ts";

/** What a statement is built with. */
export interface StatementTime {
  /** The time, in milliseconds since the epoch. */
  readonly nowMs: number;
}

/**
 * Numbers are made of the time where they begin, so that they are above all that
 * a lost server has given.
 */
const NUMBERS_PER_MS = 1_024;
/** Bounds of gaps that an owner's row keeps; positions before them are too old. */
const MAX_BOUNDS = 32;
/** Tells servers, and lives of a server, apart, whatever a role may see. */
const SERVER =
  "(extract(epoch FROM pg_postmaster_start_time()) * 1000000)::bigint";
const IS_SAME = "there.server = excluded.server";
/**
 * Where another server goes on. A gap of a billion is more than any server can
 * have lost, also where clocks differ.
 */
const NEXT = "greatest(there.change + 1073741824, excluded.swept_change)";

const LOCK = `INSERT INTO owners AS there(owner, change, swept_change, server)
  SELECT of.owner, start + of.count, start, ${SERVER}
  FROM unnest($1::text[], $2::bigint[]) AS of(owner, count),
    (SELECT greatest(first_change, $3::bigint) AS start FROM numbering) AS first
  ORDER BY of.owner
  ON CONFLICT (owner) DO UPDATE SET
    change = CASE WHEN ${IS_SAME} THEN there.change ELSE ${NEXT} END +
      excluded.change - excluded.swept_change,
    server = excluded.server,
    gaps = CASE WHEN ${IS_SAME} THEN there.gaps ELSE
      there.gaps[greatest(1, cardinality(there.gaps) - ${MAX_BOUNDS - 3}):] ||
      ARRAY[there.change, ${NEXT}] END,
    swept_change = CASE WHEN ${IS_SAME}
      OR cardinality(there.gaps) < ${MAX_BOUNDS} THEN there.swept_change
      ELSE greatest(there.swept_change, there.gaps[2]) END`;

/**
 * Locks the rows of owners, in an order that rules out deadlocks, and takes as
 * many numbers from each as the transaction gives. A server that was promoted
 * may lack the last commits of the one before it: it gives none of the numbers
 * between, so that a reader who has seen those commits is told to read again.
 */
export function lockStatement(
  owners: ReadonlyMap<string, number>,
  { nowMs }: StatementTime,
): Statement {
  return {
    sql: LOCK,
    parameters: [
      ...[[...owners.keys()], [...owners.values()]],
      Math.floor(nowMs) * NUMBERS_PER_MS,
    ],
  };
}

/**
 * Builds the statement of a group.
 *
 * @param link its place among the groups of a connection, if the statement is
 * all there is and is sent while the one before it is under way
 */
export function groupStatement(
  changes: GroupedChanges,
  { nowMs, isUnawaited = false }: StatementTime & {
    /** Whether its commit waits for nothing. @default {false} */
    readonly isUnawaited?: boolean;
  },
  link?: GroupLink,
): Statement {
  const builder = new ChangeBuilder(nowMs);
  addJobs(builder, changes);
  addPatches(builder, changes);
  addClaims(builder, changes);
  addNonces(builder, changes);
  addPoints(builder, changes);
  addBadBlobs(builder, changes);
  addMemories(builder, changes);
  addMarks(builder, changes);
  addSums(builder);
  if (isUnawaited) builder.demandThat(UNAWAITED);
  if (link !== undefined) addLink(builder, link);
  return builder.build();
}

/**
 * Builds the statements of changes without an owner, each a transaction whose
 * commit waits neither for the disk nor for a standby.
 */
export function unawaitedStatements(
  changes: readonly Change[],
  time: StatementTime,
): readonly Statement[] {
  return toSteps(changes).steps.flatMap((step) =>
    step.kind === "group"
      ? [groupStatement(step.changes, { ...time, isUnawaited: true })]
      : []
  );
}

function addJobs(
  builder: ChangeBuilder,
  { jobs: changes }: GroupedChanges,
): void {
  if (changes.length === 0) return;
  const { now } = builder;
  const jobs = changes.map(({ job }) => job);
  const status = "of.status";
  builder.part(
    "added_jobs",
    "INSERT INTO jobs(owner, id, version, status, attempts, next_attempt_ms, " +
      "created_ms, updated_ms, finished_ms, payload_bytes, importance, " +
      "namespace, agent_id, key_id, supersedes, content_hash, payload) " +
      `SELECT owner, id, 1, ${status}, 0, next_ms, created_ms, ${now}, ` +
      `CASE WHEN ${status} >= ${FIRST_FINISHED} THEN ${now} END, ` +
      "length(payload), importance, namespace, agent_id, key_id, " +
      "supersedes, content_hash, payload FROM unnest(" + [
      builder.texts(jobs.map(({ owner }) => owner)),
      builder.texts(jobs.map(({ id }) => id)),
      builder.numbers(
        jobs.map(({ status }) => STATUSES.indexOf(status)),
        "smallint",
      ),
      builder.numbers(jobs.map((of) => of.nextAttemptAtMs), "bigint"),
      builder.numbers(jobs.map((of) => of.createdAtMs), "bigint"),
      builder.add(jobs.map((of) => of.importance), "double precision[]"),
      builder.texts(jobs.map(({ namespace }) => namespace)),
      builder.texts(jobs.map(({ agentId }) => agentId)),
      builder.texts(jobs.map(({ keyId }) => keyId)),
      builder.texts(jobs.map(({ supersedes }) => supersedes ?? null)),
      builder.texts(jobs.map(({ contentHash }) => contentHash ?? null)),
      builder.bytes(jobs.map(({ payload }) => payload)),
    ].join(", ") +
      ") AS of(owner, id, status, next_ms, created_ms, importance, " +
      "namespace, agent_id, key_id, supersedes, content_hash, payload)",
  );
}

function addPatches(
  builder: ChangeBuilder,
  { patches: changes }: GroupedChanges,
): void {
  if (changes.length === 0) return;
  const { now } = builder;
  const patches = changes.map(({ patch }) => patch);
  const isFinished = "coalesce(of.status, there.status) >= " +
    String(FIRST_FINISHED);
  const isGivenBack = `of.next_ms IS NOT NULL OR ${isFinished}`;
  builder.part(
    "changed_jobs",
    "UPDATE jobs AS there SET version = there.version + 1, " +
      "status = coalesce(of.status, there.status), " +
      "attempts = coalesce(of.attempts, there.attempts), " +
      "next_attempt_ms = coalesce(of.next_ms, there.next_attempt_ms), " +
      `updated_ms = ${now}, ` +
      `finished_ms = CASE WHEN ${isFinished} THEN ${now} END, ` +
      `leased_by = CASE WHEN ${isGivenBack} THEN NULL ` +
      "ELSE there.leased_by END, " +
      `leased_until_ms = CASE WHEN ${isGivenBack} THEN NULL ` +
      "ELSE there.leased_until_ms END, " +
      "blob_id = coalesce(of.blob_id, there.blob_id), " +
      "error = CASE WHEN of.has_error THEN of.error ELSE there.error END, " +
      "payload_bytes = CASE WHEN of.has_payload " +
      "THEN coalesce(length(of.payload), 0) ELSE there.payload_bytes END, " +
      "payload = CASE WHEN of.has_payload THEN of.payload " +
      "ELSE there.payload END FROM unnest(" + [
      builder.texts(changes.map(({ owner }) => owner)),
      builder.texts(changes.map(({ id }) => id)),
      builder.numbers(changes.map((of) => of.expectedVersion), "integer"),
      builder.numbers(
        patches.map(({ status }) =>
          status === undefined ? null : STATUSES.indexOf(status)
        ),
        "smallint",
      ),
      builder.numbers(patches.map((of) => of.attempts ?? null), "integer"),
      builder.numbers(
        patches.map((of) => of.nextAttemptAtMs ?? null),
        "bigint",
      ),
      builder.texts(patches.map(({ blobId }) => blobId ?? null)),
      builder.add(patches.map((of) => of.error !== undefined), "boolean[]"),
      builder.texts(patches.map(({ error }) => error ?? null)),
      builder.add(patches.map((of) => of.payload !== undefined), "boolean[]"),
      builder.bytes(patches.map(({ payload }) => payload ?? null)),
    ].join(", ") +
      ") AS of(owner, id, version, status, attempts, next_ms, blob_id, " +
      "has_error, error, has_payload, payload) WHERE there.owner = of.owner " +
      "AND there.id = of.id AND there.version = of.version RETURNING 1",
  );
  builder.demand("changed_jobs", changes.length);
}

function addClaims(
  builder: ChangeBuilder,
  { claims: changes }: GroupedChanges,
): void {
  if (changes.length === 0) return;
  const { now } = builder;
  const claims = changes.map(({ claim }) => claim);
  builder.part(
    "claimed",
    "INSERT INTO key_claims AS there(owner, key, fingerprint, job_ids, " +
      "expires_ms) SELECT * FROM unnest(" + [
      builder.texts(claims.map(({ owner }) => owner)),
      builder.texts(claims.map(({ key }) => key)),
      builder.texts(claims.map(({ fingerprint }) => fingerprint)),
      builder.texts(claims.map(({ jobIds }) => JSON.stringify(jobIds))),
      builder.numbers(claims.map((of) => of.expiresAtMs), "bigint"),
    ].join(", ") +
      ") ON CONFLICT (owner, key) DO UPDATE SET " +
      "fingerprint = excluded.fingerprint, job_ids = excluded.job_ids, " +
      "expires_ms = excluded.expires_ms " +
      `WHERE there.expires_ms <= ${now} RETURNING 1`,
  );
  builder.demand("claimed", claims.length);
}

function addNonces(
  builder: ChangeBuilder,
  { nonces }: GroupedChanges,
): void {
  if (nonces.length === 0) return;
  const { now } = builder;
  builder.part(
    "noted",
    "INSERT INTO nonces AS there(nonce, expires_ms) SELECT * FROM unnest(" +
      [
        builder.texts(nonces.map(({ nonce }) => nonce)),
        builder.numbers(nonces.map((of) => of.expiresAtMs), "bigint"),
      ].join(", ") +
      // In the same order everywhere, so that replays do not wait in a circle.
      ") AS of(nonce, expires_ms) ORDER BY nonce ON CONFLICT (nonce) " +
      "DO UPDATE SET expires_ms = excluded.expires_ms " +
      `WHERE there.expires_ms <= ${now} RETURNING 1`,
  );
  builder.demand("noted", nonces.length);
}

function addPoints(
  builder: ChangeBuilder,
  { points }: GroupedChanges,
): void {
  if (points.length === 0) return;
  const windows = points.map(({ window }) => window);
  builder.part(
    "spent",
    "INSERT INTO rate_windows AS there(minute, name, points) " +
      "SELECT minute, name, sum(points) FROM unnest(" + [
      builder.numbers(windows.map(({ minute }) => minute), "bigint"),
      builder.texts(windows.map(({ name }) => name)),
      builder.add(windows.map(({ points }) => points), "double precision[]"),
    ].join(", ") +
      ") AS of(minute, name, points) GROUP BY minute, name " +
      "ORDER BY minute, name ON CONFLICT (minute, name) " +
      "DO UPDATE SET points = there.points + excluded.points",
  );
}

function addBadBlobs(
  builder: ChangeBuilder,
  { badBlobs }: GroupedChanges,
): void {
  if (badBlobs.length === 0) return;
  builder.part(
    "bad",
    "INSERT INTO bad_blobs(owner, blob_id) SELECT * FROM unnest(" + [
      builder.texts(badBlobs.map(({ owner }) => owner)),
      builder.texts(badBlobs.map(({ blobId }) => blobId)),
    ].join(", ") + ") ON CONFLICT DO NOTHING",
  );
}
