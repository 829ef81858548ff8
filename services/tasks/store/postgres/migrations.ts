/**
 * The tables of a schema of PostgreSQL, and the migrations that create them.
 *
 * Ids of tenants, and of workers within a tenant, are stored once and numbered:
 * a tenant's number is `tenant`, a worker's number is `lane`. Sequences give
 * them, since several instances do so at once; for the same reason a task's key
 * is its id, and not the number in it, of which two instances may create the
 * same. Statuses are numbers as in `task_body.ts`: 3 is running, 7 and more are
 * final.
 *
 * What a start or an end changes is in `task_state`, what only an edit changes
 * in `tasks`. Compared with one table, a start and an end took 10 % less of the
 * server's time with 100 bytes of data and 25 % less with 1,400, and left 40 to
 * 50 % fewer bytes of dead rows; making a task took as long.
 *
 * No row is updated by each commit of a tenant: numbers of tasks and executions
 * are rows that are only added, until they are folded.
 *
 * @module
 */

import type { Migration } from "../../../shared/postgres/migrations.ts";
import {
  COMMON_FUNCTIONS,
  INSTANCE_TABLES,
} from "../../../shared/postgres/schema.ts";
import { EVENT_TABLES } from "./event_tables.ts";
import { INBOX_TABLES } from "./inbox_tables.ts";

