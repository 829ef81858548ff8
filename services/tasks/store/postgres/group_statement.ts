/**
 * Builds the statement that applies a group of writes: all of them, or none
 * where one of them is refused.
 *
 * The writes are the rows of arrays, so a group of any size is one statement of
 * a few parameters, and of the same text as other groups with the same kinds of
 * writes. Long texts are one text with characters 30 between them, which takes
 * less of the processor on both sides than an array with its quotes.
 *
 * @module
 */

import type { SqlParameter } from "../../../shared/postgres/values.ts";
import type { Statement } from "../../../shared/postgres/transaction.ts";
import { FIRST_FINAL_CODE } from "../task_body.ts";
import type { InternedNames } from "./interned_names.ts";
import type { GroupedWrites } from "./write_group.ts";
import { KEPT, type TaskChange } from "./task_change.ts";

/** Numbers in an array. */
type Numbers = (number | null)[];
/** Texts in an array. */
type Texts = (string | null)[];

const SEPARATOR = "\x1e";
/** Stands for no text, as an empty one would mean an empty array. */
const NOTHING = "\x1d";

/** Builds the statement of a group. */
export function groupStatement(
  writes: GroupedWrites,
  names: InternedNames,
): Statement {
  const builder = new StatementBuilder();
  const made = addCreations(builder, writes, names);
  addChanges(builder, writes, names);
  addRemovals(builder, writes, names);
  addLinks(builder, writes, names);
  addHistory(builder, writes);
  addAnswers(builder, writes, names);
  addRequired(builder, writes, names);
  addQuotas(builder, writes, names);
  addUsage(builder, writes, names);
  addCounts(builder, made);
  return builder.build();
}

/** How many tasks a group adds, by tenant, worker and status. */
interface AddedCounts {
  readonly tenants: number[];
  readonly lanes: number[];
  readonly statuses: number[];
  readonly counts: number[];
}

/** Collects the parts of the statement and its parameters. */
class StatementBuilder {
  readonly #parts: string[] = [];
  readonly #demands: string[] = [];
  readonly #parameters: SqlParameter[] = [];
  /** Selects of the changes of counts. */
  readonly counted: string[] = [];

  /** A parameter with numbers. */
  numbers(values: Numbers, type: "integer" | "bigint" | "smallint"): string {
    return this.#add(values, `${type}[]`);
  }

  /** A parameter with short texts, which may be empty. */
  texts(values: Texts): string {
    return this.#add(values, "text[]");
  }

  /** A parameter with JSON texts. */
  longTexts(values: readonly string[]): string {
    const text = this.#add(values.join(SEPARATOR), "text");
    return `string_to_array(${text}, E'\\x1e', E'\\x1d')`;
  }

  /** Adds a part that changes rows. */
  part(name: string, sql: string): void {
    this.#parts.push(`${name} AS (${sql})`);
  }

  /** Demands that a part did something for each of its writes. */
  demand(name: string, count: number): void {
    const expected = this.#add(count, "bigint");
    this.#demands.push(`(SELECT count(*) FROM ${name}) = ${expected}`);
  }

  build(): Statement {
    const demands = this.#demands.length === 0
      ? "SELECT 1"
      : `SELECT demand(${this.#demands.join(" AND ")})`;
    return {
      sql: this.#parts.length === 0
        ? demands
        : `WITH ${this.#parts.join(",\n")}\n${demands}`,
      parameters: this.#parameters,
    };
  }

  #add(value: SqlParameter, type: string): string {
    return `$${this.#parameters.push(value)}::${type}`;
  }
}

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
      this.errors.push(change.errorCode ?? null);
      this.states.push(change.state);
      this.results.push(change.result ?? NOTHING);
    }
  }

  /** The columns as arrays, in the order of {@linkcode STATE_NAMES}. */
  arrays(builder: StatementBuilder): string {
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
      builder.texts(this.errors),
      builder.longTexts(this.states),
      builder.longTexts(this.results),
    ].join(", ");
  }
}

const STATE_NAMES = "id, version, status, links, grp, job, key, date_ms, " +
  "finished_ms, rank, wake_ms, error_code, state, result";

