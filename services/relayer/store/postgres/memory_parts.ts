/**
 * The parts of the statement of a group that are about the rows of memories and
 * the sums over them. The rows of the owners are locked before.
 *
 * @module
 */

import type { ChangeBuilder } from "./change_builder.ts";
import type { GroupedChanges } from "./commit_steps.ts";

/** Adds rows, and takes away their tombstones. */
export function addMemories(
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

/** Marks rows as replaced. */
export function addMarks(
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
export function addSums(builder: ChangeBuilder): void {
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
