/**
 * The parts of a group's statement that write tasks, without their links and
 * histories.
 *
 * @module
 */

import type { InternedNames } from "./interned_names.ts";
import {
  NOTHING,
  type Numbers,
  type StatementBuilder,
  type Texts,
} from "../../../shared/postgres/statement_builder.ts";
import { KEPT, type TaskChange } from "./task_change.ts";
import type { GroupedWrites } from "./write_group.ts";

/** The columns of tasks that are inserted or changed. */
class StateColumns {
  readonly ids: string[] = [];
  readonly versions: number[] = [];
  readonly statuses: number[] = [];
  readonly links: Numbers = [];
  readonly groups: string[] = [];
  readonly jobs: string[] = [];
  readonly keys: Texts = [];
  readonly dates: number[] = [];
  readonly ends: Numbers = [];
  readonly ranks: Numbers = [];
  readonly wakes: Numbers = [];
  readonly failings: Numbers = [];
  readonly awaits: Numbers = [];
  readonly errors: Texts = [];
  readonly states: string[] = [];
  readonly results: string[] = [];

  constructor(changes: readonly TaskChange[]) {
    for (const change of changes) {
      this.ids.push(change.id);
      this.versions.push(change.version);
      this.statuses.push(change.status);
      this.links.push(change.links?.length ?? null);
      this.groups.push(change.group);
      this.jobs.push(change.job);
      this.keys.push(change.key ?? null);
      this.dates.push(change.dateMs);
      this.ends.push(change.finishedAtMs ?? null);
      this.ranks.push(change.rank ?? null);
      this.wakes.push(change.wakeAtMs ?? null);
      this.failings.push(change.failingSinceMs ?? null);
      this.awaits.push(change.awaits ?? null);
      this.errors.push(change.errorCode ?? null);
      this.states.push(change.state);
      this.results.push(change.result ?? NOTHING);
    }
  }

  /** The columns as arrays, in the order of {@linkcode STATE_NAMES}. */
  arrays(builder: StatementBuilder): readonly string[] {
    return [
      builder.texts(this.ids),
      builder.numbers(this.versions, "integer"),
      builder.numbers(this.statuses, "smallint"),
      builder.numbers(this.links, "integer"),
      builder.texts(this.groups),
      builder.texts(this.jobs),
      builder.texts(this.keys),
      builder.numbers(this.dates, "bigint"),
      builder.numbers(this.ends, "bigint"),
      builder.numbers(this.ranks, "bigint"),
      builder.numbers(this.wakes, "bigint"),
      builder.numbers(this.failings, "bigint"),
      builder.numbers(this.awaits, "smallint"),
      builder.texts(this.errors),
      builder.longTexts(this.states),
      builder.longTexts(this.results),
    ];
  }

  /** The columns as arrays, in the order of {@linkcode NEW_NAMES}. */
  newArrays(builder: StatementBuilder): readonly string[] {
    return [
      builder.texts(this.ids),
      builder.numbers(this.statuses, "smallint"),
      builder.texts(this.groups),
      builder.texts(this.jobs),
      builder.numbers(this.dates, "bigint"),
      builder.numbers(this.ranks, "bigint"),
      builder.longTexts(this.states),
    ];
  }
}

const STATE_NAMES = "id, version, status, links, grp, job, key, date_ms, " +
  "finished_ms, rank, wake_ms, failing_ms, awaits, error_code, state, " +
  "result";

/** The columns of {@linkcode STATE_NAMES} that every new task has. */
const NEW_NAMES = "id, status, grp, job, date_ms, rank, state";

/**
 * Inserts tasks. Most groups have none with a key, a link or an end, and write
 * one record of each: they go without the columns that would be empty.
 */