function addCreations(
  builder: StatementBuilder,
  { creations }: GroupedWrites,
  names: InternedNames,
): AddedCounts {
  const counts = new CountSums();
  if (creations.length === 0) return counts.rows();
  const columns = new StateColumns(creations);
  const tenants: number[] = [];
  const lanes: number[] = [];
  for (const { tenantId, workerId, status } of creations) {
    const tenant = names.tenantNumber(tenantId);
    const lane = names.laneNumber(tenantId, workerId);
    tenants.push(tenant);
    lanes.push(lane);
    counts.add(tenant, lane, status);
  }
  builder.part(
    "made",
    `INSERT INTO task_state(tenant, lane, was_status, ${STATE_NAMES}) ` +
      "SELECT tenant, lane, status, id, version, status, " +
      "coalesce(links, 0), grp, job, key, date_ms, finished_ms, rank, " +
      "wake_ms, error_code, state, result FROM unnest(" +
      `${builder.numbers(tenants, "integer")}, ` +
      `${builder.numbers(lanes, "integer")}, ${columns.arrays(builder)}) ` +
      `AS new(tenant, lane, ${STATE_NAMES})`,
  );
  const defined = creations.flatMap((change) => change.defined ?? []);
  builder.part(
    "defined",
    "INSERT INTO tasks(id, tenant, created_ms, definition, labels, data) " +
      `SELECT * FROM unnest(${builder.texts(columns.ids)}, ` +
      `${builder.numbers(tenants, "integer")}, ${
        builder.numbers(defined.map((of) => of.createdAtMs), "bigint")
      }, ${builder.longTexts(defined.map((of) => of.definition))}, ${
        builder.texts(defined.map((of) => of.labels ?? null))
      }, ${builder.longTexts(defined.map((of) => of.data))})`,
  );
  return counts.rows();
}

