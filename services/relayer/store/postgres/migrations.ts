/**
 * The tables of a schema of PostgreSQL, and the migrations that create them.
 *
 * Statuses of jobs are numbers as in `row_columns.ts`: those below 3 are
 * unfinished. `change` is the number of a row's last change; each owner has
 * numbers of their own, which the owner's row gives.
 *
 * @module
 */

import type {
  Migration,
  MigrationPlan,
} from "../../../shared/postgres/migrations.ts";
import {
  COMMON_FUNCTIONS,
  INSTANCE_TABLES,
} from "../../../shared/postgres/schema.ts";
import {
  BLOB_TABLES,
  CATALOG_TABLES,
  KEY_TABLES,
  LEDGER_TABLES,
} from "./data_tables.ts";

/** Creates the tables of version 1. */
const INITIAL_TABLES = `${COMMON_FUNCTIONS}
-- The number that all numbers of this database are greater than. It is made of
-- the time, so that a position of an older, lost database is below it.
CREATE TABLE numbering(
  one boolean PRIMARY KEY DEFAULT true CHECK (one),
  first_change bigint NOT NULL,
  -- Whether an import has begun and not ended.
  importing boolean NOT NULL DEFAULT false
);
INSERT INTO numbering(first_change) VALUES(now_ms() * 1024);

-- A commit that changes an owner's memories updates this row first. The next
-- one waits for its end, so numbers become visible in their order.
CREATE TABLE owners(
  owner text COLLATE "C" PRIMARY KEY,
  -- The last number that was given.
  change bigint NOT NULL,
  -- The highest change of a tombstone that is gone; at first, where the numbers
  -- of the owner begin.
  swept_change bigint NOT NULL DEFAULT 0,
  -- When the server that gave it was started, in microseconds since the epoch.
  server bigint NOT NULL DEFAULT 0,
  -- Pairs: the last number of a server that this one knows of, and the number
  -- after which the next server went on. The former may have given others
  -- between them, in commits that were lost with it.
  gaps bigint[] NOT NULL DEFAULT '{}',
  -- The last removal or new vector: an index without it must not become a
  -- snapshot.
  cut_change bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05);

-- The indexes have only columns that a job's steps leave alone, so that a step
-- writes no index. Payloads of more than some hundred bytes stand apart from the
-- rows, which are written again with each change.
CREATE TABLE jobs(
  owner text COLLATE "C" NOT NULL,
  id text COLLATE "C" NOT NULL,
  n bigint GENERATED ALWAYS AS IDENTITY,
  version integer NOT NULL,
  status smallint NOT NULL,
  attempts integer NOT NULL,
  next_attempt_ms bigint NOT NULL,
  created_ms bigint NOT NULL,
  updated_ms bigint NOT NULL,
  -- updated_ms of a finished job.
  finished_ms bigint,
  leased_by text,
  leased_until_ms bigint,
  payload_bytes bigint NOT NULL,
  importance double precision NOT NULL,
  namespace text NOT NULL,
  agent_id text NOT NULL,
  key_id text NOT NULL,
  supersedes text,
  content_hash text,
  blob_id text,
  error text,
  payload bytea,
  CONSTRAINT jobs_pkey PRIMARY KEY(owner, id)
) WITH (
  fillfactor = 70,
  toast_tuple_target = 1024,
  autovacuum_vacuum_scale_factor = 0.05,
  -- Open jobs are counted in the index alone once their pages were vacuumed.
  autovacuum_vacuum_insert_scale_factor = 0.05
);
ALTER TABLE jobs ALTER COLUMN payload SET STORAGE EXTERNAL;
CREATE INDEX jobs_due ON jobs(next_attempt_ms, n) WHERE status < 3;
CREATE INDEX jobs_open ON jobs(owner) INCLUDE (payload_bytes) WHERE status < 3;
CREATE INDEX jobs_finished ON jobs(finished_ms) WHERE finished_ms IS NOT NULL;
CREATE INDEX jobs_deleted ON jobs(next_attempt_ms)
  WHERE status = 4 AND payload_bytes = 0;

-- Sealed bytes look random, so nothing tries to compress them.
CREATE TABLE memories(
  owner text COLLATE "C" NOT NULL,
  id text COLLATE "C" NOT NULL,
  namespace text COLLATE "C" NOT NULL,
  blob_id text NOT NULL,
  size_bytes bigint NOT NULL,
  created_ms bigint NOT NULL,
  updated_ms bigint NOT NULL,
  change bigint NOT NULL,
  agent_id text,
  package_id text,
  importance double precision,
  key_id text,
  supersedes text,
  superseded_by text,
  -- The number of the last new vector, which only indexes read.
  reindexed_change bigint,
  sealed_index bytea NOT NULL,
  PRIMARY KEY(owner, id)
) WITH (autovacuum_vacuum_scale_factor = 0.05);
ALTER TABLE memories ALTER COLUMN sealed_index SET STORAGE EXTERNAL;
CREATE INDEX memories_by_id ON memories(id, owner);
CREATE INDEX memories_by_namespace ON memories(owner, namespace, id);
CREATE INDEX memories_by_change ON memories(owner, change);
CREATE INDEX memories_reindexed ON memories(owner, reindexed_change)
  WHERE reindexed_change IS NOT NULL;

-- Sums over the rows of a namespace; rows that were superseded take room but do
-- not count.
CREATE TABLE namespaces(
  owner text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL,
  row_count bigint NOT NULL,
  memory_count bigint NOT NULL,
  storage_bytes bigint NOT NULL,
  updated_ms bigint NOT NULL,
  change bigint NOT NULL,
  PRIMARY KEY(owner, name)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05);
CREATE INDEX namespaces_by_change ON namespaces(owner, change);

-- How many rows a delegate wrote.
CREATE TABLE agents(
  owner text COLLATE "C" NOT NULL,
  agent_id text COLLATE "C" NOT NULL,
  row_count bigint NOT NULL,
  PRIMARY KEY(owner, agent_id)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05);

CREATE TABLE tombstones(
  owner text COLLATE "C" NOT NULL,
  id text COLLATE "C" NOT NULL,
  namespace text NOT NULL,
  deleted_ms bigint NOT NULL,
  change bigint NOT NULL,
  PRIMARY KEY(owner, id)
) WITH (autovacuum_vacuum_scale_factor = 0.05);
CREATE INDEX tombstones_by_change ON tombstones(owner, change);
CREATE INDEX tombstones_by_time ON tombstones(deleted_ms);

CREATE TABLE bad_blobs(
  owner text COLLATE "C" NOT NULL,
  blob_id text COLLATE "C" NOT NULL,
  PRIMARY KEY(owner, blob_id)
);

CREATE TABLE key_claims(
  owner text COLLATE "C" NOT NULL,
  key text COLLATE "C" NOT NULL,
  fingerprint text NOT NULL,
  job_ids text NOT NULL,
  expires_ms bigint NOT NULL,
  PRIMARY KEY(owner, key)
) WITH (autovacuum_vacuum_scale_factor = 0.05);
CREATE INDEX key_claims_by_expiry ON key_claims(expires_ms);

-- Not parted by time: a nonce is unique over all times.
CREATE TABLE nonces(
  nonce text COLLATE "C" PRIMARY KEY,
  expires_ms bigint NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0.05);
CREATE INDEX nonces_by_expiry ON nonces(expires_ms);

CREATE TABLE rate_windows(
  minute bigint NOT NULL,
  name text COLLATE "C" NOT NULL,
  points double precision NOT NULL,
  PRIMARY KEY(minute, name)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05);

-- The index of an owner with all changes up to a number; parts is 0 until it is
-- whole.
CREATE TABLE index_snapshots(
  owner text COLLATE "C" PRIMARY KEY,
  name text COLLATE "C" NOT NULL UNIQUE,
  change bigint NOT NULL,
  parts integer NOT NULL,
  begun_ms bigint NOT NULL
);
CREATE TABLE snapshot_parts(
  name text COLLATE "C" NOT NULL,
  part integer NOT NULL,
  bytes bytea NOT NULL,
  PRIMARY KEY(name, part)
);
ALTER TABLE snapshot_parts ALTER COLUMN bytes SET STORAGE EXTERNAL;
${INSTANCE_TABLES}${KEY_TABLES}${BLOB_TABLES}${CATALOG_TABLES}${LEDGER_TABLES}`;

/** All migrations in order. A migration that was released never changes. */
const MIGRATIONS: readonly Migration[] = [
  {
    version: 1,
    name: "initial",
    compatibleSince: 1,
    sql: INITIAL_TABLES,
  },
];

/** The tables, and how operators make them by hand. */
export function migrationPlan(schema: string): MigrationPlan {
  return { schema, migrations: MIGRATIONS, command: "relayer migrate --print" };
}