/** Creates the tables of version 1. */
const INITIAL_TABLES = `${COMMON_FUNCTIONS}
CREATE TABLE tenants(
  tenant integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  id text COLLATE "C" NOT NULL UNIQUE,
  -- How many entries its audit log has had.
  audits bigint NOT NULL DEFAULT 0
);

CREATE TABLE lanes(
  lane integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  tenant integer NOT NULL,
  worker text COLLATE "C" NOT NULL,
  UNIQUE(tenant, worker)
);

-- What only an edit changes. labels holds tags and metadata, each as JSON text
-- between characters 31, for searching.
CREATE TABLE tasks(
  id text COLLATE "C" PRIMARY KEY,
  tenant integer NOT NULL,
  created_ms bigint NOT NULL,
  definition text NOT NULL,
  labels text,
  data text NOT NULL
);
CREATE INDEX tasks_by_creation ON tasks(tenant, created_ms, id);

-- What a start changes. was_status is the status before the last change, and
-- links the number of rows that the task has in links.
CREATE TABLE task_state(
  id text COLLATE "C" NOT NULL,
  tenant integer NOT NULL,
  lane integer NOT NULL,
  version integer NOT NULL,
  status smallint NOT NULL,
  was_status smallint NOT NULL,
  links integer NOT NULL,
  grp text COLLATE "C" NOT NULL,
  job text COLLATE "C" NOT NULL,
  key text COLLATE "C",
  date_ms bigint NOT NULL,
  finished_ms bigint,
  rank bigint,
  wake_ms bigint,
  error_code text COLLATE "C",
  state text NOT NULL,
  result text,
  CONSTRAINT task_state_pkey PRIMARY KEY(id)
) WITH (
  fillfactor = 60,
  autovacuum_vacuum_scale_factor = 0.02,
  autovacuum_vacuum_insert_scale_factor = 0.1,
  autovacuum_analyze_scale_factor = 0.05,
  autovacuum_vacuum_cost_delay = 1
);
CREATE INDEX state_to_take ON task_state(lane, grp, rank, id)
  WHERE rank IS NOT NULL;
-- Without it a claim for one job would walk over all tasks of the others.
CREATE INDEX state_to_take_by_job ON task_state(lane, job, grp, rank, id)
  WHERE rank IS NOT NULL;
CREATE INDEX state_to_wake ON task_state(wake_ms, id)
  WHERE wake_ms IS NOT NULL;
CREATE INDEX state_running ON task_state(lane, grp, id) WHERE status = 3;
CREATE INDEX state_by_date ON task_state(tenant, lane, status, date_ms, id);
CREATE INDEX state_by_key ON task_state(tenant, key, date_ms, id)
  WHERE key IS NOT NULL;
CREATE UNIQUE INDEX live_keys ON task_state(lane, key)
  WHERE key IS NOT NULL AND status < 7;
CREATE INDEX state_blocked ON task_state(id) WHERE status = 1;
-- What may be taken now, but for what waits, all of which may.
CREATE INDEX state_due_again ON task_state(tenant, date_ms, id)
  WHERE rank IS NOT NULL AND status <> 2;

-- The hash of the record before is that of the row before. It is one table:
-- parts of a month could be dropped only once no task lives that has a record
-- there.
CREATE TABLE history(
  id text COLLATE "C" NOT NULL,
  seq integer NOT NULL,
  text text NOT NULL,
  hash text NOT NULL,
  CONSTRAINT history_pkey PRIMARY KEY(id, seq)
) WITH (
  autovacuum_vacuum_scale_factor = 0.05,
  autovacuum_vacuum_insert_scale_factor = 0.1
);

-- Live tasks that depend on others or name calendars.
CREATE TABLE links(
  tenant integer NOT NULL,
  link text COLLATE "C" NOT NULL,
  id text COLLATE "C" NOT NULL
);
CREATE INDEX links_to ON links(tenant, link, id);
CREATE INDEX links_of ON links(id);

CREATE TABLE records(
  tenant integer NOT NULL,
  kind text COLLATE "C" NOT NULL,
  id text COLLATE "C" NOT NULL,
  version integer NOT NULL,
  alias text COLLATE "C",
  parent text COLLATE "C",
  text text NOT NULL,
  CONSTRAINT records_pkey PRIMARY KEY(tenant, kind, id)
) WITH (fillfactor = 80);
CREATE UNIQUE INDEX record_aliases ON records(tenant, kind, alias)
  WHERE alias IS NOT NULL;
CREATE INDEX records_by_parent ON records(tenant, kind, parent, id)
  WHERE parent IS NOT NULL;

-- Swept by the time of expiry: with days as parts, each look for a key would
-- have to go through all of them, since a key is unique over days.
CREATE TABLE idempotency(
  tenant integer NOT NULL,
  key text COLLATE "C" NOT NULL,
  expires_ms bigint NOT NULL,
  body_hash text NOT NULL,
  status integer NOT NULL,
  headers text NOT NULL,
  body text NOT NULL,
  CONSTRAINT idempotency_pkey PRIMARY KEY(tenant, key)
) WITH (autovacuum_vacuum_scale_factor = 0.05);
CREATE INDEX idempotency_by_expiry ON idempotency(expires_ms);

CREATE TABLE audit(
  tenant integer NOT NULL,
  number bigint NOT NULL,
  at_ms bigint NOT NULL,
  action text NOT NULL,
  text text NOT NULL,
  PRIMARY KEY(tenant, number)
);

-- How many tasks of each worker are in each status: what was folded, and what
-- was added since.
CREATE TABLE task_counts(
  tenant integer NOT NULL,
  lane integer NOT NULL,
  status smallint NOT NULL,
  count bigint NOT NULL,
  PRIMARY KEY(tenant, lane, status)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.1);
CREATE TABLE count_deltas(
  tenant integer NOT NULL,
  lane integer NOT NULL,
  status smallint NOT NULL,
  count bigint NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);
CREATE INDEX count_deltas_of ON count_deltas(tenant, lane);

CREATE TABLE usage(
  tenant integer NOT NULL,
  period text COLLATE "C" NOT NULL,
  executions bigint NOT NULL,
  PRIMARY KEY(tenant, period)
) WITH (fillfactor = 50);
CREATE TABLE usage_deltas(
  tenant integer NOT NULL,
  period text COLLATE "C" NOT NULL,
  executions bigint NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);
CREATE INDEX usage_deltas_of ON usage_deltas(tenant);

-- Starts that count for rates, of a worker or, where it is empty, of all workers
-- that share the limits of groups. The numbers of a rate rise from commit to
-- commit, since claims that write them hold the row of its limits.
CREATE TABLE starts(
  number bigint GENERATED ALWAYS AS IDENTITY,
  tenant integer NOT NULL,
  worker text COLLATE "C" NOT NULL,
  task_group text COLLATE "C" NOT NULL,
  at_ms bigint NOT NULL,
  expires_ms bigint NOT NULL,
  count integer NOT NULL,
  PRIMARY KEY(tenant, worker, number)
) WITH (autovacuum_vacuum_scale_factor = 0.05);
CREATE INDEX starts_of_group ON starts(tenant, worker, task_group, number);
CREATE INDEX starts_by_expiry ON starts(expires_ms);

-- Rows that instances lock so that they take turns. Other roles cannot lock them.
-- Claims lock one for each worker with limits, and one, of lane 0, for each
-- tenant whose workers share them. Other lanes are below 0.
CREATE TABLE limits(
  tenant integer NOT NULL,
  lane integer NOT NULL,
  PRIMARY KEY(tenant, lane)
);
${INSTANCE_TABLES}`;

