/**
 * The tables of what a relayer keeps beside its memories on PostgreSQL: wrapped
 * keys, blobs and their catalogue, and the log of the embedded ledger.
 *
 * Destroying a key deletes its row. The row's bytes stay in the file of the table
 * until the table is vacuumed. Of 40 destroyed keys among 2,000 all were in the
 * file before that, two after it, and none when 500 keys were added next.
 *
 * @module
 */

/**
 * Has secrets removed from the file at the next look of the autovacuum, each
 * minute, however few were destroyed. It reads those pages only that changed.
 */
const VACUUMED_AT_ONCE = `
  autovacuum_vacuum_scale_factor = 0,
  autovacuum_vacuum_threshold = 0,
  autovacuum_vacuum_cost_delay = 1`;

/** The tables of the keys. */
export const KEY_TABLES = `
-- Numbered in the order of making: the first one makes all digests.
CREATE TABLE roots(
  n bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  id text COLLATE "C" NOT NULL UNIQUE,
  master_id text NOT NULL,
  wrapped bytea NOT NULL
);

CREATE TABLE data_keys(
  owner text COLLATE "C" NOT NULL,
  key_id text COLLATE "C" NOT NULL,
  wrapped bytea NOT NULL,
  PRIMARY KEY(owner, key_id)
) WITH (${VACUUMED_AT_ONCE}
);

-- Owners' keys behind key servers.
CREATE TABLE owner_keys(
  n bigint GENERATED ALWAYS AS IDENTITY,
  owner text COLLATE "C" NOT NULL,
  id text COLLATE "C" NOT NULL,
  encrypted bytea NOT NULL,
  sealed_public_key bytea NOT NULL,
  newer_id text,
  wrapped bytea,
  PRIMARY KEY(owner, id)
);

CREATE TABLE receipt_keys(
  n bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  wrapped bytea NOT NULL,
  made_ms bigint NOT NULL
);
`;

/** The table of the blobs, for `BLOBS=postgres`. */
export const BLOB_TABLES = `
-- A blob's name is the SHA-256 of its bytes, and parts says how many rows it
-- has. Sealed bytes do not compress.
CREATE TABLE blob_parts(
  blob bytea NOT NULL,
  part integer NOT NULL,
  parts integer NOT NULL,
  bytes bytea NOT NULL,
  PRIMARY KEY(blob, part)
) WITH (
  autovacuum_vacuum_scale_factor = 0.02,
  toast.autovacuum_vacuum_scale_factor = 0.02
);
ALTER TABLE blob_parts ALTER COLUMN bytes SET STORAGE EXTERNAL;
`;

/** The tables of the catalogue of blobs. */
export const CATALOG_TABLES = `
CREATE TABLE catalog(
  owner text COLLATE "C" NOT NULL,
  memory_id text COLLATE "C" NOT NULL,
  namespace text COLLATE "C" NOT NULL,
  blob_id text COLLATE "C" NOT NULL,
  created_ms bigint NOT NULL,
  agent_id text NOT NULL,
  size_bytes bigint NOT NULL,
  sealed_index bytea,
  importance double precision,
  supersedes text,
  memory_secret bytea,
  PRIMARY KEY(owner, memory_id)
) WITH (${VACUUMED_AT_ONCE}
);
CREATE INDEX catalog_of_namespace
  ON catalog(owner, namespace, created_ms, memory_id);
CREATE INDEX catalog_by_blob ON catalog(blob_id);

-- Which memory took the place of which: told by the later one, kept as long as
-- the earlier one is there.
CREATE TABLE replacements(
  owner text COLLATE "C" NOT NULL,
  memory_id text COLLATE "C" NOT NULL,
  replaced_by text NOT NULL,
  PRIMARY KEY(owner, memory_id)
);
`;

/** The tables of the embedded ledger. */
export const LEDGER_TABLES = `
-- The log of the embedded ledger: rows are added, and never changed. Each hash
-- covers the one before it, so a change behind its back is noticed.
CREATE TABLE ledger_entries(
  sequence bigint PRIMARY KEY,
  kind text NOT NULL,
  digest bytea NOT NULL UNIQUE,
  sender text,
  payload bytea NOT NULL,
  outcome text NOT NULL,
  time_ms bigint NOT NULL,
  hash bytea NOT NULL
);

-- Transactions of a day by what stands for the network address they came from.
CREATE TABLE ledger_shares(
  day bigint NOT NULL,
  name bytea NOT NULL,
  taken integer NOT NULL,
  PRIMARY KEY(day, name)
);

-- A relayer that adds entries locks this row until the commit.
CREATE TABLE ledger_turn(one boolean PRIMARY KEY DEFAULT true CHECK (one));
INSERT INTO ledger_turn DEFAULT VALUES;
`;
