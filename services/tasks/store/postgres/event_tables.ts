/**
 * The tables of events, and the triggers that fill them.
 *
 * Triggers, since instances of the version before also write histories while a
 * new one has readers already, and since what they find of listeners is later
 * than the statement. Order among writers comes from the numbers of their
 * transactions: readers see only those below which no other is under way.
 *
 * @module
 */

/** Creates the tables of version 3. */
export const EVENT_TABLES = `
-- Tenants whose events are kept, and until when. log names what is kept since
-- the tenant was last without a row here, and xact made it; dropped_xact and
-- dropped are the last event that is gone.
CREATE TABLE listeners(
  tenant integer PRIMARY KEY,
  until_ms bigint NOT NULL,
  log text NOT NULL,
  xact bigint NOT NULL,
  dropped_xact bigint NOT NULL,
  dropped bigint NOT NULL
);

-- source is 0 for a record of a task's history, 1 for an entry of the audit log,
-- and 2 for the engine.
CREATE TABLE events(
  xact bigint NOT NULL DEFAULT pg_current_xact_id()::text::bigint,
  number bigint GENERATED ALWAYS AS IDENTITY,
  tenant integer NOT NULL,
  source smallint NOT NULL,
  type text NOT NULL,
  at_ms bigint NOT NULL,
  text text NOT NULL,
  task text,
  lane integer,
  job text,
  grp text,
  key text,
  date_ms bigint,
  PRIMARY KEY(tenant, xact, number)
) WITH (
  autovacuum_vacuum_scale_factor = 0.05,
  autovacuum_vacuum_insert_scale_factor = 0.1
);

CREATE FUNCTION log_history() RETURNS trigger LANGUAGE plpgsql
SET search_path FROM CURRENT AS $$
BEGIN
  IF EXISTS(SELECT 1 FROM listeners) THEN
    INSERT INTO events(tenant, source, type, at_ms, text, task, lane, job, grp,
        key, date_ms)
      SELECT tenant, 0, '', now_ms(), fresh.text, id, lane, job, grp, key,
        date_ms
      FROM fresh JOIN task_state USING(id) JOIN listeners USING(tenant)
      ORDER BY id, seq;
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER history_events AFTER INSERT ON history
  REFERENCING NEW TABLE AS fresh
  FOR EACH STATEMENT EXECUTE FUNCTION log_history();

CREATE FUNCTION log_audit() RETURNS trigger LANGUAGE plpgsql
SET search_path FROM CURRENT AS $$
BEGIN
  INSERT INTO events(tenant, source, type, at_ms, text)
    SELECT NEW.tenant, 1, NEW.action, NEW.at_ms, NEW.text
    FROM listeners WHERE tenant = NEW.tenant;
  RETURN NULL;
END $$;
CREATE TRIGGER audit_events AFTER INSERT ON audit
  FOR EACH ROW EXECUTE FUNCTION log_audit();
`;