function addChanges(
  builder: StatementBuilder,
  { updates, moves }: GroupedWrites,
  names: InternedNames,
): void {
  if (updates.length > 0) {
    addUpdates(builder, updates, names);
    builder.demand("changed", updates.length);
  }
  if (moves.length > 0) {
    addMoves(builder, moves, names);
    builder.demand("moved", moves.length);
  }
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

/** What each change sets, apart from its worker and its key. */
const SET = "version = new.version, was_status = there.status, " +
  "status = new.status, links = coalesce(new.links, there.links), " +
  "grp = new.grp, job = new.job, date_ms = new.date_ms, " +
  "finished_ms = new.finished_ms, rank = new.rank, wake_ms = new.wake_ms, " +
  "error_code = new.error_code, state = new.state, " +
  `result = CASE new.result WHEN E'\\x${
    KEPT.charCodeAt(0).toString(16)
  }' THEN there.result ELSE new.result END`;

/**
 * Changes tasks that keep their worker and their key, so that no change can be
 * in the way of another one of the group. A task without links in the write
 * must have none in the database.
 */
function addUpdates(
  builder: StatementBuilder,
  updates: readonly TaskChange[],
  names: InternedNames,
): void {
  const columns = new StateColumns(updates);
  builder.part(
    "changed",
    `UPDATE task_state AS there SET ${SET} FROM unnest(${
      builder.numbers(
        updates.map(({ tenantId }) => names.tenantNumber(tenantId)),
        "integer",
      )
    }, ${
      builder.numbers(
        updates.map((of) => names.laneNumber(of.tenantId, of.workerId)),
        "integer",
      )
    }, ${
      builder.numbers(updates.map((of) => of.expectedVersion), "integer")
    }, ${columns.arrays(builder)}) ` +
      `AS new(tenant, lane, expected, ${STATE_NAMES}) ` +
      "WHERE there.id = new.id AND there.version = new.expected AND " +
      "there.tenant = new.tenant AND there.lane = new.lane AND " +
      "there.key IS NOT DISTINCT FROM new.key AND " +
      "(there.status < 7 OR new.status >= 7) AND " +
      "(there.links = 0 OR new.links IS NOT NULL) " +
      "RETURNING there.tenant, there.lane, there.was_status, there.status",
  );
  builder.counted.push(
    "SELECT tenant, lane, status, 1 AS count FROM changed",
    "SELECT tenant, lane, was_status, -1 FROM changed",
  );
}

/** Changes tasks that may get another worker or key. */
function addMoves(
  builder: StatementBuilder,
  moves: readonly TaskChange[],
  names: InternedNames,
): void {
  const columns = new StateColumns(moves);
  builder.part(
    "moved",
    `UPDATE task_state AS there SET ${SET}, lane = new.lane, key = new.key ` +
      `FROM unnest(${
        builder.numbers(
          moves.map(({ tenantId }) => names.tenantNumber(tenantId)),
          "integer",
        )
      }, ${
        builder.numbers(
          moves.map((of) => names.laneNumber(of.tenantId, of.workerId)),
          "integer",
        )
      }, ${
        builder.numbers(moves.map((of) => of.expectedVersion), "integer")
      }, ${columns.arrays(builder)}) ` +
      `AS new(tenant, lane, expected, ${STATE_NAMES}) ` +
      "JOIN task_state AS old ON old.id = new.id " +
      "WHERE there.id = new.id AND there.version = new.expected AND " +
      "old.version = new.expected AND there.tenant = new.tenant " +
      "RETURNING there.tenant, there.lane, there.status, " +
      "old.lane AS was_lane, there.was_status",
  );
  builder.counted.push(
    "SELECT tenant, lane, status, 1 AS count FROM moved",
    "SELECT tenant, was_lane, was_status, -1 FROM moved",
  );
}

function addRemovals(
  builder: StatementBuilder,
  { removals }: GroupedWrites,
  names: InternedNames,
): void {
  if (removals.length === 0) return;
  const ids = removals.map(({ id }) => id);
  builder.part(
    "removed",
    `DELETE FROM task_state AS there USING unnest(${builder.texts(ids)}, ${
      builder.numbers(
        removals.map(({ tenantId }) => names.tenantNumber(tenantId)),
        "integer",
      )
    }, ${
      builder.numbers(removals.map((of) => of.expectedVersion), "integer")
    }) AS old(id, tenant, version) WHERE there.id = old.id AND ` +
      "there.tenant = old.tenant AND there.version = old.version " +
      "RETURNING there.tenant, there.lane, there.status",
  );
  builder.demand("removed", removals.length);
  builder.counted.push("SELECT tenant, lane, status, -1 AS count FROM removed");
  for (
    const [name, table] of [["undefined_", "tasks"], ["forgotten", "history"]]
  ) {
    builder.part(
      name ?? "",
      `DELETE FROM ${table} WHERE id = ANY(${builder.texts(ids)})`,
    );
  }
}

function addLinks(
  builder: StatementBuilder,
  { creations, updates, moves, removals }: GroupedWrites,
  names: InternedNames,
): void {
  const changed = [...updates, ...moves].filter(({ links }) =>
    links !== undefined
  );
  const cut = [...changed, ...removals].map(({ id }) => id);
  if (cut.length > 0) {
    // What is inserted below is not seen here.
    builder.part(
      "unlinked",
      `DELETE FROM links WHERE id = ANY(${builder.texts(cut)})`,
    );
  }
  const rows = [...creations, ...changed].flatMap(({ id, tenantId, links }) =>
    (links ?? []).map((link) => ({
      tenant: names.tenantNumber(tenantId),
      link,
      id,
    }))
  );
  if (rows.length === 0) return;
  builder.part(
    "linked",
    `INSERT INTO links SELECT * FROM unnest(${
      builder.numbers(rows.map(({ tenant }) => tenant), "integer")
    }, ${builder.texts(rows.map(({ link }) => link))}, ${
      builder.texts(rows.map(({ id }) => id))
    })`,
  );
}

function addHistory(
  builder: StatementBuilder,
  { creations, updates, moves }: GroupedWrites,
): void {
  const ids: string[] = [];
  const numbers: number[] = [];
  const texts: string[] = [];
  const hashes: string[] = [];
  const folded: TaskChange[] = [];
  for (const changes of [creations, updates, moves]) {
    for (const change of changes) {
      if (change.foldThrough !== undefined) folded.push(change);
      for (const { seq, text, hash } of change.history) {
        ids.push(change.id);
        numbers.push(seq);
        texts.push(text);
        hashes.push(hash);
      }
    }
  }
  if (ids.length > 0) {
    builder.part(
      "noted",
      `INSERT INTO history(id, seq, text, hash) SELECT * FROM unnest(${
        builder.texts(ids)
      }, ${builder.numbers(numbers, "integer")}, ${builder.longTexts(texts)}, ${
        builder.texts(hashes)
      })`,
    );
  }
  if (folded.length === 0) return;
  builder.part(
    "folded",
    `DELETE FROM history AS there USING unnest(${
      builder.texts(folded.map(({ id }) => id))
    }, ${
      builder.numbers(folded.map((of) => of.foldThrough ?? 0), "integer")
    }) AS old(id, seq) WHERE there.id = old.id AND there.seq <= old.seq`,
  );
}

function addAnswers(
  builder: StatementBuilder,
  { answers, replacingAnswers }: GroupedWrites,
  names: InternedNames,
): void {
  const columns = "expires_ms, body_hash, status, headers, body";
  const set = columns.split(", ").map((name) => `${name} = excluded.${name}`)
    .join(", ");
  for (
    const [name, writes, condition] of [
      ["answered", answers, " WHERE there.expires_ms <= now_ms()"],
      ["replaced", replacingAnswers, ""],
    ] as const
  ) {
    if (writes.length === 0) continue;
    const entries = writes.map(({ entry }) => entry);
    builder.part(
      name,
      `INSERT INTO idempotency AS there(tenant, key, ${columns}) ` +
        `SELECT * FROM unnest(${
          builder.numbers(
            writes.map(({ tenantId }) => names.tenantNumber(tenantId)),
            "integer",
          )
        }, ${builder.texts(writes.map(({ key }) => key))}, ${
          builder.numbers(entries.map((of) => of.expiresAtMs), "bigint")
        }, ${builder.texts(entries.map((of) => of.bodyHash))}, ${
          builder.numbers(entries.map((of) => of.status), "integer")
        }, ${builder.texts(entries.map((of) => JSON.stringify(of.headers)))}, ${
          builder.texts(entries.map((of) => of.body))
        }) ` +
        `ON CONFLICT (tenant, key) DO UPDATE SET ${set}${condition} ` +
        "RETURNING 1",
    );
    builder.demand(name, writes.length);
  }
}

/**
 * Requires records. They are locked until the commit, but only against their
 * removal, so that no task is made whose worker goes at the same moment.
 */
function addRequired(
  builder: StatementBuilder,
  { required }: GroupedWrites,
  names: InternedNames,
): void {
  if (required.size === 0) return;
  const writes = [...required.values()];
  builder.part(
    "held",
    `SELECT 1 FROM records AS there JOIN unnest(${
      builder.numbers(
        writes.map(({ tenantId }) => names.tenantNumber(tenantId)),
        "integer",
      )
    }, ${builder.texts(writes.map(({ recordKind }) => recordKind))}, ${
      builder.texts(writes.map(({ id }) => id))
    }) AS of(tenant, kind, id) USING(tenant, kind, id) ` +
      "FOR KEY SHARE OF there",
  );
  builder.demand("held", writes.length);
}

/**
 * Requires room in plans. The tenants are locked before the statement, so that
 * it counts what others have committed.
 */
function addQuotas(
  builder: StatementBuilder,
  { quotas }: GroupedWrites,
  names: InternedNames,
): void {
  if (quotas.size === 0) return;
  const tenants = [...quotas.keys()].map((id) => names.tenantNumber(id));
  const room = [...quotas.values()].map(({ adds, limit }) => limit - adds);
  const counted = ["task_counts", "count_deltas"].map((table) =>
    `SELECT count FROM ${table} WHERE ${table}.tenant = plan.tenant AND ` +
    `status < ${FIRST_FINAL_CODE}`
  ).join(" UNION ALL ");
  builder.part(
    "roomy",
    `SELECT 1 FROM unnest(${builder.numbers(tenants, "integer")}, ${
      builder.numbers(room, "bigint")
    }) AS plan(tenant, room) WHERE plan.room >= ` +
      `(SELECT coalesce(sum(count), 0) FROM (${counted}) AS live)`,
  );
  builder.demand("roomy", quotas.size);
}

function addUsage(
  builder: StatementBuilder,
  { usage }: GroupedWrites,
  names: InternedNames,
): void {
  if (usage.length === 0) return;
  builder.part(
    "used",
    `INSERT INTO usage_deltas SELECT * FROM unnest(${
      builder.numbers(
        usage.map(({ tenantId }) => names.tenantNumber(tenantId)),
        "integer",
      )
    }, ${builder.texts(usage.map(({ period }) => period))}, ${
      builder.numbers(usage.map(({ executions }) => executions), "bigint")
    })`,
  );
}

function addCounts(
  builder: StatementBuilder,
  { tenants, lanes, statuses, counts }: AddedCounts,
): void {
  const { counted } = builder;
  if (counts.length > 0) {
    counted.push(
      `SELECT * FROM unnest(${builder.numbers(tenants, "integer")}, ${
        builder.numbers(lanes, "integer")
      }, ${builder.numbers(statuses, "smallint")}, ${
        builder.numbers(counts, "integer")
      }) AS made(tenant, lane, status, count)`,
    );
  }
  if (counted.length === 0) return;
  builder.part(
    "counted",
    "INSERT INTO count_deltas SELECT tenant, lane, status, sum(count) " +
      `FROM (${counted.join(" UNION ALL ")}) AS all_ ` +
      "GROUP BY tenant, lane, status HAVING sum(count) <> 0",
  );
}

/** Sums of tasks that are made. */
class CountSums {
  readonly #sums = new Map<string, [number, number, number, number]>();

  add(tenant: number, lane: number, status: number): void {
    const key = `${lane} ${status}`;
    const sum = this.#sums.get(key);
    if (sum === undefined) this.#sums.set(key, [tenant, lane, status, 1]);
    else sum[3]++;
  }

  rows(): AddedCounts {
    const rows = [...this.#sums.values()];
    return {
      tenants: rows.map(([tenant]) => tenant),
      lanes: rows.map(([, lane]) => lane),
      statuses: rows.map(([, , status]) => status),
      counts: rows.map(([, , , count]) => count),
    };
  }
}
