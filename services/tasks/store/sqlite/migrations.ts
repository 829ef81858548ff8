/**
 * The tables of the database and the migrations that create them.
 *
 * Ids of tenants, and of workers within a tenant, are stored once and numbered,
 * because each index would hold them otherwise: a tenant's number is `tenant`,
 * a worker's number is `lane`. `n` is the number in a task's id. Statuses are
 * numbers as in `task_row.ts`: 3 is running, 7 and more are final.
 *
 * @module
 */

import type { DatabaseSync } from "node:sqlite";
import {
  migrate,
  type MigrateOptions,
  type Migration,
} from "../../../shared/sqlite/migrations.ts";

/** Creates the tables of version 1. */
const INITIAL_TABLES = `
CREATE TABLE tenants(
  tenant INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE
) STRICT;

CREATE TABLE lanes(
  lane INTEGER PRIMARY KEY,
  tenant INTEGER NOT NULL,
  worker TEXT NOT NULL,
  UNIQUE(tenant, worker)
) STRICT;
CREATE INDEX lanes_by_worker ON lanes(worker);

-- data and result are in the row when short, else data_at and result_at name the
-- version that wrote them to the tables below, so that a change of status need
-- not write them again.
CREATE TABLE tasks(
  n INTEGER PRIMARY KEY,
  id TEXT NOT NULL,
  tenant INTEGER NOT NULL,
  created_ms INTEGER NOT NULL,
  version INTEGER NOT NULL,
  status INTEGER NOT NULL,
  lane INTEGER NOT NULL,
  grp TEXT NOT NULL,
  job TEXT NOT NULL,
  key TEXT,
  date_ms INTEGER NOT NULL,
  finished_ms INTEGER,
  rank INTEGER,
  wake_ms INTEGER,
  body TEXT NOT NULL,
  data TEXT,
  data_at INTEGER,
  result TEXT,
  result_at INTEGER
) STRICT;
CREATE INDEX tasks_to_take ON tasks(lane, grp, rank) WHERE rank IS NOT NULL;
-- Without it a claim for one job would walk over all tasks of the others.
CREATE INDEX tasks_to_take_by_job ON tasks(lane, job, grp, rank)
  WHERE rank IS NOT NULL;
CREATE INDEX tasks_to_wake ON tasks(wake_ms) WHERE wake_ms IS NOT NULL;
CREATE INDEX tasks_running ON tasks(lane, grp) WHERE status = 3;
CREATE INDEX tasks_by_date ON tasks(tenant, lane, status, date_ms);
CREATE INDEX tasks_by_creation ON tasks(tenant, created_ms);
CREATE INDEX tasks_by_key ON tasks(tenant, key, date_ms) WHERE key IS NOT NULL;
CREATE UNIQUE INDEX live_keys ON tasks(lane, key)
  WHERE key IS NOT NULL AND status < 7;

CREATE TABLE task_data(n INTEGER PRIMARY KEY, text TEXT NOT NULL) STRICT;
CREATE TABLE task_results(n INTEGER PRIMARY KEY, text TEXT NOT NULL) STRICT;

-- The hash of the record before is that of the row before.
CREATE TABLE history(
  n INTEGER NOT NULL,
  seq INTEGER NOT NULL,
  text TEXT NOT NULL,
  hash TEXT NOT NULL,
  PRIMARY KEY(n, seq)
) STRICT, WITHOUT ROWID;
-- Removed tasks whose history is too long to be removed at once.
CREATE TABLE removed_histories(n INTEGER PRIMARY KEY) STRICT;

-- Live tasks that depend on others.
CREATE TABLE dependents(
  tenant INTEGER NOT NULL,
  dependency TEXT NOT NULL,
  n INTEGER NOT NULL,
  PRIMARY KEY(tenant, dependency, n)
) STRICT, WITHOUT ROWID;
CREATE INDEX dependents_by_task ON dependents(n);

CREATE TABLE records(
  tenant INTEGER NOT NULL,
  kind TEXT NOT NULL,
  id TEXT NOT NULL,
  version INTEGER NOT NULL,
  alias TEXT,
  parent TEXT,
  text TEXT NOT NULL,
  PRIMARY KEY(tenant, kind, id)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX record_aliases ON records(tenant, kind, alias)
  WHERE alias IS NOT NULL;
CREATE INDEX records_by_parent ON records(tenant, kind, parent, id)
  WHERE parent IS NOT NULL;

CREATE TABLE idempotency(
  tenant INTEGER NOT NULL,
  key TEXT NOT NULL,
  expires_ms INTEGER NOT NULL,
  body_hash TEXT NOT NULL,
  status INTEGER NOT NULL,
  headers TEXT NOT NULL,
  body TEXT NOT NULL,
  PRIMARY KEY(tenant, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX idempotency_by_expiry ON idempotency(expires_ms);

CREATE TABLE usage(
  tenant INTEGER NOT NULL,
  period TEXT NOT NULL,
  executions INTEGER NOT NULL,
  PRIMARY KEY(tenant, period)
) STRICT, WITHOUT ROWID;

CREATE TABLE audit(
  tenant INTEGER NOT NULL,
  number INTEGER NOT NULL,
  at_ms INTEGER NOT NULL,
  action TEXT NOT NULL,
  text TEXT NOT NULL,
  PRIMARY KEY(tenant, number)
) STRICT, WITHOUT ROWID;
`;

