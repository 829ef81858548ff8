/**
 * Notes the key of every row that is written to a database, by triggers, so
 * that a copy can follow a running service: following costs as much as was
 * written, however many rows there are.
 *
 * Writes are noted for some minutes only, unless that time is prolonged. So a
 * move that was killed leaves nothing behind that grows.
 *
 * @module
 */

import type { DatabaseSync } from "node:sqlite";
import { inTransaction } from "../../../shared/sqlite/transaction.ts";
import type { RecordKind } from "../queries.ts";
import { type Reader, readText } from "./reader.ts";

/** For how long writes are noted. */
const NOTED_MS = 600_000;

/** The key of a row that was written, or removed. */
export type Change =
  & {
    /** The tenant. */
    readonly tenantId: string;
  }
  & (
    | { readonly kind: "task"; readonly id: string }
    | {
      readonly kind: "record";
      readonly recordKind: RecordKind;
      readonly id: string;
    }
    | { readonly kind: "answer"; readonly key: string }
    | { readonly kind: "usage"; readonly period: string }
    | {
      readonly kind: "starts";
      readonly workerId: string;
      readonly group: string;
      readonly atMs: number;
    }
    | { readonly kind: "audit"; readonly number: number }
  );

/** Writes that were noted. */
export interface NotedWrites {
  /** The rows, each once, grouped by tenant. */
  readonly changes: readonly Change[];
  /** Up to which of the noted writes these are. */
  readonly through: number;
}

const TABLES = `
CREATE TABLE moving(
  seq INTEGER PRIMARY KEY,
  kind TEXT NOT NULL,
  tenant INTEGER NOT NULL,
  key TEXT NOT NULL
) STRICT;
CREATE TABLE moving_until(ms INTEGER NOT NULL) STRICT;
`;

/** What is noted of each table: the kind, and the SQL of the key in a row. */
const NOTED = {
  tasks: { kind: "task", key: "id", on: ["INSERT", "UPDATE", "DELETE"] },
  records: {
    kind: "record",
    key: "kind || char(10) || #.id",
    on: ["INSERT", "UPDATE", "DELETE"],
  },
  // Expired answers go by themselves in the copy.
  idempotency: { kind: "answer", key: "key", on: ["INSERT", "UPDATE"] },
  usage: { kind: "usage", key: "period", on: ["INSERT", "UPDATE"] },
  starts: {
    kind: "starts",
    key: "worker || char(10) || #.task_group || char(10) || #.at_ms",
    on: ["INSERT"],
  },
  audit: { kind: "audit", key: "number", on: ["INSERT"] },
} as const;

const TRIGGERS = Object.entries(NOTED).flatMap(([table, { kind, key, on }]) =>
  on.map((write) => {
    const row = write === "DELETE" ? "OLD" : "NEW";
    const value = `${row}.${key.replaceAll("#", row)}`;
    return {
      name: `moving_${table}_${write.toLowerCase()}`,
      sql: `AFTER ${write} ON ${table} ` +
        "WHEN (SELECT ms FROM moving_until) > unixepoch('subsec') * 1000 " +
        "BEGIN INSERT INTO moving(kind, tenant, key) " +
        `VALUES('${kind}', ${row}.tenant, CAST(${value} AS TEXT)); END`,
    };
  })
);

/**
 * Begins to note what is written, and forgets what was noted before.
 *
 * @throws {Error} when other connections keep the database busy
 */
export function beginNoting(db: DatabaseSync, nowMs: number): void {
  inTransaction(db, () => {
    dropNoted(db);
    db.exec(TABLES);
    const until = db.prepare("INSERT INTO moving_until VALUES(?)");
    until.run(nowMs + NOTED_MS);
    for (const { name, sql } of TRIGGERS) {
      db.exec(`CREATE TRIGGER ${name} ${sql}`);
    }
  });
}

/**
 * Forgets the writes up to one, whose rows were copied, and goes on noting.
 *
 * @throws {Error} when writes were not noted for some time, so that the copy
 * has to begin again
 */
export function forgetNoted(
  db: DatabaseSync,
  { through, nowMs }: { readonly through: number; readonly nowMs: number },
): void {
  const { changes } = inTransaction(db, () => {
    db.prepare("DELETE FROM moving WHERE seq <= ?").run(through);
    return db.prepare("UPDATE moving_until SET ms = ? WHERE ms > ?")
      .run(nowMs + NOTED_MS, nowMs);
  });
  if (changes === 1) return;
  throw new Error(
    "Cannot follow what the service writes: the command stood still for " +
      "minutes; run it again",
  );
}

/** Ends noting, in a transaction that the caller has begun. */
export function dropNoted(db: DatabaseSync): void {
  for (const { name } of TRIGGERS) db.exec(`DROP TRIGGER IF EXISTS ${name}`);
  db.exec("DROP TABLE IF EXISTS moving");
  db.exec("DROP TABLE IF EXISTS moving_until");
}

/** Removes what a move that was killed has left, when a service starts. */
export function dropStaleNoted(db: DatabaseSync, nowMs: number): void {
  const table = db.prepare(
    "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND " +
      "name = 'moving_until'",
  ).get();
  if (table === undefined) return;
  const until = db.prepare("SELECT ms FROM moving_until").get()?.["ms"];
  if (Number(until ?? 0) < nowMs) inTransaction(db, () => dropNoted(db));
}

/**
 * Reads the oldest writes that were noted and not forgotten, from one state of
 * the database.
 *
 * @param limit the most writes; -1 for all
 */
export function readNoted(reader: Reader, limit: number): NotedWrites {
  const through = reader.number(
    "SELECT max(seq) FROM (SELECT seq FROM moving ORDER BY seq LIMIT ?)",
    limit,
  ) ?? 0;
  const rows = reader.rows(
    "SELECT DISTINCT tenants.id AS tenant_id, kind, key FROM moving " +
      "JOIN tenants USING(tenant) WHERE seq <= ? ORDER BY tenant_id, kind",
    through,
  );
  return {
    through,
    changes: rows.map((row): Change => {
      const tenantId = readText(row, "tenant_id");
      const key = readText(row, "key");
      const kind = readText(row, "kind");
      switch (kind) {
        case "task":
          return { kind, tenantId, id: key };
        case "answer":
          return { kind, tenantId, key };
        case "usage":
          return { kind, tenantId, period: key };
        case "starts": {
          const [from, to] = [key.indexOf("\n"), key.lastIndexOf("\n")];
          return {
            kind,
            tenantId,
            workerId: key.slice(0, from),
            group: key.slice(from + 1, to),
            atMs: Number(key.slice(to + 1)),
          };
        }
        case "audit":
          return { kind, tenantId, number: Number(key) };
        default: {
          const at = key.indexOf("\n");
          return {
            kind: "record",
            tenantId,
            // Only the service writes records, each with one of the kinds.
            recordKind: key.slice(0, at) as RecordKind,
            id: key.slice(at + 1),
          };
        }
      }
    }),
  };
}
