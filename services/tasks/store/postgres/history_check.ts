/**
 * Checks that the tasks in a schema and their histories were not changed after
 * they were written, and that what is kept about them is right.
 *
 * @module
 */

import type { Pool } from "../../../shared/postgres/pool.ts";
import type { Runner } from "../../../shared/postgres/session.ts";
import type { Task } from "../../domain/task.ts";
import {
  type CheckedHistories,
  columnFault,
  countFault,
  type HistoryRow,
  MAX_FAULTS,
  referenceFault,
  TaskCheck,
} from "../task_check.ts";
import { decodeBody, joinBody } from "../task_body.ts";
import { KnownTasks } from "./known_tasks.ts";
import { prepareTask } from "./task_change.ts";
import { WRONG_COUNTS } from "./upkeep.ts";

/** How many rows are in memory at once. */
const PAGE = 500;
/** The most bytes of records in memory at once; the first is always read. */
const PAGE_BYTES = 8_000_000;

/** Tables that refer to tenants, by an index that begins with their numbers. */
const OF_TENANTS: readonly string[] = [
  "lanes",
  "records",
  "idempotency",
  "audit",
  "task_counts",
  "job_counts",
  "activity",
  "usage",
];
/** Tables that refer to tasks by their ids. */
const OF_TASKS = ["tasks", "links"] as const;

/**
 * Checks the tasks of a schema: follows the hash chain of every task's history
 * to the end that the task states, compares the columns of each task with its
 * body and its links, checks that live tasks do not share a key, that the
 * counts are right, and that no row refers to a missing one.
 *
 * It may run beside the service. Each page of tasks and each tenant's counts
 * are seen as they are at one moment; no transaction stays open for longer, as
 * it would keep dead rows from being removed.
 *
 * @returns the faults, a sentence each, twenty at most; empty when all is as it
 * was written
 * @throws {Error} when the database fails
 */
export async function historyCheck(
  pool: Pool,
  { onProgress = () => {} }: {
    /**
     * Called from time to time with the progress.
     *
     * @default {() => {}}
     */
    readonly onProgress?: ((checked: CheckedHistories) => void) | undefined;
  } = {},
): Promise<readonly string[]> {
  const faults: string[] = [];
  const steps = [
    () => taskFaults(pool, onProgress),
    () => countFaults(pool),
    () => tenantFaults(pool),
  ];
  for (const step of steps) {
    for await (const fault of step()) {
      faults.push(fault);
      if (faults.length === MAX_FAULTS) return faults;
    }
  }
  return faults;
}

/** A page of tasks: those after one id, up to another or to the end. */
interface TaskPage {
  readonly afterId: string;
  readonly lastId: string | undefined;
  readonly checks: ReadonlyMap<string, TaskCheck>;
}

/** What was found in a page. */
interface PageFindings {
  readonly faults: readonly string[];
  readonly records: number;
  readonly lastId: string | undefined;
  /** How many rows of {@linkcode OF_TASKS} refer to no task. */
  readonly lost: readonly number[];
}

async function* taskFaults(
  pool: Pool,
  onProgress: (checked: CheckedHistories) => void,
): AsyncGenerator<string> {
  const checked = { tasks: 0, records: 0 };
  const lost = OF_TASKS.map(() => 0);
  let afterId: string | undefined = "";
  while (afterId !== undefined) {
    const from: string = afterId;
    const found: PageFindings = await pool.transaction(
      (open) =>
        checkPage(open, from, (records, tasks = 0) => {
          checked.records += records;
          checked.tasks += tasks;
          onProgress({ ...checked });
        }),
      { isolation: "repeatable read" },
    );
    yield* found.faults;
    found.lost.forEach((count, index) => lost[index]! += count);
    afterId = found.lastId;
  }
  for (const [index, table] of OF_TASKS.entries()) {
    if (lost[index] === 0) continue;
    yield referenceFault({ table, lost: lost[index] ?? 0, to: "task_state" });
  }
}

