/**
 * The tables that an export has, in their order, and where each engine keeps
 * them. Every engine gives the same rows in the same order.
 *
 * Snapshots of indexes are not among them: relayers make them again. Nor are the
 * accounts of the embedded ledger, which follow from its log.
 *
 * @module
 */

/** What a column holds; any of them may be null. */
export type ColumnType = "text" | "integer" | "real" | "bytes";

/** A value of a column. */
export type MovedValue = string | number | Uint8Array | null;

/** The values of a row, in the order of the columns. */
export type MovedRow = readonly MovedValue[];

/** The files of a data folder that have tables. */
export type DataFile = "relayer.db" | "keys.db" | "ledger.db";

/** What differs in an engine from a table with that name and those columns. */
interface EnginePlace {
  /** What is read, as SQL: a table or a query in parentheses. */
  readonly from?: string;
  /** What columns are read as, where that is not their name. */
  readonly read?: Readonly<Record<string, string>>;
  /** The table that is written. */
  readonly into?: string;
  /** The columns that are not written to that table. */
  readonly unwritten?: readonly string[];
  /** Columns that the engine has beside them, as SQL over the others. */
  readonly derived?: Readonly<Record<string, string>>;
}

/** A table. */
export interface MovedTable {
  /** Its name. */
  readonly name: string;
  /** The types of its columns, by their names. */
  readonly columns: Readonly<Record<string, ColumnType>>;
  /** The columns that order its rows, and are different in each. */
  readonly key: readonly string[];
  /** The file that has it. */
  readonly file: DataFile;
  /** In SQLite. */
  readonly sqlite: EnginePlace;
  /** In PostgreSQL. */
  readonly postgres: EnginePlace;
  /** The column that tells when a row expires, in ms since the epoch. */
  readonly expires?: string;
  /** The column of bytes whose rows may be long. */
  readonly long?: string;
  /** Columns whose values an engine may change; they are not compared. */
  readonly changing?: readonly string[];
  /** Whether the column `n` numbers rows in the order of their making. */
  readonly isNumbered?: boolean;
}

type TableParts =
  & Omit<MovedTable, "sqlite" | "postgres">
  & Partial<Pick<MovedTable, "sqlite" | "postgres">>;

function table(parts: TableParts): MovedTable {
  return { sqlite: {}, postgres: {}, ...parts };
}

/** Owners whose memories ever changed. */
const CHANGED_OWNERS = "SELECT owner FROM namespaces UNION " +
  "SELECT owner FROM tombstones UNION " +
  "SELECT owner FROM owners WHERE swept_change > 0";
const LAST_CHANGE = "SELECT value FROM numbers WHERE name = 'last_change'";

/** The log of the embedded ledger; left out where the ledger is remote. */
export const LEDGER_ENTRIES: MovedTable = table({
  name: "ledger_entries",
  file: "ledger.db",
  columns: {
    sequence: "integer",
    kind: "text",
    digest: "bytes",
    sender: "text",
    payload: "bytes",
    outcome: "text",
    time_ms: "integer",
    hash: "bytes",
  },
  key: ["sequence"],
  sqlite: { from: "entries", into: "entries" },
});

/**
 * The tables. Root keys come first, so that nothing is written unless the master
 * keys open them.
 */