export function addCreations(
  builder: StatementBuilder,
  { creations }: GroupedWrites,
  names: InternedNames,
): void {
  if (creations.length === 0) return;
  const columns = new StateColumns(creations);
  const numbers = numbersOf(creations, names);
  const tenants = builder.numbers(numbers.tenants, "integer");
  const lanes = builder.numbers(numbers.lanes, "integer");
  const isPlain = creations.every(isPlainCreation);
  const arrays = isPlain ? columns.newArrays(builder) : columns.arrays(builder);
  const [ids = ""] = arrays;
  builder.part(
    "made",
    `INSERT INTO task_state(tenant, lane, was_status, ${STATE_NAMES}) ` +
      (isPlain
        ? "SELECT tenant, lane, status, id, 1, status, 0, grp, job, NULL, " +
          "date_ms, NULL, rank, NULL, NULL, NULL, NULL, state, NULL "
        : "SELECT tenant, lane, status, id, version, status, " +
          "coalesce(links, 0), grp, job, key, date_ms, finished_ms, rank, " +
          "wake_ms, failing_ms, awaits, error_code, state, result ") +
      `FROM unnest(${tenants}, ${lanes}, ${arrays.join(", ")}) ` +
      `AS new(tenant, lane, ${isPlain ? NEW_NAMES : STATE_NAMES})`,
  );
  const defined = creations.flatMap((change) => change.defined ?? []);
  const areTagged = addTags(builder, creations, numbers);
  builder.part(
    "defined",
    "INSERT INTO tasks(id, tenant, created_ms, definition, labels, data" +
      `${areTagged ? ", tags_written) SELECT *, true" : ") SELECT *"} ` +
      `FROM unnest(${ids}, ${tenants}, ${
        builder.numbers(defined.map((of) => of.createdAtMs), "bigint")
      }, ${builder.longTexts(defined.map((of) => of.definition))}, ${
        builder.texts(defined.map((of) => of.labels ?? null))
      }, ${builder.longTexts(defined.map((of) => of.data))})`,
  );
  if (isPlain) {
    const records = creations.flatMap(({ history }) => history);
    builder.part(
      "told",
      `INSERT INTO history(id, seq, text, hash) SELECT id, 1, text, hash ` +
        `FROM unnest(${ids}, ${
          builder.longTexts(records.map(({ text }) => text))
        }, ${
          builder.texts(records.map(({ hash }) => hash))
        }) AS first(id, text, hash)`,
    );
  } else addHistory(builder, creations, "told");
  builder.counted.push(madeSql(builder, creations, numbers));
}

/** Adds the rows of the tags of new tasks; false when they have none. */
function addTags(
  builder: StatementBuilder,
  creations: readonly TaskChange[],
  { tenants }: LaneNumbers,
): boolean {
  const rows = creations.flatMap(({ next: { id, tags, createdAtMs } }, index) =>
    tags.map((tag) => ({ id, tag, createdAtMs, tenant: tenants[index] ?? 0 }))
  );
  if (rows.length === 0) return false;
  builder.part(
    "tagged",
    `INSERT INTO task_tags SELECT * FROM unnest(${
      builder.numbers(rows.map(({ tenant }) => tenant), "integer")
    }, ${builder.texts(rows.map(({ tag }) => JSON.stringify(tag)))}, ${
      builder.numbers(rows.map((row) => row.createdAtMs), "bigint")
    }, ${builder.texts(rows.map(({ id }) => id))})`,
  );
  return true;
}

function isPlainCreation(of: TaskChange): boolean {
  return of.version === 1 && of.links === undefined && of.key === undefined &&
    of.finishedAtMs === undefined && of.wakeAtMs === undefined &&
    of.failingSinceMs === undefined && of.awaits === undefined &&
    of.errorCode === undefined && of.result === undefined &&
    of.history.length === 1 && of.history[0]?.seq === 1;
}

/** Adds records to the histories of tasks. */
function addHistory(
  builder: StatementBuilder,
  changes: readonly TaskChange[],
  name: string,
): void {
  const records = changes.flatMap(({ id, history }) =>
    history.map((record) => ({ id, ...record }))
  );
  if (records.length === 0) return;
  builder.part(
    name,
    `INSERT INTO history(id, seq, text, hash) SELECT * FROM unnest(${
      builder.texts(records.map(({ id }) => id))
    }, ${builder.numbers(records.map(({ seq }) => seq), "integer")}, ${
      builder.longTexts(records.map(({ text }) => text))
    }, ${builder.texts(records.map(({ hash }) => hash))})`,
  );
}

