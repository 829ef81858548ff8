/**
 * Reads the rows of memories, the feeds of their changes, and the sums of their
 * namespaces.
 *
 * @module
 */

import { GatheredCalls } from "../../concurrency/gathered_calls.ts";
import type { Pool } from "../../../shared/postgres/pool.ts";
import type { Row } from "../../../shared/postgres/session.ts";
import {
  MEMORIES,
  MEMORIES_BY_VECTOR,
  NAMESPACES,
  TOMBSTONES,
} from "../row_columns.ts";
import { cutFeed, type FeedBounds } from "../feed.ts";
import {
  type MemoryPage,
  type RelayerStore,
  StoreBusyError,
} from "../store.ts";
import { NamedRows, qualify } from "./named_rows.ts";

const SELECT = `SELECT ${MEMORIES.selected} FROM memories WHERE`;

/** A page of rows by their changes. */
const CHANGED = `${SELECT} owner = $1::text AND change > $2::bigint ` +
  "ORDER BY change LIMIT $3::bigint";

/**
 * The same with new vectors. Each row is in one half only, and each half is read
 * from an index.
 */
const CHANGED_OR_REINDEXED = `(${SELECT} owner = $1::text ` +
  "AND change > $2::bigint AND (reindexed_change IS NULL " +
  "OR reindexed_change < change) ORDER BY change LIMIT $3::bigint) " +
  `UNION ALL (SELECT ${MEMORIES_BY_VECTOR.selected} FROM memories ` +
  "WHERE owner = $1::text AND reindexed_change > $2::bigint " +
  "AND reindexed_change > change ORDER BY reindexed_change " +
  'LIMIT $3::bigint) ORDER BY "change" LIMIT $3::bigint';

/** Queries for heads at the same time; more would find no connection free. */
const PARALLEL_HEADS = 2;
/** When a call is tried again that was refused. */
const RETRY_MS = 1_000;