export const MOVED_TABLES: readonly MovedTable[] = [
  table({
    name: "roots",
    file: "keys.db",
    columns: { n: "integer", id: "text", master_id: "text", wrapped: "bytes" },
    key: ["n"],
    isNumbered: true,
  }),
  table({
    name: "data_keys",
    file: "keys.db",
    columns: { owner: "text", key_id: "text", wrapped: "bytes" },
    key: ["owner", "key_id"],
  }),
  table({
    name: "owner_keys",
    file: "keys.db",
    columns: {
      n: "integer",
      owner: "text",
      id: "text",
      encrypted: "bytes",
      sealed_public_key: "bytes",
      newer_id: "text",
      wrapped: "bytes",
    },
    key: ["owner", "id"],
    isNumbered: true,
  }),
  table({
    name: "receipt_keys",
    file: "keys.db",
    columns: { n: "integer", wrapped: "bytes", made_ms: "integer" },
    key: ["n"],
    isNumbered: true,
  }),
  LEDGER_ENTRIES,
  // The number that all changes are greater than, and the last one.
  table({
    name: "numbers",
    file: "relayer.db",
    columns: { first_change: "integer", last_change: "integer" },
    key: ["first_change"],
    sqlite: {
      from: "(SELECT (SELECT value FROM numbers WHERE name = 'first_change') " +
        `AS first_change, (${LAST_CHANGE}) AS last_change)`,
    },
    postgres: {
      from: "(SELECT first_change, greatest(first_change, " +
        "(SELECT max(change) FROM owners)) AS last_change FROM numbering) " +
        "AS there",
    },
  }),
  // SQLite numbers the changes of all owners together. A client's position is
  // good up to the last number of its owner, so that may be greater than that of
  // any change.
  table({
    name: "owners",
    file: "relayer.db",
    columns: { owner: "text", change: "integer", swept_change: "integer" },
    key: ["owner"],
    changing: ["change"],
    sqlite: {
      from: `(SELECT owner, (${LAST_CHANGE}) AS change, ` +
        "coalesce(swept_change, 0) AS swept_change " +
        `FROM (${CHANGED_OWNERS}) LEFT JOIN owners USING (owner))`,
      unwritten: ["change"],
    },
    postgres: {
      from: "(SELECT owner, change, swept_change FROM " +
        `(${CHANGED_OWNERS}) AS changed JOIN owners USING (owner)) AS there`,
    },
  }),
  table({
    name: "jobs",
    file: "relayer.db",
    columns: {
      n: "integer",
      owner: "text",
      id: "text",
      version: "integer",
      status: "integer",
      attempts: "integer",
      next_attempt_ms: "integer",
      created_ms: "integer",
      updated_ms: "integer",
      payload_bytes: "integer",
      importance: "real",
      namespace: "text",
      agent_id: "text",
      key_id: "text",
      supersedes: "text",
      content_hash: "text",
      blob_id: "text",
      error: "text",
      payload: "bytes",
    },
    key: ["owner", "id"],
    long: "payload",
    isNumbered: true,
    sqlite: {
      from: "jobs LEFT JOIN payloads USING(n)",
      read: { payload: "bytes" },
      unwritten: ["payload"],
    },
    postgres: {
      derived: { finished_ms: "CASE WHEN status >= 3 THEN updated_ms END" },
    },
  }),
  table({
    name: "memories",
    file: "relayer.db",
    columns: {
      owner: "text",
      id: "text",
      namespace: "text",
      blob_id: "text",
      size_bytes: "integer",
      created_ms: "integer",
      updated_ms: "integer",
      change: "integer",
      agent_id: "text",
      package_id: "text",
      importance: "real",
      key_id: "text",
      supersedes: "text",
      superseded_by: "text",
      sealed_index: "bytes",
    },
    key: ["owner", "id"],
    long: "sealed_index",
  }),
  table({
    name: "namespaces",
    file: "relayer.db",
    columns: {
      owner: "text",
      name: "text",
      row_count: "integer",
      memory_count: "integer",
      storage_bytes: "integer",
      updated_ms: "integer",
      change: "integer",
    },
    key: ["owner", "name"],
  }),
  table({
    name: "agents",
    file: "relayer.db",
    columns: { owner: "text", agent_id: "text", row_count: "integer" },
    key: ["owner", "agent_id"],
  }),
  table({
    name: "tombstones",
    file: "relayer.db",
    columns: {
      owner: "text",
      id: "text",
      namespace: "text",
      deleted_ms: "integer",
      change: "integer",
    },
    key: ["owner", "id"],
  }),
  table({
    name: "bad_blobs",
    file: "relayer.db",
    columns: { owner: "text", blob_id: "text" },
    key: ["owner", "blob_id"],
  }),
  table({
    name: "key_claims",
    file: "relayer.db",
    columns: {
      owner: "text",
      key: "text",
      fingerprint: "text",
      job_ids: "text",
      expires_ms: "integer",
    },
    key: ["owner", "key"],
    expires: "expires_ms",
  }),
  table({
    name: "nonces",
    file: "relayer.db",
    columns: { nonce: "text", expires_ms: "integer" },
    key: ["nonce"],
    expires: "expires_ms",
    // A nonce that has expired may be there beside its next use.
    sqlite: {
      from: "(SELECT nonce, max(expires_ms) AS expires_ms FROM nonces " +
        "GROUP BY nonce)",
    },
  }),
  table({
    name: "rate_windows",
    file: "relayer.db",
    columns: { minute: "integer", name: "text", points: "real" },
    key: ["minute", "name"],
  }),
  table({
    name: "catalog",
    file: "ledger.db",
    columns: {
      owner: "text",
      memory_id: "text",
      namespace: "text",
      blob_id: "text",
      created_ms: "integer",
      agent_id: "text",
      size_bytes: "integer",
      sealed_index: "bytes",
      importance: "real",
      supersedes: "text",
      memory_secret: "bytes",
    },
    key: ["owner", "memory_id"],
    long: "sealed_index",
    sqlite: { from: "blobs", into: "blobs" },
  }),
  table({
    name: "replacements",
    file: "ledger.db",
    columns: { owner: "text", memory_id: "text", replaced_by: "text" },
    key: ["owner", "memory_id"],
  }),
];

/** The blobs, which are rows of an export as well. */
export const BLOBS: MovedTable = table({
  name: "blobs",
  file: "relayer.db",
  columns: { id: "text", bytes: "bytes" },
  key: ["id"],
});