/** Creates the tables of version 2. */
const COUNT_TABLES = `
-- How many tasks of each worker are in each status.
CREATE TABLE task_counts(
  tenant INTEGER NOT NULL,
  lane INTEGER NOT NULL,
  status INTEGER NOT NULL,
  count INTEGER NOT NULL,
  PRIMARY KEY(tenant, lane, status)
) STRICT, WITHOUT ROWID;
INSERT INTO task_counts
  SELECT tenant, lane, status, count(*) FROM tasks
  GROUP BY tenant, lane, status;

-- The reconciler looks at all that are blocked.
CREATE INDEX tasks_blocked ON tasks(status) WHERE status = 1;
-- What may be taken now, but for what waits, all of which may.
CREATE INDEX tasks_due_again ON tasks(tenant, date_ms)
  WHERE rank IS NOT NULL AND status <> 2;
`;

/** Creates the tables of version 3. */
const PROOF_TABLES = `
-- What each tenant has: how many tasks, and where its audit log ends. mac is over
-- all of that, under a key that the master key gives; null in a database that
-- has never been sealed. The row of tenant 0 tells in tasks how many other rows
-- there are, so that none of them can be taken away.
CREATE TABLE proofs(
  tenant INTEGER PRIMARY KEY,
  tasks INTEGER NOT NULL,
  audits INTEGER NOT NULL,
  audit_hash TEXT NOT NULL,
  mac TEXT
) STRICT;
INSERT INTO proofs
  SELECT tenant,
    (SELECT count(*) FROM tasks WHERE tasks.tenant = tenants.tenant),
    (SELECT coalesce(max(number), 0) FROM audit
      WHERE audit.tenant = tenants.tenant),
    '',
    NULL
  FROM tenants;
INSERT INTO proofs SELECT 0, count(*), 0, '', NULL FROM proofs;

-- Of each entry of the audit log the hash of it and of the one before; null in
-- entries from before there were hashes.
ALTER TABLE audit ADD COLUMN hash TEXT;

-- As much as some commits write, for who asks whether there is room.
CREATE TABLE probe(bytes BLOB NOT NULL) STRICT;
INSERT INTO probe VALUES(zeroblob(65536));
`;

/**
 * Moves the subjects of mirrored users to the registry, those of removed ones
 * from their marks; the engine makes deliveries of the marks.
 */
const MIRRORED_USERS = `
UPDATE records SET
  tenant = (SELECT tenant FROM tenants WHERE id = ''),
  id = 'subject:'
    || (SELECT id FROM tenants WHERE tenants.tenant = records.tenant)
    || substr(id, 7)
  WHERE kind = 'service' AND id GLOB 'mirror:*'
    AND tenant <> (SELECT tenant FROM tenants WHERE id = '');
INSERT INTO records(tenant, kind, id, version, text)
  SELECT tenant, kind, 'subject:' || substr(id, 8), 1, text ->> '$.subject'
  FROM records
  WHERE kind = 'service' AND id GLOB 'mirror:*'
    AND text ->> '$.kind' = 'remove';
`;

/** Removes what version 3 added for proofs; histories keep their hashes. */
const NO_PROOFS = `
DROP TABLE proofs;
ALTER TABLE audit DROP COLUMN hash;
`;