/** Reads rows. */
export class MemoryReads {
  readonly #pool: Pool;
  /** Rows by id. */
  readonly memories: RelayerStore["memories"];
  readonly #heads = new GatheredCalls<string, number>({
    run: (owners) => this.#readHeads(owners),
    busy: () => new StoreBusyError(RETRY_MS),
    maxParallel: PARALLEL_HEADS,
  });

  /** Takes the connections to use. */
  constructor(pool: Pool) {
    this.#pool = pool;
    this.memories = new NamedRows(pool, {
      table: "memories",
      columns: qualify(MEMORIES.selected, "memories"),
      read: (row) => MEMORIES.readRow(row),
    }).find;
  }

  /** Rows in pages by id. */
  scan: RelayerStore["scanMemories"] = async (
    { limit, afterId = "", owner },
  ) => {
    if (owner !== undefined) {
      const rows = await this.#pool.query(
        `${SELECT} owner = $1::text AND id > $2::text ` +
          "ORDER BY id LIMIT $3::bigint",
        [owner, afterId, limit],
      );
      return rows.map((row) => MEMORIES.readRow(row));
    }
    // The next page begins after the last id, so rows of other owners with the
    // same id are part of this page, beyond its limit.
    const rows = await this.#pool.query(
      `WITH page AS MATERIALIZED (SELECT id, owner FROM memories ` +
        "WHERE id > $1::text ORDER BY id, owner LIMIT $2::bigint), " +
        "last AS (SELECT id, owner FROM page ORDER BY id DESC, owner DESC " +
        "LIMIT 1), names AS (SELECT id, owner FROM page UNION ALL " +
        "SELECT twin.id, twin.owner FROM memories AS twin, last " +
        "WHERE twin.id = last.id AND twin.owner > last.owner) " +
        `SELECT ${
          qualify(MEMORIES.selected, "m")
        } FROM names JOIN memories AS m ` +
        "ON m.id = names.id AND m.owner = names.owner ORDER BY m.id, m.owner",
      [afterId, limit],
    );
    return rows.map((row) => MEMORIES.readRow(row));
  };

  /**
   * A number that no change of an owner's feeds exceeds. Calls of one turn share
   * a query; none gets the answer of a query that was sent before it.
   */
  head: RelayerStore["head"] = (owner) => this.#heads.call(owner);

  async #readHeads(owners: readonly string[]): Promise<readonly number[]> {
    const rows = await this.#pool.query(
      "SELECT owner, change FROM owners, numbering " +
        "WHERE owner = ANY($1::text[]) AND change > first_change",
      [[...new Set(owners)]],
    );
    const heads = new Map(
      rows.map((row) => [row["owner"], Number(row["change"])]),
    );
    return owners.map((owner) => heads.get(owner) ?? 0);
  }

  /** Rows in the order of their changes. */
  feed: RelayerStore["memoryFeed"] = (...of) => this.#page(CHANGED, ...of);

  /** Rows in the order of their changes, new vectors among them. */
  indexFeed: RelayerStore["indexFeed"] = (...of) =>
    this.#page(CHANGED_OR_REINDEXED, ...of);

  async #page(
    sql: string,
    ...[owner, query]: Parameters<RelayerStore["memoryFeed"]>
  ): Promise<MemoryPage> {
    const parameters = [owner, query.after?.change ?? 0, query.limit + 1];
    // All of it is read in one state of the database.
    const [bounds = [], rows = [], removed = []] = await this.#pool.transaction(
      (open) =>
        open.commit([
          {
            sql: "SELECT first_change AS first, " +
              "coalesce(change, first_change) AS last, " +
              "coalesce(swept_change, 0) AS swept, " +
              "coalesce(gaps, '{}') AS gaps FROM numbering " +
              "LEFT JOIN owners ON owner = $1::text",
            parameters: [owner],
          },
          { sql, parameters },
          {
            sql: `SELECT ${TOMBSTONES.selected} FROM tombstones ` +
              "WHERE owner = $1::text AND change > $2::bigint " +
              "ORDER BY change LIMIT $3::bigint",
            parameters,
          },
        ]),
      { isolation: "repeatable read" },
    );
    return cutFeed(query, {
      rows: rows.map((row) => MEMORIES.readRow(row)),
      removed: removed.map((row) => TOMBSTONES.readRow(row)),
      bounds: readBounds(bounds[0]),
    });
  }

  /** Namespaces in the order of their changes. */
  namespaces: RelayerStore["namespaceFeed"] = async (
    owner,
    { limit, after },
  ) => {
    const rows = await this.#pool.query(
      `SELECT ${NAMESPACES.selected} FROM namespaces ` +
        "WHERE owner = $1::text AND change > $2::bigint " +
        "ORDER BY change LIMIT $3::bigint",
      [owner, after?.change ?? 0, limit + 1],
    );
    return {
      namespaces: rows.slice(0, limit).map((row) => NAMESPACES.readRow(row)),
      hasMore: rows.length > limit,
    };
  };

  /** Memories and bytes of a namespace, or of all. */
  stats: RelayerStore["stats"] = async (owner, namespace) => {
    const [row] = await this.#pool.query(
      "SELECT coalesce(sum(memory_count), 0)::bigint AS memories, " +
        "coalesce(sum(storage_bytes), 0)::bigint AS bytes FROM namespaces " +
        "WHERE owner = $1::text" +
        (namespace === undefined ? "" : " AND name = $2::text"),
      namespace === undefined ? [owner] : [owner, namespace],
    );
    return {
      memories: Number(row?.["memories"]),
      bytes: Number(row?.["bytes"]),
    };
  };

  /** A page of owners by their addresses. */
  owners: RelayerStore["memoryOwners"] = async ({ limit, after = "" }) => {
    const rows = await this.#pool.query(
      "SELECT owner, sum(memory_count)::bigint AS memories FROM namespaces " +
        "WHERE owner > $1::text GROUP BY owner ORDER BY owner " +
        "LIMIT $2::bigint",
      [after, limit],
    );
    return rows.map((row) => ({
      owner: String(row["owner"]),
      memories: Number(row["memories"]),
    }));
  };

  /** How many memories all owners have, without superseded ones. */
  count: RelayerStore["memoryCount"] = async () => {
    const [row] = await this.#pool.query(
      "SELECT coalesce(sum(memory_count), 0)::bigint AS memories " +
        "FROM namespaces",
    );
    return Number(row?.["memories"]);
  };

  /** The delegates that wrote an owner's rows. */
  agents: RelayerStore["agents"] = async (owner) => {
    const rows = await this.#pool.query(
      "SELECT agent_id FROM agents WHERE owner = $1::text ORDER BY agent_id",
      [owner],
    );
    return rows.map((row) => String(row["agent_id"]));
  };
}

function readBounds(row: Row | undefined): FeedBounds {
  return {
    first: Number(row?.["first"]),
    last: Number(row?.["last"]),
    swept: Number(row?.["swept"]),
    gaps: (row?.["gaps"] ?? []) as readonly number[],
  };
}
