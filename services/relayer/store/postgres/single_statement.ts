/**
 * Builds the statements of changes that are applied one by one: removals, new
 * vectors and blobs of rows, and snapshots.
 *
 * @module
 */

import type { Statement } from "../../../shared/postgres/transaction.ts";
import type { ChangeOf, Numbered, SingleChange } from "./commit_steps.ts";
import type { StatementTime } from "./group_statement.ts";

/** Builds the statement of a change; the owner's row is locked before. */
export function singleStatement(
  { change, back }: Numbered<SingleChange>,
  { nowMs, maxRows }: StatementTime & {
    /** Most rows of a namespace that are removed; undefined for all. */
    readonly maxRows?: number | undefined;
  },
): Statement {
  switch (change.kind) {
    case "reindex":
      // A snapshot may hold words that the new entry is to be without, so it
      // goes, as it does with a removal.
      return {
        sql: "WITH put AS (UPDATE memories AS there " +
          "SET sealed_index = $3::bytea, " +
          "reindexed_change = owners.change - $4::bigint FROM owners " +
          "WHERE owners.owner = $1::text AND there.owner = $1::text " +
          "AND there.id = $2::text RETURNING reindexed_change), " +
          "dropped AS (DELETE FROM index_snapshots WHERE owner = $1::text) " +
          "UPDATE owners SET cut_change = put.reindexed_change FROM put " +
          "WHERE owner = $1::text",
        parameters: [change.owner, change.id, change.sealedIndex, back],
      };
    case "move_blob":
      return moveStatement(change, { back, nowMs });
    case "remove_memory":
      return removalStatement("id = $4::text", {
        ...{ back: back + 1, nowMs, owner: change.owner },
        of: [change.id],
      });
    case "remove_namespace":
      return removalStatement(
        "id = ANY(ARRAY(SELECT id FROM memories WHERE owner = $1::text " +
          "AND namespace = $4::text ORDER BY id LIMIT $5::bigint))",
        {
          ...{ back, nowMs, owner: change.owner },
          of: [change.namespace, maxRows ?? null],
        },
      );
    case "begin_snapshot":
      return beginStatement(change, { back, nowMs });
    case "snapshot_part":
      return {
        sql: "INSERT INTO snapshot_parts(name, part, bytes) VALUES($1::text, " +
          "$2::integer, $3::bytea) ON CONFLICT (name, part) " +
          "DO UPDATE SET bytes = excluded.bytes",
        parameters: [change.part.name, change.part.part, change.part.bytes],
      };
    case "end_snapshot":
      return change.parts === 0
        ? {
          sql: "DELETE FROM index_snapshots " +
            "WHERE owner = $1::text AND name = $2::text",
          parameters: [change.owner, change.name],
        }
        : {
          sql: "UPDATE index_snapshots SET parts = $3::integer " +
            "WHERE owner = $1::text AND name = $2::text",
          parameters: [change.owner, change.name, change.parts],
        };
  }
}

function moveStatement(
  { owner, id, fromBlobId, blobId, sizeBytes }: ChangeOf<"move_blob">,
  { back, nowMs }: StatementTime & { readonly back: number },
): Statement {
  return {
    sql: "WITH before AS (SELECT namespace, size_bytes, " +
      "owners.change - $7::bigint AS change FROM memories " +
      "JOIN owners USING(owner) WHERE owner = $1::text AND id = $2::text " +
      "AND blob_id = $3::text), " +
      "moved AS (UPDATE memories AS there SET blob_id = $4::text, " +
      "size_bytes = $5::bigint, updated_ms = $6::bigint, " +
      "change = before.change FROM before " +
      "WHERE there.owner = $1::text AND there.id = $2::text) " +
      "UPDATE namespaces AS there SET change = before.change, " +
      "storage_bytes = there.storage_bytes + $5::bigint - before.size_bytes, " +
      "updated_ms = greatest(there.updated_ms, $6::bigint) FROM before " +
      "WHERE there.owner = $1::text AND there.name = before.namespace",
    parameters: [owner, id, fromBlobId, blobId, sizeBytes, nowMs, back],
  };
}

/**
 * Removes rows, leaves their tombstones, and takes them from the sums.
 *
 * @param which the condition of the rows; its parameters are $4 and the next
 */