/** Creates the table of version 6. */
const STARTS_TABLE = `
-- Starts that count for rates, of a worker or, where it is empty, of all workers
-- that share the limits of groups. Numbers are never used again, so that who has
-- read some needs those after them only.
CREATE TABLE starts(
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  tenant INTEGER NOT NULL,
  worker TEXT NOT NULL,
  task_group TEXT NOT NULL,
  at_ms INTEGER NOT NULL,
  expires_ms INTEGER NOT NULL,
  count INTEGER NOT NULL
) STRICT;
CREATE INDEX starts_of ON starts(tenant, worker);
CREATE INDEX starts_of_group ON starts(tenant, worker, task_group);
CREATE INDEX starts_by_expiry ON starts(expires_ms);
`;

/** Creates the tables of version 7. */
const EVENT_TABLES = `
-- Tenants whose events are kept, and until when. log names what is kept since
-- the tenant was last without a row here; dropped is its last event that is gone.
CREATE TABLE listeners(
  tenant INTEGER PRIMARY KEY,
  until_ms INTEGER NOT NULL,
  log TEXT NOT NULL,
  dropped INTEGER NOT NULL
) STRICT;

-- source is 0 for a record of a task's history, 1 for an entry of the audit log,
-- and 2 for the engine.
CREATE TABLE events(
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  tenant INTEGER NOT NULL,
  source INTEGER NOT NULL,
  type TEXT NOT NULL,
  at_ms INTEGER NOT NULL,
  text TEXT NOT NULL,
  task TEXT,
  lane INTEGER,
  job TEXT,
  grp TEXT,
  key TEXT,
  date_ms INTEGER
) STRICT;
CREATE INDEX events_of ON events(tenant, number);

-- Whatever writes the record has its event written in the same commit.
CREATE TRIGGER history_events AFTER INSERT ON history
  WHEN EXISTS(SELECT 1 FROM listeners) AND NEW.text <> ''
BEGIN
  INSERT INTO events(tenant, source, type, at_ms, text, task, lane, job, grp,
      key, date_ms)
    SELECT tenant, 0, '', NEW.text ->> '$.atMs', NEW.text, id, lane, job, grp,
      key, date_ms
    FROM tasks WHERE n = NEW.n AND tenant IN (SELECT tenant FROM listeners);
END;
CREATE TRIGGER audit_events AFTER INSERT ON audit
  WHEN NEW.tenant IN (SELECT tenant FROM listeners)
BEGIN
  INSERT INTO events(tenant, source, type, at_ms, text)
    VALUES(NEW.tenant, 1, NEW.action, NEW.at_ms, NEW.text);
END;
`;

/** Creates what version 8 keeps counts in. */
const KEPT_COUNTS = `
-- What happened in spans of time: of all tasks of a tenant where worker and job
-- are empty, of a worker's where job is, else of a job's.
CREATE TABLE activity(
  tenant INTEGER NOT NULL,
  worker TEXT NOT NULL,
  job TEXT NOT NULL,
  step_ms INTEGER NOT NULL,
  at_ms INTEGER NOT NULL,
  expires_ms INTEGER NOT NULL,
  created INTEGER NOT NULL,
  started INTEGER NOT NULL,
  succeeded INTEGER NOT NULL,
  failed INTEGER NOT NULL,
  lost INTEGER NOT NULL,
  completed INTEGER NOT NULL,
  missed INTEGER NOT NULL,
  lag_sum_ms INTEGER NOT NULL,
  lag_max_ms INTEGER NOT NULL,
  run_sum_ms INTEGER NOT NULL,
  PRIMARY KEY(tenant, worker, job, step_ms, at_ms)
) STRICT, WITHOUT ROWID;
CREATE INDEX activity_by_expiry ON activity(expires_ms);

-- How many tasks of each job are in each status. Rows without tasks are swept.
CREATE TABLE job_counts(
  tenant INTEGER NOT NULL,
  lane INTEGER NOT NULL,
  status INTEGER NOT NULL,
  job TEXT NOT NULL,
  count INTEGER NOT NULL,
  PRIMARY KEY(tenant, lane, status, job)
) STRICT, WITHOUT ROWID;
INSERT INTO job_counts
  SELECT tenant, lane, status, job, count(*) FROM tasks
  GROUP BY tenant, lane, status, job;
-- The longest queues, without reading all.
CREATE INDEX job_counts_top ON job_counts(tenant, status, count)
  WHERE count > 0;
CREATE INDEX job_counts_empty ON job_counts(count) WHERE count = 0;
CREATE INDEX task_counts_top ON task_counts(tenant, status, count)
  WHERE count > 0;

-- When a repeating task last failed whose last run has failed.
ALTER TABLE tasks ADD COLUMN failing_ms INTEGER;
UPDATE tasks SET failing_ms =
    coalesce(body ->> '$.error.atMs', body ->> '$.updatedAtMs')
  WHERE instr(body, '"lastOutcome":"failed"') > 0
    AND status NOT IN (9, 10)
    AND body ->> '$.lastOutcome' = 'failed'
    AND body ->> '$.repeat' IS NOT NULL;
CREATE INDEX tasks_failing ON tasks(tenant, failing_ms)
  WHERE failing_ms IS NOT NULL;
`;

