/**
 * The tables of the inbox, and the function by which roles of the database put
 * requests for tasks into it, in transactions of their own.
 *
 * The function decides nothing: it checks the shape of a request and stores it.
 * Instances of the service take requests over after the commit, by the rules of
 * the API. So a transaction that enqueues waits for no other, and one that is
 * rolled back leaves nothing.
 *
 * @module
 */

/**
 * The names that a request's options may have: the fields of a new task but for
 * those that are arguments, and but for `ref`, which names a task within a batch.
 */
export const ENQUEUE_OPTIONS: readonly string[] = [
  "callback",
  "date",
  "debounce",
  "delay",
  "dependencies",
  "expires",
  "group",
  "job",
  "metadata",
  "on_conflict",
  "on_dependency_failure",
  "priority",
  "repeat",
  "retain",
  "retry",
  "status",
  "tags",
  "throttle",
  "timeout",
  "timezone",
];

/** The most bytes of a request's data: the most that any plan may allow. */
export const MAX_ENQUEUED_DATA_BYTES = 16_777_216;
/** The most bytes of a request's options. */
export const MAX_ENQUEUED_OPTIONS_BYTES = 131_072;

/** The function as GRANT names it, without its schema. */
export const ENQUEUE_SIGNATURE = "enqueue(text, jsonb, jsonb, text)";

