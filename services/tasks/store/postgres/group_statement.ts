/**
 * Builds the statement that applies a group of writes: all of them, or none
 * where one of them is refused.
 *
 * @module
 */

import {
  addLink,
  type GroupLink,
} from "../../../shared/postgres/group_link.ts";
import type { Statement } from "../../../shared/postgres/transaction.ts";
import { ACTIVITY_COLUMNS } from "../kept_counts.ts";
import { FIRST_FINAL_CODE } from "../task_body.ts";
import type { InternedNames } from "./interned_names.ts";
import { StatementBuilder } from "../../../shared/postgres/statement_builder.ts";
import { addChanges, addCreations, addRemovals } from "./task_parts.ts";
import type { GroupedWrites } from "./write_group.ts";

/**
 * Builds the statement of a group.
 *
 * @param link its place among the groups of a connection, if it is sent while
 * the one before it is under way
 */
export function groupStatement(
  writes: GroupedWrites,
  names: InternedNames,
  link?: GroupLink,
): Statement {
  const builder = new StatementBuilder();
  addCreations(builder, writes, names);
  addChanges(builder, writes, names);
  addRemovals(builder, writes, names);
  addLinks(builder, writes, names);
  addFolds(builder, writes);
  addAnswers(builder, writes, names);
  addRequired(builder, writes, names);
  addQuotas(builder, writes, names);
  addUsage(builder, writes, names);
  addRequests(builder, writes);
  addStarts(builder, writes, names);
  addActivity(builder, writes, names);
  addCounts(builder);
  if (link !== undefined) addLink(builder, link);
  return builder.build();
}

/** Puts the links of tasks in place of those before. */
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
    // Rows that are inserted below are not seen here.
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

/** Drops the first records of histories. */
function addFolds(
  builder: StatementBuilder,
  { creations, updates, moves }: GroupedWrites,
): void {
  const folded = [creations, updates, moves].flatMap((changes) =>
    changes.filter(({ foldThrough }) => foldThrough !== undefined)
  );
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

/**
 * Removes requests from the inbox. Of two instances that have taken one over,
 * the second waits for the first to commit, and then finds no row.
 */
function addRequests(
  builder: StatementBuilder,
  { requests }: GroupedWrites,
): void {
  if (requests.length === 0) return;
  const numbers = requests.map(({ number }) => number);
  builder.part(
    "taken",
    `DELETE FROM inbox WHERE id = ANY(${
      builder.numbers(numbers, "bigint")
    }) RETURNING 1`,
  );
  builder.demand("taken", numbers.length);
}

/** Counts starts: those of a claim for the same rate are one row. */
function addStarts(
  builder: StatementBuilder,
  { starts }: GroupedWrites,
  names: InternedNames,
): void {
  if (starts.length === 0) return;
  const ms = (pick: (start: (typeof starts)[number]) => number): string =>
    builder.numbers(starts.map(pick), "bigint");
  builder.part(
    "started",
    "INSERT INTO starts(tenant, worker, task_group, at_ms, expires_ms, count) " +
      "SELECT tenant, worker, task_group, at_ms, expires_ms, sum(count) " +
      `FROM unnest(${
        builder.numbers(
          starts.map(({ tenantId }) => names.tenantNumber(tenantId)),
          "integer",
        )
      }, ${builder.texts(starts.map(({ workerId }) => workerId))}, ${
        builder.texts(starts.map(({ group }) => group))
      }, ${ms(({ atMs }) => atMs)}, ${ms(({ expiresAtMs }) => expiresAtMs)}, ${
        ms(({ count = 1 }) => count)
      }) AS one(tenant, worker, task_group, at_ms, expires_ms, count) ` +
      "GROUP BY tenant, worker, task_group, at_ms, expires_ms",
  );
}

/** Adds activity, in rows that are folded later. */
function addActivity(
  builder: StatementBuilder,
  { activity }: GroupedWrites,
  names: InternedNames,
): void {
  if (activity.length === 0) return;
  const columns = ACTIVITY_COLUMNS.map(([, column]) => column).join(", ");
  const ms = (pick: (write: (typeof activity)[number]) => number): string =>
    builder.numbers(activity.map(pick), "bigint");
  builder.part(
    "acted",
    "INSERT INTO activity_deltas(tenant, worker, job, step_ms, at_ms, " +
      `expires_ms, ${columns}) SELECT * FROM unnest(${
        builder.numbers(
          activity.map(({ tenantId }) => names.tenantNumber(tenantId)),
          "integer",
        )
      }, ${builder.texts(activity.map(({ series }) => series.workerId))}, ${
        builder.texts(activity.map(({ series }) => series.job))
      }, ${ms(({ stepMs }) => stepMs)}, ${ms(({ atMs }) => atMs)}, ${
        ms(({ expiresAtMs }) => expiresAtMs)
      }, ${
        ACTIVITY_COLUMNS.map(([name]) => ms(({ counts }) => counts[name]))
          .join(", ")
      })`,
  );
}

/** Adds what the parts have changed to the counts. */
function addCounts(builder: StatementBuilder): void {
  const { counted } = builder;
  if (counted.length === 0) return;
  builder.part(
    "counted",
    "INSERT INTO count_deltas(tenant, lane, status, count, job) " +
      "SELECT tenant, lane, status, sum(count), job " +
      `FROM (${counted.join(" UNION ALL ")}) AS changes ` +
      "GROUP BY tenant, lane, status, job HAVING sum(count) <> 0",
  );
}