/**
 * Creates the indexes of version 9. A worker is part of the first one, so that
 * neither other workers nor other statuses are read.
 */
const REPEATING_TASKS = `
-- 1 for tasks that repeat, null for all others.
ALTER TABLE tasks ADD COLUMN repeats INTEGER;
UPDATE tasks SET repeats = 1
  WHERE instr(body, '"repeat":{') > 0 AND json_type(body, '$.repeat') = 'object';
CREATE INDEX tasks_repeating ON tasks(tenant, lane, status, date_ms)
  WHERE repeats IS NOT NULL;
CREATE INDEX tasks_repeating_by_creation ON tasks(tenant, created_ms)
  WHERE repeats IS NOT NULL;
`;

/** Creates the index of version 10. */
const WAITING_TASKS = `
-- 1 for tasks that wait for an event, 2 for an approval, null for all others.
ALTER TABLE tasks ADD COLUMN awaits INTEGER;
CREATE INDEX tasks_awaiting ON tasks(tenant, awaits, date_ms)
  WHERE awaits IS NOT NULL;
`;

/**
 * Creates the table of version 11. Lists by creation sort the rows of a tag:
 * with an index for them, too, a new task with tags took twice as much more.
 */
const TASK_TAGS = `
-- The tags as a list in JSON; null for tasks that have none.
ALTER TABLE tasks ADD COLUMN tags TEXT;
UPDATE tasks SET tags = body ->> '$.tags'
  WHERE instr(body, '"tags":[') > 0 AND json_type(body, '$.tags') = 'array';

-- A row for each tag of each task.
CREATE TABLE task_tags(
  tenant INTEGER NOT NULL,
  tag TEXT NOT NULL,
  date_ms INTEGER NOT NULL,
  n INTEGER NOT NULL,
  created_ms INTEGER NOT NULL,
  PRIMARY KEY(tenant, tag, date_ms, n)
) STRICT, WITHOUT ROWID;
INSERT INTO task_tags
  SELECT tenant, value, date_ms, n, created_ms
  FROM tasks, json_each(tasks.tags) WHERE tags IS NOT NULL
  ORDER BY tenant, value, date_ms, n;
`;

/** All migrations in order. A migration that was released never changes. */
export const MIGRATIONS: readonly Migration[] = [
  { version: 1, name: "initial", sql: INITIAL_TABLES },
  { version: 2, name: "counts", sql: COUNT_TABLES },
  { version: 3, name: "proofs", sql: PROOF_TABLES },
  { version: 4, name: "mirrored users", sql: MIRRORED_USERS },
  { version: 5, name: "no proofs", sql: NO_PROOFS },
  { version: 6, name: "starts", sql: STARTS_TABLE },
  { version: 7, name: "events", sql: EVENT_TABLES },
  { version: 8, name: "kept counts", sql: KEPT_COUNTS },
  { version: 9, name: "repeating tasks", sql: REPEATING_TASKS },
  { version: 10, name: "waiting tasks", sql: WAITING_TASKS },
  { version: 11, name: "task tags", sql: TASK_TAGS },
];

/**
 * Applies the migrations that a database lacks, all of them or none.
 *
 * @throws {Error} when the database is of a later version than this program
 */
export function migrateTasks(
  db: DatabaseSync,
  options: Pick<MigrateOptions, "nowMs">,
): void {
  migrate(db, { ...options, migrations: MIGRATIONS, fileName: "tasks.db" });
}