/**
 * Creates what version 4 keeps counts in. Programs of earlier versions add
 * deltas without a job, and leave out when a task has failed: the proof of the
 * counts, and the next run of the task, make up for that.
 */
const KEPT_COUNTS = `
-- What happened in spans of time: of all tasks of a tenant where worker and job
-- are empty, of a worker's where job is, else of a job's.
CREATE TABLE activity(
  tenant integer NOT NULL,
  worker text COLLATE "C" NOT NULL,
  job text COLLATE "C" NOT NULL,
  step_ms bigint NOT NULL,
  at_ms bigint NOT NULL,
  expires_ms bigint NOT NULL,
  created bigint NOT NULL,
  started bigint NOT NULL,
  succeeded bigint NOT NULL,
  failed bigint NOT NULL,
  lost bigint NOT NULL,
  completed bigint NOT NULL,
  missed bigint NOT NULL,
  lag_sum_ms bigint NOT NULL,
  lag_max_ms bigint NOT NULL,
  run_sum_ms bigint NOT NULL,
  PRIMARY KEY(tenant, worker, job, step_ms, at_ms)
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.05);
CREATE INDEX activity_by_expiry ON activity(expires_ms);
CREATE TABLE activity_deltas(
  LIKE activity
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);
CREATE INDEX activity_deltas_of ON activity_deltas(tenant, worker, job);

-- How many tasks of each job are in each status. Rows without tasks are swept.
CREATE TABLE job_counts(
  tenant integer NOT NULL,
  lane integer NOT NULL,
  status smallint NOT NULL,
  job text COLLATE "C" NOT NULL,
  count bigint NOT NULL,
  PRIMARY KEY(tenant, lane, status, job)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.1);
ALTER TABLE count_deltas ADD job text COLLATE "C";
INSERT INTO job_counts
  SELECT tenant, lane, status, job, count(*) FROM task_state
  GROUP BY tenant, lane, status, job;
-- The longest queues, without reading all.
CREATE INDEX job_counts_top ON job_counts(tenant, status, count)
  WHERE count > 0;
CREATE INDEX job_counts_empty ON job_counts(count) WHERE count = 0;
CREATE INDEX task_counts_top ON task_counts(tenant, status, count)
  WHERE count > 0;

-- When a repeating task last failed whose last run has failed.
ALTER TABLE task_state ADD failing_ms bigint;
UPDATE task_state AS of SET failing_ms = coalesce(
    of.state::json #>> '{error,atMs}', of.state::json ->> 'updatedAtMs'
  )::bigint FROM tasks
  WHERE tasks.id = of.id AND status NOT IN (9, 10)
    AND position('"lastOutcome":"failed"' IN of.state) > 0
    AND position('"repeat":{' IN tasks.definition) > 0
    AND of.state::json ->> 'lastOutcome' = 'failed'
    AND json_typeof(tasks.definition::json -> 'repeat') = 'object';
CREATE INDEX state_failing ON task_state(tenant, failing_ms, id)
  WHERE failing_ms IS NOT NULL;
`;

/**
 * Creates the indexes of version 5. A trigger tells the state of a task whether
 * it repeats, since instances of earlier versions also make and edit tasks.
 * `+ 0` keeps other indexes from giving the order: the planner might take one
 * of them, and walk over all tasks that do not repeat.
 */
const REPEATING_TASKS = `
ALTER TABLE task_state ADD repeats boolean;
CREATE INDEX state_repeating
  ON task_state(tenant, lane, status, (date_ms + 0), id) WHERE repeats;
CREATE INDEX tasks_repeating ON tasks(tenant, (created_ms + 0), id)
  WHERE strpos(definition, '"repeat":{') > 0;
CREATE FUNCTION note_repeats() RETURNS trigger LANGUAGE plpgsql
SET search_path FROM CURRENT AS $$
BEGIN
  UPDATE task_state SET repeats = strpos(NEW.definition, '"repeat":{') > 0
    WHERE id = NEW.id;
  RETURN NULL;
END $$;
CREATE TRIGGER task_repeats AFTER INSERT ON tasks FOR EACH ROW
  WHEN (strpos(NEW.definition, '"repeat":{') > 0)
  EXECUTE FUNCTION note_repeats();
CREATE TRIGGER task_repeats_changed AFTER UPDATE OF definition ON tasks
  FOR EACH ROW WHEN ((strpos(OLD.definition, '"repeat":{') > 0) <>
    (strpos(NEW.definition, '"repeat":{') > 0))
  EXECUTE FUNCTION note_repeats();
UPDATE task_state SET repeats = true FROM tasks
  WHERE tasks.id = task_state.id AND strpos(definition, '"repeat":{') > 0;
`;