function removalStatement(
  which: string,
  { owner, back, nowMs, of }: StatementTime & {
    readonly owner: string;
    /** That of the number before the first. */
    readonly back: number;
    readonly of: readonly (string | number | null)[];
  },
): Statement {
  return {
    sql: "WITH gone AS (DELETE FROM memories WHERE owner = $1::text " +
      `AND ${which} RETURNING id, namespace, size_bytes, agent_id, ` +
      "superseded_by), " +
      "numbered AS (SELECT gone.*, owners.change - $3::bigint + " +
      "row_number() OVER (ORDER BY id) AS change FROM gone, owners " +
      "WHERE owners.owner = $1::text), " +
      "buried AS (INSERT INTO tombstones(owner, id, namespace, deleted_ms, " +
      "change) SELECT $1::text, id, namespace, $2::bigint, change " +
      "FROM numbered ON CONFLICT (owner, id) DO UPDATE SET " +
      "namespace = excluded.namespace, deleted_ms = excluded.deleted_ms, " +
      "change = excluded.change), " +
      "sums AS (SELECT namespace, count(*) AS rows, " +
      "count(*) FILTER (WHERE superseded_by IS NULL) AS memories, " +
      "sum(size_bytes) AS bytes, max(change) AS change FROM numbered " +
      "GROUP BY namespace), " +
      "emptied AS (DELETE FROM namespaces AS there USING sums " +
      "WHERE there.owner = $1::text AND there.name = sums.namespace " +
      "AND there.row_count <= sums.rows), " +
      "lowered AS (UPDATE namespaces AS there SET change = sums.change, " +
      "row_count = there.row_count - sums.rows, " +
      "memory_count = there.memory_count - sums.memories, " +
      "storage_bytes = there.storage_bytes - sums.bytes, " +
      "updated_ms = greatest(there.updated_ms, $2::bigint) FROM sums " +
      "WHERE there.owner = $1::text AND there.name = sums.namespace " +
      "AND there.row_count > sums.rows), " +
      "writers AS (SELECT agent_id, count(*) AS rows FROM gone " +
      "WHERE agent_id IS NOT NULL GROUP BY agent_id), " +
      "left_out AS (DELETE FROM agents AS there USING writers " +
      "WHERE there.owner = $1::text AND there.agent_id = writers.agent_id " +
      "AND there.row_count <= writers.rows), " +
      "wrote_less AS (UPDATE agents AS there SET " +
      "row_count = there.row_count - writers.rows FROM writers " +
      "WHERE there.owner = $1::text AND there.agent_id = writers.agent_id " +
      "AND there.row_count > writers.rows), " +
      "dropped AS (DELETE FROM index_snapshots WHERE owner = $1::text " +
      "AND EXISTS(SELECT 1 FROM gone)) " +
      "UPDATE owners SET cut_change = (SELECT max(change) FROM numbered) " +
      "WHERE owner = $1::text AND EXISTS(SELECT 1 FROM gone)",
    parameters: [owner, nowMs, back, ...of],
  };
}

/**
 * Begins a snapshot unless its index lacks a removal, is of another database, or
 * has commits that were lost with a server.
 */
function beginStatement(
  { owner, name, change }: ChangeOf<"begin_snapshot">,
  { back, nowMs }: StatementTime & { readonly back: number },
): Statement {
  return {
    sql: "WITH head AS (SELECT change - $4::bigint AS last, " +
      "greatest(cut_change, swept_change, first_change) AS least, gaps " +
      "FROM owners, numbering WHERE owner = $1::text) INSERT INTO index_snapshots(owner, name, " +
      "change, parts, begun_ms) SELECT $1::text, $2::text, " +
      "coalesce($3::bigint, last), 0, $5::bigint FROM head " +
      "WHERE coalesce($3::bigint, last) BETWEEN least AND last " +
      "AND NOT EXISTS(SELECT FROM generate_series(1, cardinality(gaps), 2) " +
      "AS at WHERE gaps[at] < $3::bigint AND $3::bigint < gaps[at + 1]) " +
      "ON CONFLICT (owner) DO UPDATE SET name = excluded.name, " +
      "change = excluded.change, parts = 0, begun_ms = excluded.begun_ms",
    parameters: [owner, name, change ?? null, back, nowMs],
  };
}