/** Checks the tasks after an id, in one state of the database. */
async function checkPage(
  open: Runner,
  afterId: string,
  note: (records: number, tasks?: number) => void,
): Promise<PageFindings> {
  const rows = await open.query<TaskRow>(TASK_ROWS, [afterId, PAGE]);
  const page: TaskPage = {
    afterId,
    lastId: rows.length < PAGE ? undefined : rows.at(-1)?.id,
    checks: new Map(rows.map((row) => [row.id, checkOf(row)])),
  };
  const faults: string[] = [];
  let records = 0;
  let stray: string | undefined;
  for await (const piece of piecesIn(open, page)) {
    records += piece.length;
    note(piece.length);
    for (const [id, ofTask] of Map.groupBy(piece, (row) => row.id)) {
      const check = page.checks.get(id);
      check?.read(ofTask);
      if (check !== undefined || id === stray) continue;
      stray = id;
      if (faults.length >= MAX_FAULTS) continue;
      faults.push(`Cannot trust history of "${id}": it belongs to no task`);
    }
  }
  for (const check of page.checks.values()) {
    for (const fault of check.end()) {
      if (faults.length < MAX_FAULTS) faults.push(fault);
    }
  }
  note(0, rows.length);
  const { condition, parameters } = rangeOf(page);
  const [lost] = await open.query<Record<string, number>>(
    `SELECT ${
      OF_TASKS.map((table) =>
        `(SELECT count(*) FROM ${table} AS there WHERE ${condition} AND ` +
        "NOT EXISTS(SELECT FROM task_state AS of WHERE of.id = there.id)) " +
        `AS ${table}`
      ).join(", ")
    }`,
    parameters,
  );
  return {
    faults,
    records,
    lastId: page.lastId,
    lost: OF_TASKS.map((table) => lost?.[table] ?? 0),
  };
}

/** The rows of a table that belong to the tasks of a page. */
function rangeOf(
  { afterId, lastId }: TaskPage,
): { readonly condition: string; readonly parameters: readonly string[] } {
  return lastId === undefined
    ? { condition: "there.id > $1::text", parameters: [afterId] }
    : {
      condition: "there.id > $1::text AND there.id <= $2::text",
      parameters: [afterId, lastId],
    };
}

interface RecordRow extends HistoryRow {
  readonly id: string;
}

/** The records of a page's tasks in their order, in pieces. */
async function* piecesIn(
  open: Runner,
  page: TaskPage,
): AsyncGenerator<readonly RecordRow[]> {
  const { condition, parameters } = rangeOf(page);
  const at = parameters.length;
  let last: Pick<RecordRow, "id" | "seq"> = { id: page.afterId, seq: 0 };
  while (true) {
    const rows: readonly RecordRow[] = await open.query<RecordRow>(
      "SELECT id, seq, text, hash FROM (SELECT *, row_number() OVER places " +
        "AS number, sum(octet_length(text)) OVER places AS bytes FROM (" +
        "SELECT id, seq, text, hash FROM history AS there " +
        `WHERE ${condition} AND ` +
        `(id, seq) > ($${at + 1}::text, $${at + 2}::integer) ` +
        `ORDER BY id, seq LIMIT ${PAGE}) AS next WINDOW places AS ` +
        "(ORDER BY id, seq ROWS UNBOUNDED PRECEDING)) AS read " +
        `WHERE number = 1 OR bytes <= ${PAGE_BYTES} ORDER BY number`,
      [...parameters, last.id, last.seq],
    );
    const end = rows.at(-1);
    if (end === undefined) return;
    yield rows;
    last = end;
  }
}

interface TaskRow {
  readonly id: string;
  readonly state: string;
  readonly version: number;
  readonly definition: string | null;
  readonly tenant_id: string | null;
  readonly is_of_tenant: boolean | null;
  readonly worker: string | null;
  readonly linked: number;
  readonly tagged: number;
  readonly has_rival: boolean;
  readonly [column: string]: unknown;
}

/** Tasks without their payloads, which nothing else tells of. */
const TASK_ROWS =
  "SELECT state.id, state.version, state.status, state.links, state.grp, " +
  "state.job, state.key, state.date_ms, state.finished_ms, state.rank, " +
  "state.wake_ms, state.error_code, state.state, defined.created_ms, " +
  "defined.definition, defined.labels, names.id AS tenant_id, " +
  "defined.tenant = state.tenant AND lanes.tenant = state.tenant " +
  "AS is_of_tenant, lanes.worker, " +
  "(SELECT count(*) FROM links WHERE links.id = state.id) AS linked, " +
  "(SELECT count(*) FROM unnest(string_to_array(defined.labels, chr(31))) " +
  "AS of(tag) JOIN task_tags AS own ON own.tenant = state.tenant AND " +
  "own.tag = of.tag AND own.created_ms = defined.created_ms AND " +
  "own.id = state.id) AS tagged, " +
  "state.key IS NOT NULL AND state.status < 7 AND EXISTS(SELECT " +
  "FROM task_state AS other WHERE other.lane = state.lane AND " +
  "other.key = state.key AND other.status < 7 AND other.id <> state.id) " +
  "AS has_rival FROM (SELECT * FROM task_state WHERE id > $1::text " +
  "ORDER BY id LIMIT $2::bigint) AS state " +
  "LEFT JOIN tasks AS defined ON defined.id = state.id " +
  "LEFT JOIN tenants AS names ON names.tenant = state.tenant " +
  "LEFT JOIN lanes ON lanes.lane = state.lane ORDER BY state.id";

function checkOf(row: TaskRow): TaskCheck {
  const { id, definition, state } = row;
  return new TaskCheck({
    id,
    // The end of its history is in the state.
    body: definition === null ? state : joinBody({ definition, state }),
    findFault: () => findRowFault(row),
  });
}

/** Checks a row against its body. */
function findRowFault(row: TaskRow): string | undefined {
  const { id, version, definition, state, tenant_id: tenantId } = row;
  if (tenantId === null) return "its tenant has no name";
  if (definition === null) return "its definition is not there";
  if (row.has_rival) return "another live task of its worker has its key";
  const task = decodeBody(joinBody({ definition, state }), {
    tenantId,
    id,
    version,
    dataJson: "null",
    resultJson: undefined,
  });
  const column = strayColumn(row, task);
  return column && columnFault(column);
}

/** The first column that differs from what the task would be written with. */
function strayColumn(row: TaskRow, task: Task): string | undefined {
  if (task.workerId !== row.worker || row.is_of_tenant !== true) return "lane";
  const { tenantId, id } = task;
  const change = prepareTask({
    ...{ kind: "task", tenantId, id, next: task },
    // So that it is prepared as a whole.
    expectedVersion: 0,
    history: [],
  }, new KnownTasks());
  if (change.kind === "remove") return undefined;
  const links = change.links?.length ?? 0;
  const columns: Readonly<Record<string, unknown>> = {
    status: change.status,
    links,
    grp: change.group,
    job: change.job,
    key: change.key,
    date_ms: change.dateMs,
    finished_ms: change.finishedAtMs,
    rank: change.rank,
    wake_ms: change.wakeAtMs,
    error_code: change.errorCode,
    created_ms: change.defined?.createdAtMs,
    labels: change.defined?.labels,
  };
  const stray = Object.keys(columns).find((column) =>
    (columns[column] ?? null) !== row[column]
  );
  if (stray !== undefined) return stray;
  if (row.tagged !== task.tags.length) return "labels";
  return row.linked === links ? undefined : "links";
}

/** Compares the stored counts of each worker with the tasks that are there. */
async function* countFaults(pool: Pool): AsyncGenerator<string> {
  let after = 0;
  while (true) {
    const tenants: readonly { tenant: number; id: string }[] = await pool
      .query<{ tenant: number; id: string }>(
        "SELECT tenant, id FROM tenants WHERE tenant > $1::integer " +
          "ORDER BY tenant LIMIT $2::bigint",
        [after, PAGE],
      );
    for (const { tenant, id: tenantId } of tenants) {
      after = tenant;
      const rows = await pool.query<
        { worker: string | null; status: number; kept: number; there: number }
      >(
        `SELECT lanes.worker, status, kept, there FROM (${WRONG_COUNTS}) ` +
          "AS wrong LEFT JOIN lanes ON lanes.lane = wrong.lane " +
          `ORDER BY wrong.lane, status LIMIT ${MAX_FAULTS}`,
        [tenant],
      );
      for (const { worker, status, kept, there } of rows) {
        const workerId = String(worker);
        yield countFault({ tenantId, workerId, status, kept, there });
      }
    }
    if (tenants.length < PAGE) return;
  }
}

/** Finds rows of tenants that are not there, from tenant to tenant. */
async function* tenantFaults(pool: Pool): AsyncGenerator<string> {
  for (const table of OF_TENANTS) {
    const next = (condition: string): string =>
      `SELECT there.tenant FROM ${table} AS there${condition} ` +
      "ORDER BY there.tenant LIMIT 1";
    const [row] = await pool.query<{ lost: number }>(
      `WITH RECURSIVE of(tenant) AS ((${next("")}) UNION ALL ` +
        `SELECT (${next(" WHERE there.tenant > of.tenant")}) FROM of ` +
        "WHERE of.tenant IS NOT NULL), strangers AS (SELECT tenant FROM of " +
        "WHERE tenant IS NOT NULL AND NOT EXISTS(SELECT FROM tenants " +
        "WHERE tenants.tenant = of.tenant)) " +
        `SELECT count(*) AS lost FROM ${table} ` +
        "WHERE tenant IN (SELECT tenant FROM strangers)",
    );
    const lost = row?.lost ?? 0;
    if (lost > 0) yield referenceFault({ table, lost, to: "tenants" });
  }
}
