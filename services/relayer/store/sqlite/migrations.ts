/**
 * The tables of the relayer's database, as the migrations that create them.
 *
 * Statuses of jobs are numbers as in `job_rows.ts`: those below 3 are
 * unfinished. `change` is the number of a row's last change.
 *
 * @module
 */

import type { Migration } from "../../../shared/sqlite/migrations.ts";

/** Makes the tables of version 1. */
const INITIAL_TABLES = `
-- Numbers about the whole: last_change, the highest number that was given, and
-- first_change, the one that all numbers of this file are greater than.
CREATE TABLE numbers(
  name TEXT PRIMARY KEY,
  value INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- What is known of an owner as a whole, so that it need not be counted.
CREATE TABLE owners(
  owner TEXT PRIMARY KEY,
  open_jobs INTEGER NOT NULL DEFAULT 0,
  open_bytes INTEGER NOT NULL DEFAULT 0,
  -- The highest change of a tombstone that is gone.
  swept_change INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;

CREATE TABLE jobs(
  n INTEGER PRIMARY KEY,
  owner TEXT NOT NULL,
  id TEXT NOT NULL,
  version INTEGER NOT NULL,
  status INTEGER NOT NULL,
  attempts INTEGER NOT NULL,
  next_attempt_ms INTEGER NOT NULL,
  created_ms INTEGER NOT NULL,
  updated_ms INTEGER NOT NULL,
  payload_bytes INTEGER NOT NULL,
  importance REAL NOT NULL,
  namespace TEXT NOT NULL,
  agent_id TEXT NOT NULL,
  key_id TEXT NOT NULL,
  supersedes TEXT,
  blob_id TEXT,
  error TEXT,
  UNIQUE(owner, id)
) STRICT;
CREATE INDEX jobs_due ON jobs(next_attempt_ms, n) WHERE status < 3;
CREATE INDEX jobs_finished ON jobs(updated_ms) WHERE status >= 3;

-- Apart from the jobs, so that a change of status need not write them again.
CREATE TABLE payloads(n INTEGER PRIMARY KEY, bytes BLOB NOT NULL) STRICT;

CREATE TABLE memories(
  n INTEGER PRIMARY KEY,
  owner TEXT NOT NULL,
  id TEXT NOT NULL,
  namespace TEXT NOT NULL,
  blob_id TEXT NOT NULL,
  size_bytes INTEGER NOT NULL,
  created_ms INTEGER NOT NULL,
  updated_ms INTEGER NOT NULL,
  change INTEGER NOT NULL,
  agent_id TEXT,
  package_id TEXT,
  importance REAL,
  key_id TEXT,
  supersedes TEXT,
  superseded_by TEXT,
  sealed_index BLOB NOT NULL,
  UNIQUE(owner, id)
) STRICT;
CREATE INDEX memories_by_id ON memories(id);
CREATE INDEX memories_by_namespace ON memories(owner, namespace, id);
CREATE INDEX memories_by_change ON memories(owner, change);
CREATE INDEX memories_by_blob ON memories(owner, blob_id);

-- Sums over the rows of a namespace; rows that were superseded take room but do
-- not count.
CREATE TABLE namespaces(
  owner TEXT NOT NULL,
  name TEXT NOT NULL,
  row_count INTEGER NOT NULL,
  memory_count INTEGER NOT NULL,
  storage_bytes INTEGER NOT NULL,
  updated_ms INTEGER NOT NULL,
  change INTEGER NOT NULL,
  PRIMARY KEY(owner, name)
) STRICT, WITHOUT ROWID;
CREATE INDEX namespaces_by_change ON namespaces(owner, change);

-- How many rows a delegate wrote.
CREATE TABLE agents(
  owner TEXT NOT NULL,
  agent_id TEXT NOT NULL,
  row_count INTEGER NOT NULL,
  PRIMARY KEY(owner, agent_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE tombstones(
  owner TEXT NOT NULL,
  id TEXT NOT NULL,
  namespace TEXT NOT NULL,
  deleted_ms INTEGER NOT NULL,
  change INTEGER NOT NULL,
  PRIMARY KEY(owner, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX tombstones_by_change ON tombstones(owner, change);
CREATE INDEX tombstones_by_time ON tombstones(deleted_ms);

CREATE TABLE bad_blobs(
  owner TEXT NOT NULL,
  blob_id TEXT NOT NULL,
  PRIMARY KEY(owner, blob_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE key_claims(
  owner TEXT NOT NULL,
  key TEXT NOT NULL,
  fingerprint TEXT NOT NULL,
  job_ids TEXT NOT NULL,
  expires_ms INTEGER NOT NULL,
  PRIMARY KEY(owner, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX key_claims_by_expiry ON key_claims(expires_ms);

-- By time, so that a new one goes to the end and old ones leave together.
CREATE TABLE nonces(
  expires_ms INTEGER NOT NULL,
  nonce TEXT NOT NULL,
  PRIMARY KEY(expires_ms, nonce)
) STRICT, WITHOUT ROWID;

CREATE TABLE rate_windows(
  minute INTEGER NOT NULL,
  name TEXT NOT NULL,
  points REAL NOT NULL,
  PRIMARY KEY(minute, name)
) STRICT, WITHOUT ROWID;
`;

const SNAPSHOT_TABLES = `
-- The index of an owner with all changes up to a number; parts is 0 until it is whole.
CREATE TABLE index_snapshots(
  owner TEXT PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  change INTEGER NOT NULL,
  parts INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE snapshot_parts(
  n INTEGER PRIMARY KEY,
  name TEXT NOT NULL,
  part INTEGER NOT NULL,
  bytes BLOB NOT NULL,
  UNIQUE(name, part)
) STRICT;
`;

/** All migrations in order. A released migration must never change. */
export const RELAYER_MIGRATIONS: readonly Migration[] = [
  { version: 1, name: "initial", sql: INITIAL_TABLES },
  {
    version: 2,
    name: "hashes of contents",
    sql: "ALTER TABLE jobs ADD COLUMN content_hash TEXT",
  },
  { version: 3, name: "snapshots of the index", sql: SNAPSHOT_TABLES },
  {
    version: 4,
    // Among them are blobs that were only missing for a while. Those that can
    // never be opened are noted again by the next restore.
    name: "all blobs are tried again",
    sql: "DELETE FROM bad_blobs",
  },
  {
    version: 5,
    name: "numbers of new vectors",
    // The number of the last new vector, which only indexes read.
    sql: "ALTER TABLE memories ADD COLUMN reindexed_change INTEGER; " +
      "CREATE INDEX memories_reindexed ON memories(owner, reindexed_change) " +
      "WHERE reindexed_change IS NOT NULL",
  },
  {
    version: 6,
    name: "blobs of deleted jobs",
    sql: "CREATE INDEX jobs_deleted ON jobs(next_attempt_ms) " +
      "WHERE status = 4 AND payload_bytes = 0",
  },
];