/** Creates the tables of version 2. */
export const INBOX_TABLES = `
-- The roles that may enqueue, each for a tenant. They are known by their names,
-- which survive a dump; a role with rights here cannot be dropped.
CREATE TABLE enqueue_roles(
  role text COLLATE "C" PRIMARY KEY,
  tenant integer NOT NULL
);

-- Requests that wait. xact is the transaction that a request comes from. A look
-- reads only requests of transactions that were under way at the last look, or
-- began later, however many dead rows there are.
CREATE TABLE inbox(
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  tenant integer NOT NULL,
  xact bigint NOT NULL,
  bytes integer NOT NULL,
  role text COLLATE "C" NOT NULL,
  asked_ms bigint NOT NULL,
  worker text NOT NULL,
  key text,
  data text,
  options text NOT NULL
) WITH (
  autovacuum_vacuum_scale_factor = 0,
  autovacuum_vacuum_threshold = 1000,
  autovacuum_vacuum_cost_delay = 1
);
CREATE INDEX inbox_by_xact ON inbox(xact, id);
CREATE INDEX inbox_of_tenant ON inbox(tenant, id);

-- Requests that were refused, and why.
CREATE TABLE inbox_refused(
  id bigint PRIMARY KEY,
  tenant integer NOT NULL,
  role text COLLATE "C" NOT NULL,
  asked_ms bigint NOT NULL,
  worker text NOT NULL,
  key text,
  data text,
  options text NOT NULL,
  refused_ms bigint NOT NULL,
  expires_ms bigint NOT NULL,
  problem text NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0.05);
CREATE INDEX inbox_refused_of_tenant ON inbox_refused(tenant, id);
CREATE INDEX inbox_refused_by_expiry ON inbox_refused(expires_ms);

-- The tenant is that of session_user, the role that has logged in. SET ROLE does
-- not change it, so no statement of a client gets it another tenant.
CREATE FUNCTION enqueue(
  worker text,
  data jsonb,
  options jsonb DEFAULT '{}',
  key text DEFAULT NULL
) RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER AS $$
DECLARE
  own integer;
  bad text;
  request bigint;
  data_bytes integer := coalesce(octet_length(enqueue.data::text), 0);
  options_bytes integer := octet_length(enqueue.options::text);
BEGIN
  SELECT of.tenant INTO own FROM enqueue_roles AS of
    WHERE of.role = session_user;
  IF own IS NULL THEN
    RAISE EXCEPTION 'Cannot enqueue: the role "%" belongs to no tenant',
      session_user USING ERRCODE = 'insufficient_privilege',
      HINT = 'The operator runs: tasks enqueue-role ROLE --tenant DOMAIN';
  END IF;
  IF coalesce(enqueue.worker, '') = '' THEN
    RAISE EXCEPTION 'Cannot enqueue: worker must be the name or id of a worker'
      USING ERRCODE = 'invalid_parameter_value';
  END IF;
  IF NOT EXISTS(SELECT FROM records AS there WHERE there.tenant = own AND
      there.kind = 'worker' AND there.alias = lower(enqueue.worker)) AND
    NOT EXISTS(SELECT FROM records AS there WHERE there.tenant = own AND
      there.kind = 'worker' AND there.id = enqueue.worker) THEN
    RAISE EXCEPTION 'Cannot enqueue: there is no worker "%"',
      left(enqueue.worker, 64) USING ERRCODE = 'invalid_parameter_value';
  END IF;
  IF data_bytes > ${MAX_ENQUEUED_DATA_BYTES} THEN
    RAISE EXCEPTION 'Cannot enqueue: data has % bytes, at most % are allowed',
      data_bytes, ${MAX_ENQUEUED_DATA_BYTES}
      USING ERRCODE = 'program_limit_exceeded';
  END IF;
  IF jsonb_typeof(enqueue.options) IS DISTINCT FROM 'object' THEN
    RAISE EXCEPTION 'Cannot enqueue: options must be a JSON object'
      USING ERRCODE = 'invalid_parameter_value';
  END IF;
  IF options_bytes > ${MAX_ENQUEUED_OPTIONS_BYTES} THEN
    RAISE EXCEPTION
      'Cannot enqueue: options have % bytes, at most % are allowed',
      options_bytes, ${MAX_ENQUEUED_OPTIONS_BYTES}
      USING ERRCODE = 'program_limit_exceeded';
  END IF;
  SELECT name INTO bad FROM jsonb_object_keys(enqueue.options) AS given(name)
    WHERE name <> ALL('{${ENQUEUE_OPTIONS.join()}}') LIMIT 1;
  IF bad IS NOT NULL THEN
    RAISE EXCEPTION 'Cannot enqueue: the option "%" is unknown', left(bad, 64)
      USING ERRCODE = 'invalid_parameter_value', HINT = CASE
        WHEN bad IN ('worker', 'data', 'key')
        THEN 'It is an argument of its own.'
        ELSE 'Options are: ${ENQUEUE_OPTIONS.join(", ")}.' END;
  END IF;
  IF enqueue.key = '' OR char_length(enqueue.key) > 200 THEN
    RAISE EXCEPTION 'Cannot enqueue: key must have 1 to 200 characters'
      USING ERRCODE = 'invalid_parameter_value';
  END IF;
  INSERT INTO inbox AS made(tenant, xact, bytes, role, asked_ms, worker, key,
    data, options)
  VALUES(own, pg_current_xact_id()::text::bigint, data_bytes + options_bytes,
    session_user, now_ms(),
    enqueue.worker, enqueue.key, enqueue.data::text, enqueue.options::text)
  RETURNING made.id INTO request;
  RETURN request;
END $$;

-- Tables of a session are searched last, or they could stand in for these.
DO $$ BEGIN
  EXECUTE format(
    'ALTER FUNCTION ${ENQUEUE_SIGNATURE} SET search_path = pg_catalog, %I, pg_temp',
    current_schema());
END $$;
REVOKE ALL ON FUNCTION ${ENQUEUE_SIGNATURE} FROM PUBLIC;
`;

/** Gives a role what it needs to enqueue, as statements for its owner. */
export function enqueueGrants(schema: string, role: string): readonly string[] {
  const name = quoteIdentifier(role);
  return [
    `GRANT USAGE ON SCHEMA "${schema}" TO ${name}`,
    `GRANT EXECUTE ON FUNCTION "${schema}".${ENQUEUE_SIGNATURE} TO ${name}`,
  ];
}

/** Takes what {@linkcode enqueueGrants} gives away again. */
export function enqueueRevokes(
  schema: string,
  role: string,
): readonly string[] {
  const name = quoteIdentifier(role);
  return [
    `REVOKE EXECUTE ON FUNCTION "${schema}".${ENQUEUE_SIGNATURE} FROM ${name}`,
    `REVOKE USAGE ON SCHEMA "${schema}" FROM ${name}`,
  ];
}

function quoteIdentifier(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
