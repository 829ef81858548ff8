/**
 * The catalogue of blobs in a schema of PostgreSQL, which several relayers use.
 *
 * @module
 */

import type {
  BlobCatalog,
  CatalogEntry,
  MovedBlob,
  NewCatalogEntry,
} from "../blobs/blob_store.ts";
import { GatheredCalls } from "../concurrency/gathered_calls.ts";
import { asStore } from "../../shared/postgres/failure.ts";
import { commitToDisk, type Pool } from "../../shared/postgres/pool.ts";
import type { Rows } from "../../shared/postgres/session.ts";
import type { Statement } from "../../shared/postgres/transaction.ts";
import type { SqlParameter } from "../../shared/postgres/values.ts";
import { StoreBusyError } from "../store/store.ts";

/** A row of the catalogue, with the memory that replaced it. */
interface CatalogRow {
  readonly owner: string;
  readonly memory_id: string;
  readonly namespace: string;
  readonly blob_id: string;
  readonly created_ms: number;
  readonly agent_id: string;
  readonly size_bytes: number;
  readonly sealed_index: Uint8Array | null;
  readonly importance: number | null;
  readonly supersedes: string | null;
  readonly memory_secret: Uint8Array | null;
  readonly replaced_by: string | null;
}

type MemoryName = Pick<CatalogEntry, "owner" | "memoryId">;

/** A change that may share a commit with others. */
type CatalogChange =
  | { readonly kind: "add"; readonly entry: NewCatalogEntry }
  | ({ readonly kind: "remove" } & MemoryName);

const MAX_CHANGES = 200;
const MAX_GROUP_BYTES = 1_048_576;
const MAX_WAITING = 20_000;
const MAX_WAITING_BYTES = 64 * 1_048_576;
const RETRY_MS = 1_000;
/** About how many bytes an entry takes beside its sealed index. */
const ENTRY_BYTES = 512;

const NAMES = "unnest($1::text[], $2::text[]) AS told(owner, memory_id)";
const SELECT = `SELECT there.*, replaced_by FROM catalog AS there
  LEFT JOIN replacements USING (owner, memory_id) WHERE there.owner = $1::text`;
const NEWEST = "ORDER BY created_ms DESC, memory_id DESC LIMIT $3::bigint";

const SQL = {
  add: `INSERT INTO catalog(owner, memory_id, namespace, blob_id, created_ms,
      agent_id, size_bytes, sealed_index, importance, supersedes, memory_secret)
    SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::text[],
      $5::bigint[], $6::text[], $7::bigint[], $8::bytea[],
      $9::double precision[], $10::text[], $11::bytea[])
    ON CONFLICT (owner, memory_id) DO NOTHING`,
  replace: `INSERT INTO replacements(owner, memory_id, replaced_by)
    SELECT * FROM unnest($1::text[], $2::text[], $3::text[])
    ON CONFLICT (owner, memory_id) DO UPDATE
      SET replaced_by = excluded.replaced_by`,
  move: `UPDATE catalog SET blob_id = $3::text, size_bytes = $4::bigint,
      memory_secret = $5::bytea,
      sealed_index = coalesce($6::bytea, sealed_index)
    WHERE owner = $1::text AND memory_id = $2::text`,
  remove: `DELETE FROM catalog AS there USING ${NAMES}
    WHERE there.owner = told.owner AND there.memory_id = told.memory_id`,
  removeReplacement: `DELETE FROM replacements AS there USING ${NAMES}
    WHERE there.owner = told.owner AND there.memory_id = told.memory_id`,
  newest: `${SELECT} AND namespace = $2::text ${NEWEST}`,
  before: `${SELECT} AND namespace = $2::text
    AND (created_ms, memory_id) < ($4::bigint, $5::text) ${NEWEST}`,
  one: `${SELECT} AND there.memory_id = $2::text`,
  holders: `SELECT count(*) AS holders FROM catalog
    WHERE blob_id = $1::text`,
};

/** Keeps the catalogue in a database. */
export class PostgresCatalog implements BlobCatalog {
  readonly #pool: Pool;
  readonly #demandDurable: () => void;
  readonly #changes: GatheredCalls<CatalogChange, void>;

