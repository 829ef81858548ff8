/**
 * What lists and counts need so that their work does not grow with the number of
 * tasks.
 *
 * The thread that writes keeps the counts, in the transactions that change them
 * (`task_counts.ts`); the indexes leave out nearly all tasks.
 *
 * @module
 */

/** Makes the tables of version 2. */
export const COUNT_TABLES = `
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