/** What new tasks add to the counts, summed up here. */
function madeSql(
  builder: StatementBuilder,
  creations: readonly TaskChange[],
  { tenants, lanes }: LaneNumbers,
): string {
  const sums = new Map<string, [number, number, number, number, string]>();
  creations.forEach(({ status, job }, index) => {
    const [tenant = 0, lane = 0] = [tenants[index], lanes[index]];
    const key = `${lane} ${status} ${job}`;
    const sum = sums.get(key);
    if (sum === undefined) sums.set(key, [tenant, lane, status, 1, job]);
    else sum[3]++;
  });
  const rows = [...sums.values()];
  const column = (at: 0 | 1 | 2 | 3): string =>
    builder.numbers(rows.map((row) => row[at]), "integer");
  return `SELECT tenant, lane, status, count, job FROM unnest(${column(0)}, ` +
    `${column(1)}, ${column(2)}, ${column(3)}, ` +
    `${builder.texts(rows.map((row) => row[4]))}) ` +
    "AS made(tenant, lane, status, count, job)";
}

/** The numbers of the tenants and workers of tasks. */
interface LaneNumbers {
  readonly tenants: number[];
  readonly lanes: number[];
}

function numbersOf(
  changes: readonly TaskChange[],
  names: InternedNames,
): LaneNumbers {
  return {
    tenants: changes.map(({ tenantId }) => names.tenantNumber(tenantId)),
    lanes: changes.map((of) => names.laneNumber(of.tenantId, of.workerId)),
  };
}

/** Changes tasks. */
export function addChanges(
  builder: StatementBuilder,
  { updates, moves }: GroupedWrites,
  names: InternedNames,
): void {
  if (updates.length > 0) {
    addUpdates(builder, updates.toSorted(compareIds), names);
    builder.demand("changed", updates.length);
  }
  if (moves.length > 0) {
    addMoves(builder, moves, names);
    builder.demand("moved", moves.length);
  }
  addHistory(builder, [...updates, ...moves], "noted");
  const redefined = [...updates, ...moves].flatMap(({ id, defined }) =>
    defined === undefined ? [] : { id, ...defined }
  );
  if (redefined.length === 0) return;
  builder.part(
    "redefined",
    "UPDATE tasks AS there SET created_ms = new.created_ms, " +
      "definition = new.definition, labels = new.labels, data = new.data " +
      `FROM unnest(${builder.texts(redefined.map(({ id }) => id))}, ${
        builder.numbers(redefined.map((of) => of.createdAtMs), "bigint")
      }, ${builder.longTexts(redefined.map((of) => of.definition))}, ${
        builder.texts(redefined.map((of) => of.labels ?? null))
      }, ${builder.longTexts(redefined.map((of) => of.data))}) ` +
      "AS new(id, created_ms, definition, labels, data) " +
      "WHERE there.id = new.id",
  );
}

/** The arrays of changes: tenant, lane, the expected version and the state. */
function changedArrays(
  builder: StatementBuilder,
  changes: readonly TaskChange[],
  names: InternedNames,
): string {
  const { tenants, lanes } = numbersOf(changes, names);
  const expected = changes.map(({ expectedVersion }) => expectedVersion);
  return [
    ...[tenants, lanes, expected].map((values) =>
      builder.numbers(values, "integer")
    ),
    ...new StateColumns(changes).arrays(builder),
  ].join(", ");
}

/** What each change sets, apart from its worker and its key. */
const SET = "version = new.version, was_status = there.status, " +
  "status = new.status, links = coalesce(new.links, there.links), " +
  "grp = new.grp, job = new.job, date_ms = new.date_ms, " +
  "finished_ms = new.finished_ms, rank = new.rank, wake_ms = new.wake_ms, " +
  "failing_ms = new.failing_ms, awaits = new.awaits, " +
  "error_code = new.error_code, state = new.state, " +
  `result = CASE new.result WHEN E'\\x${
    KEPT.charCodeAt(0).toString(16)
  }' THEN there.result ELSE new.result END`;