/**
 * Creates the index of version 6. Instances of earlier versions leave the
 * column as it is, so lists also look at the status and the state.
 */
const WAITING_TASKS = `
-- 1 for tasks that wait for an event, 2 for an approval, null for all others.
ALTER TABLE task_state ADD IF NOT EXISTS awaits smallint;
CREATE INDEX IF NOT EXISTS state_awaiting ON task_state(tenant, awaits, date_ms, id)
  WHERE awaits IS NOT NULL;
`;

/**
 * Creates the table of version 7. Triggers write it, since instances of earlier
 * versions also make and edit tasks. They do nothing for tasks without tags:
 * only the member of a definition reads so, as in version 5. For tasks that an
 * instance of this version makes it adds the rows itself, which takes a third
 * of the time.
 */
const TASK_TAGS = `
-- Whether the program that made the task has also written its tags.
ALTER TABLE tasks ADD tags_written boolean;
-- A row for each tag of each task; tags are JSON texts.
CREATE TABLE task_tags(
  tenant integer NOT NULL,
  tag text COLLATE "C" NOT NULL,
  created_ms bigint NOT NULL,
  id text COLLATE "C" NOT NULL
) WITH (
  autovacuum_vacuum_scale_factor = 0.05,
  autovacuum_vacuum_insert_scale_factor = 0.1
);
CREATE FUNCTION note_tags() RETURNS trigger LANGUAGE plpgsql
SET search_path FROM CURRENT AS $$
BEGIN
  IF TG_OP <> 'INSERT' THEN
    DELETE FROM task_tags AS there
      USING json_array_elements(OLD.definition::json -> 'tags') AS gone(value)
      WHERE there.tenant = OLD.tenant AND there.tag = gone.value::text
        AND there.created_ms = OLD.created_ms AND there.id = OLD.id;
  END IF;
  IF TG_OP <> 'DELETE' THEN
    INSERT INTO task_tags
      SELECT NEW.tenant, made.value::text, NEW.created_ms, NEW.id
      FROM json_array_elements(NEW.definition::json -> 'tags') AS made(value);
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER task_tags_made AFTER INSERT ON tasks FOR EACH ROW
  WHEN (NEW.tags_written IS NULL AND strpos(NEW.definition, '"tags":[') > 0)
  EXECUTE FUNCTION note_tags();
CREATE TRIGGER task_tags_changed AFTER UPDATE OF definition ON tasks
  FOR EACH ROW WHEN ((strpos(OLD.definition, '"tags":[') > 0 OR
    strpos(NEW.definition, '"tags":[') > 0) AND
    (OLD.labels, OLD.created_ms) IS DISTINCT FROM
    (NEW.labels, NEW.created_ms))
  EXECUTE FUNCTION note_tags();
CREATE TRIGGER task_tags_removed AFTER DELETE ON tasks FOR EACH ROW
  WHEN (strpos(OLD.definition, '"tags":[') > 0) EXECUTE FUNCTION note_tags();
INSERT INTO task_tags
  SELECT tenant, made.value::text, created_ms, id FROM tasks,
    LATERAL json_array_elements(definition::json -> 'tags') AS made(value)
  WHERE strpos(definition, '"tags":[') > 0;
CREATE INDEX task_tags_of ON task_tags(tenant, tag, created_ms, id);
`;

/** All migrations in order. A migration that was released never changes. */
export const MIGRATIONS: readonly Migration[] = [
  {
    version: 1,
    name: "initial",
    compatibleSince: 1,
    sql: INITIAL_TABLES,
  },
  {
    version: 2,
    name: "inbox",
    compatibleSince: 1,
    sql: INBOX_TABLES,
  },
  {
    version: 3,
    name: "events",
    compatibleSince: 1,
    sql: EVENT_TABLES,
  },
  {
    version: 4,
    name: "kept counts",
    compatibleSince: 1,
    sql: KEPT_COUNTS,
  },
  {
    version: 5,
    name: "repeating tasks",
    compatibleSince: 1,
    sql: REPEATING_TASKS,
  },
  {
    version: 6,
    name: "waiting tasks",
    compatibleSince: 1,
    sql: WAITING_TASKS,
  },
  {
    version: 7,
    name: "task tags",
    compatibleSince: 1,
    sql: TASK_TAGS,
  },
];
