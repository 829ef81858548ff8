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
import { StatementBuilder } from "../../../shared/postgres/statement_builder.ts";
import type { Statement } from "../../../shared/postgres/transaction.ts";
import { FIRST_FINISHED, STATUSES } from "../row_columns.ts";
import type { GroupedChanges } from "./commit_steps.ts";

/** What a statement is built with. */
export interface StatementTime {
  /** The time, in milliseconds since the epoch. */
  readonly nowMs: number;
}

/**
 * Locks the rows of owners, in an order that rules out deadlocks, and takes as
 * many numbers from each as the transaction gives.
 */
export function lockStatement(
  owners: ReadonlyMap<string, number>,
): Statement {
  return {
    sql: "INSERT INTO owners AS there(owner, change) " +
      "SELECT of.owner, first_change + of.count FROM unnest($1::text[], " +
      "$2::bigint[]) AS of(owner, count), numbering ORDER BY of.owner " +
      "ON CONFLICT (owner) DO UPDATE SET change = there.change + " +
      "excluded.change - (SELECT first_change FROM numbering)",
    parameters: [[...owners.keys()], [...owners.values()]],
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
  { nowMs }: StatementTime,
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
  if (link !== undefined) addLink(builder, link);
  return builder.build();
}

/** Builds the statement of a group that is applied at an instant. */
class ChangeBuilder extends StatementBuilder {
  readonly #nowMs: number;
  #now: string | undefined;

  constructor(nowMs: number) {
    super();
    this.#nowMs = nowMs;
  }

  /** The instant. */
  get now(): string {
    this.#now ??= this.add(this.#nowMs, "bigint");
    return this.#now;
  }

  /** A parameter with bytes. */
  bytes(values: readonly (Uint8Array | null)[]): string {
    return this.add(values, "bytea[]");
  }

  /** A parameter with numbers that need not be whole. */
  floats(values: readonly (number | null)[]): string {
    return this.add(values, "double precision[]");
  }
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

function addMemories(
  builder: ChangeBuilder,
  { memories: changes }: GroupedChanges,
): void {
  if (changes.length === 0) return;
  const { now } = builder;
  const memories = changes.map(({ change }) => change.memory);
  const columns = "owner, id, namespace, blob_id, size_bytes, created_ms, " +
    "agent_id, package_id, importance, key_id, supersedes, sealed_index";
  builder.part(
    "added",
    `INSERT INTO memories(${columns}, updated_ms, change) ` +
      `SELECT ${columns.replaceAll(/\w+/g, "of.$&")}, ${now}, ` +
      "owners.change - of.back FROM unnest(" + [
      builder.texts(memories.map(({ owner }) => owner)),
      builder.texts(memories.map(({ id }) => id)),
      builder.texts(memories.map(({ namespace }) => namespace)),
      builder.texts(memories.map(({ blobId }) => blobId)),
      builder.numbers(memories.map(({ sizeBytes }) => sizeBytes), "bigint"),
      builder.numbers(memories.map((of) => of.createdAtMs), "bigint"),
      builder.texts(memories.map(({ agentId }) => agentId)),
      builder.texts(memories.map(({ packageId }) => packageId)),
      builder.add(memories.map((of) => of.importance), "double precision[]"),
      builder.texts(memories.map(({ keyId }) => keyId ?? null)),
      builder.texts(memories.map(({ supersedes }) => supersedes ?? null)),
      builder.bytes(memories.map(({ sealedIndex }) => sealedIndex)),
      builder.numbers(changes.map(({ back }) => back), "bigint"),
    ].join(", ") + `) AS of(${columns}, back) ` +
      "JOIN owners ON owners.owner = of.owner ON CONFLICT DO NOTHING " +
      "RETURNING owner, id, namespace, size_bytes, agent_id, change",
  );
  // A client that has not read the removal needs only the new row.
  builder.part(
    "unburied",
    "DELETE FROM tombstones AS there USING added " +
      "WHERE there.owner = added.owner AND there.id = added.id",
  );
  builder.part(
    "wrote",
    "INSERT INTO agents AS there(owner, agent_id, row_count) " +
      "SELECT owner, agent_id, count(*) FROM added " +
      "WHERE agent_id IS NOT NULL GROUP BY owner, agent_id " +
      "ON CONFLICT (owner, agent_id) " +
      "DO UPDATE SET row_count = there.row_count + excluded.row_count",
  );
  builder.counted.push(
    "SELECT owner, namespace, 1 AS rows, 1 AS memories, " +
      "size_bytes AS bytes, change FROM added",
  );
}

function addMarks(
  builder: ChangeBuilder,
  { marks }: GroupedChanges,
): void {
  if (marks.length === 0) return;
  const { now } = builder;
  builder.part(
    "marked",
    "SELECT there.owner, there.id, there.namespace, of.superseded_by, " +
      "there.superseded_by IS NULL AS counted, " +
      "owners.change - of.back AS change FROM unnest(" + [
      builder.texts(marks.map(({ change }) => change.owner)),
      builder.texts(marks.map(({ change }) => change.id)),
      builder.texts(marks.map(({ change }) => change.supersededBy)),
      builder.numbers(marks.map(({ back }) => back), "bigint"),
    ].join(", ") + ") AS of(owner, id, superseded_by, back) " +
      "JOIN memories AS there ON there.owner = of.owner AND there.id = of.id " +
      "JOIN owners ON owners.owner = of.owner " +
      "WHERE there.superseded_by IS DISTINCT FROM of.superseded_by",
  );
  builder.part(
    "superseded",
    "UPDATE memories AS there SET superseded_by = marked.superseded_by, " +
      `updated_ms = ${now}, change = marked.change FROM marked ` +
      "WHERE there.owner = marked.owner AND there.id = marked.id",
  );
  builder.counted.push(
    "SELECT owner, namespace, 0 AS rows, " +
      "CASE WHEN counted THEN -1 ELSE 0 END AS memories, 0 AS bytes, change " +
      "FROM marked",
  );
}

/** Adds what the parts have changed to the sums of namespaces. */
function addSums(builder: ChangeBuilder): void {
  const { counted } = builder;
  if (counted.length === 0) return;
  const { now } = builder;
  builder.part(
    "summed",
    "INSERT INTO namespaces AS there(owner, name, row_count, memory_count, " +
      "storage_bytes, updated_ms, change) SELECT owner, namespace, sum(rows), " +
      `sum(memories), sum(bytes), ${now}, max(change) ` +
      `FROM (${counted.join(" UNION ALL ")}) AS sums ` +
      "GROUP BY owner, namespace ON CONFLICT (owner, name) DO UPDATE SET " +
      "row_count = there.row_count + excluded.row_count, " +
      "memory_count = there.memory_count + excluded.memory_count, " +
      "storage_bytes = there.storage_bytes + excluded.storage_bytes, " +
      "updated_ms = greatest(there.updated_ms, excluded.updated_ms), " +
      "change = excluded.change",
  );
}