/**
 * Changes tasks that keep their worker, job and key, so that no change can be
 * in the way of another one of the group. A task without links in the write
 * must have none in the database.
 */
function addUpdates(
  builder: StatementBuilder,
  updates: readonly TaskChange[],
  names: InternedNames,
): void {
  builder.part(
    "changed",
    `UPDATE task_state AS there SET ${SET} FROM unnest(${
      changedArrays(builder, updates, names)
    }) ` +
      `AS new(tenant, lane, expected, ${STATE_NAMES}) ` +
      "WHERE there.id = new.id AND there.version = new.expected AND " +
      "there.tenant + 0 = new.tenant AND there.lane + 0 = new.lane AND " +
      "there.job = new.job AND " +
      "there.key IS NOT DISTINCT FROM new.key AND " +
      "(there.status < 7 OR new.status >= 7) AND " +
      "(there.links = 0 OR new.links IS NOT NULL) " +
      "RETURNING there.tenant, there.lane, there.was_status, there.status, " +
      "there.job",
  );
  builder.counted.push(
    "SELECT tenant, lane, status, 1 AS count, job FROM changed",
    "SELECT tenant, lane, was_status, -1, job FROM changed",
  );
}

/** Changes tasks that may get another worker, job or key. */
function addMoves(
  builder: StatementBuilder,
  moves: readonly TaskChange[],
  names: InternedNames,
): void {
  builder.part(
    "moved",
    `UPDATE task_state AS there SET ${SET}, lane = new.lane, key = new.key ` +
      `FROM unnest(${changedArrays(builder, moves, names)}) ` +
      `AS new(tenant, lane, expected, ${STATE_NAMES}) ` +
      "JOIN task_state AS old ON old.id = new.id " +
      "WHERE there.id = new.id AND there.version = new.expected AND " +
      "old.version = new.expected AND there.tenant + 0 = new.tenant " +
      "RETURNING there.tenant, there.lane, there.status, " +
      "old.lane AS was_lane, there.was_status, there.job, old.job AS was_job",
  );
  builder.counted.push(
    "SELECT tenant, lane, status, 1 AS count, job FROM moved",
    "SELECT tenant, was_lane, was_status, -1, was_job FROM moved",
  );
}

/** Removes tasks with their histories. */
export function addRemovals(
  builder: StatementBuilder,
  { removals }: GroupedWrites,
  names: InternedNames,
): void {
  if (removals.length === 0) return;
  const sorted = removals.toSorted(compareIds);
  const ids = sorted.map(({ id }) => id);
  builder.part(
    "removed",
    `DELETE FROM task_state AS there USING unnest(${builder.texts(ids)}, ${
      builder.numbers(
        sorted.map(({ tenantId }) => names.tenantNumber(tenantId)),
        "integer",
      )
    }, ${
      builder.numbers(sorted.map((of) => of.expectedVersion), "integer")
    }) AS old(id, tenant, version) WHERE there.id = old.id AND ` +
      "there.tenant + 0 = old.tenant AND there.version = old.version " +
      "RETURNING there.tenant, there.lane, there.status, there.job",
  );
  builder.demand("removed", removals.length);
  builder.counted.push(
    "SELECT tenant, lane, status, -1 AS count, job FROM removed",
  );
  const removedIds = builder.texts(ids);
  builder.part(
    "forgotten",
    `DELETE FROM tasks WHERE id = ANY(${removedIds})`,
  );
  builder.part(
    "untold",
    `DELETE FROM history WHERE id = ANY(${removedIds})`,
  );
}

/**
 * Orders rows as all groups do, so that two groups with the same tasks wait for
 * each other once, and not each for the other.
 */
function compareIds(
  one: { readonly id: string },
  other: { readonly id: string },
): number {
  return one.id < other.id ? -1 : 1;
}