  /**
   * Uses the tables, which are there.
   *
   * @param pool connections whose search path is the schema; its opener closes
   * them
   * @param demandDurable throws where a write would not be as durable as
   * promised
   */
  constructor(pool: Pool, demandDurable: () => void = () => {}) {
    this.#pool = pool;
    this.#demandDurable = demandDurable;
    this.#changes = new GatheredCalls({
      run: (changes) => this.#change(changes),
      maxGroup: MAX_CHANGES,
      weigh: (change) =>
        ENTRY_BYTES +
        (change.kind === "add" ? change.entry.sealedIndex?.length ?? 0 : 0),
      maxGroupWeight: MAX_GROUP_BYTES,
      maxWaiting: MAX_WAITING,
      maxWaitingWeight: MAX_WAITING_BYTES,
      busy: () => new StoreBusyError(RETRY_MS),
    });
  }

  /** Adds an entry, and notes which memory it replaces, in one commit. */
  async add(entry: NewCatalogEntry): Promise<void> {
    await asStore(() => this.#changes.call({ kind: "add", entry }));
  }

  /** Replaces the blob in a memory's entry. */
  async move(
    owner: string,
    memoryId: string,
    { blobId, sizeBytes, memorySecret, sealedIndex }: MovedBlob,
  ): Promise<void> {
    const parameters = [
      ...[owner, memoryId, blobId, sizeBytes],
      ...[memorySecret ?? null, sealedIndex ?? null],
    ];
    this.#demandDurable();
    await asStore(() =>
      commitToDisk(this.#pool, [{ sql: SQL.move, parameters }])
    );
  }

  /**
   * Removes an entry with its secret. A memory that it replaced stays replaced.
   */
  async remove(owner: string, memoryId: string): Promise<void> {
    await asStore(() =>
      this.#changes.call({ kind: "remove", owner, memoryId })
    );
  }

  /** Returns the entry of a memory; undefined when there is none. */
  async findEntry(
    owner: string,
    memoryId: string,
  ): Promise<CatalogEntry | undefined> {
    const [row] = await this.#query<CatalogRow>(SQL.one, [owner, memoryId]);
    return row && readEntry(row);
  }

  /** How many memories, of any owner, have a blob. */
  async countHolders(blobId: string): Promise<number> {
    const [row] = await this.#query<{ holders: number }>(SQL.holders, [blobId]);
    return row?.holders ?? 0;
  }

  /** Blobs of a namespace, the newest first, by (created, memory id). */
  async list(
    owner: string,
    { namespace, limit, after }: Parameters<BlobCatalog["list"]>[1],
  ): Promise<readonly CatalogEntry[]> {
    const first = [owner, namespace, limit];
    const rows = after === undefined
      ? await this.#query<CatalogRow>(SQL.newest, first)
      : await this.#query<CatalogRow>(SQL.before, [
        ...first,
        ...[after.createdAtMs, after.memoryId],
      ]);
    return rows.map(readEntry);
  }

  /** Writes what waits, and leaves the connections open. */
  async close(): Promise<void> {
    await this.#changes.idle();
  }

  /**
   * Makes changes in one commit: additions, then removals, so that an entry
   * that is removed meanwhile does not come back.
   */
  async #change(changes: readonly CatalogChange[]): Promise<readonly void[]> {
    const added = changes.flatMap((change) =>
      change.kind === "add" ? [change.entry] : []
    );
    const removed = changes
      .flatMap((change) => change.kind === "remove" ? [change] : [])
      .toSorted(byName);
    // The last one of those that replace the same memory.
    const replaced = new Map(
      added.flatMap(({ owner, memoryId, supersedes }) =>
        supersedes === undefined
          ? []
          : [[`${owner} ${supersedes}`, [owner, supersedes, memoryId] as const]]
      ),
    );
    const replacements = [...replaced.keys()].toSorted().flatMap((name) => {
      const row = replaced.get(name);
      return row === undefined ? [] : [row];
    });
    const names = [
      removed.map(({ owner }) => owner),
      removed.map(({ memoryId }) => memoryId),
    ];
    const statements: readonly Statement[] = [
      { sql: SQL.add, parameters: columnsOf(added.toSorted(byName)) },
      {
        sql: SQL.replace,
        parameters: [0, 1, 2].map((at) =>
          replacements.map((row) => row[at] ?? "")
        ),
      },
      { sql: SQL.remove, parameters: names },
      { sql: SQL.removeReplacement, parameters: names },
    ];
    this.#demandDurable();
    await commitToDisk(
      this.#pool,
      statements.filter(({ parameters: [first] = [] }) =>
        Array.isArray(first) && first.length > 0
      ),
    );
    return changes.map(() => undefined);
  }

  #query<R extends object>(
    sql: string,
    parameters: readonly SqlParameter[],
  ): Promise<Rows<R>> {
    return asStore(() => this.#pool.query<R>(sql, parameters));
  }
}

/** Entries as columns, in the order of the statement. */
function columnsOf(entries: readonly NewCatalogEntry[]): SqlParameter[] {
  return [
    entries.map(({ owner }) => owner),
    entries.map(({ memoryId }) => memoryId),
    entries.map(({ namespace }) => namespace),
    entries.map(({ blobId }) => blobId),
    entries.map(({ createdAtMs }) => createdAtMs),
    entries.map(({ agentId }) => agentId),
    entries.map(({ sizeBytes }) => sizeBytes),
    entries.map(({ sealedIndex = null }) => sealedIndex),
    entries.map(({ importance = null }) => importance),
    entries.map(({ supersedes = null }) => supersedes),
    entries.map(({ memorySecret = null }) => memorySecret),
  ];
}

function readEntry(row: CatalogRow): CatalogEntry {
  return {
    owner: row.owner,
    memoryId: row.memory_id,
    namespace: row.namespace,
    blobId: row.blob_id,
    createdAtMs: row.created_ms,
    agentId: row.agent_id,
    sizeBytes: row.size_bytes,
    sealedIndex: row.sealed_index ?? undefined,
    importance: row.importance ?? undefined,
    supersedes: row.supersedes ?? undefined,
    memorySecret: row.memory_secret ?? undefined,
    supersededBy: row.replaced_by ?? undefined,
  };
}

/** Sorts rows, so that relayers wait for each other in one order. */
function byName(a: MemoryName, b: MemoryName): number {
  const [left, right] = [a, b].map(({ owner, memoryId }) =>
    `${owner} ${memoryId}`
  );
  return String(left) < String(right) ? -1 : 1;
}
