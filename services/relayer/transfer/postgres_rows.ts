/**
 * The rows of a schema of PostgreSQL, for exports and imports, while no relayer
 * uses it.
 *
 * @module
 */

import { MemberRow } from "../../shared/postgres/member_row.ts";
import { commitToDisk, type Pool } from "../../shared/postgres/pool.ts";
import type { Runner } from "../../shared/postgres/session.ts";
import { SqlBuilder } from "../../shared/postgres/sql_builder.ts";
import type { SqlParameter } from "../../shared/postgres/values.ts";
import { demandAlone } from "../../shared/transfer/demand_alone.ts";
import {
  type MovedRows,
  PAGE_BYTES,
  PAGE_ROWS,
  type RowReader,
} from "./moved_rows.ts";
import {
  type ColumnType,
  MOVED_TABLES,
  type MovedRow,
  type MovedTable,
  type MovedValue,
} from "./moved_tables.ts";

/** How long a reader of the rows may let the server wait. */
const IDLE_MS = 3_600_000;

const TYPES: Readonly<Record<ColumnType, string>> = {
  text: "text",
  integer: "bigint",
  real: "double precision",
  bytes: "bytea",
};

/**
 * Uses the tables of a schema, which are there.
 *
 * @param pool connections whose statements may take long; `close` closes them
 * @param place names the schema for people
 * @throws {Error} when a relayer uses them
 */
export async function openPostgresRows(
  pool: Pool,
  place: string,
): Promise<MovedRows> {
  await demandAlone(new MemberRow(pool));
  return new PostgresRows(pool, place);
}

class PostgresRows implements MovedRows {
  readonly place: string;
  readonly #pool: Pool;

  constructor(pool: Pool, place: string) {
    this.#pool = pool;
    this.place = place;
  }

  async reading<Answer>(
    use: (reader: RowReader) => Promise<Answer>,
  ): Promise<Answer> {
    return await this.#pool.transaction(
      (open) => use(new SchemaReader(open)),
      { isolation: "repeatable read", idleMs: IDLE_MS },
    );
  }

  async isImporting(): Promise<boolean> {
    const [row] = await this.#pool.query("SELECT importing FROM numbering");
    return row?.["importing"] === true;
  }

  async begin(): Promise<void> {
    const wasImporting = await this.isImporting();
    await this.#mark(true);
    try {
      // No other one can start now, so that all are seen.
      await demandAlone(new MemberRow(this.#pool));
    } catch (error) {
      if (!wasImporting) await this.#mark(false);
      throw error;
    }
  }

  async erase(tables: readonly MovedTable[]): Promise<void> {
    const names = tables.map(({ name }) => name)
      .filter((name) => name !== "numbers");
    const all = [...names, "index_snapshots", "snapshot_parts"];
    await this.#pool.query(`TRUNCATE ${all.join(", ")}`);
  }

  async put(table: MovedTable, rows: readonly MovedRow[]): Promise<void> {
    if (table.name === "numbers") {
      for (const [first = null] of rows) {
        await this.#pool.query(
          "UPDATE numbering SET first_change = $1::bigint",
          [first],
        );
      }
      return;
    }
    const { name, columns, isNumbered = false } = table;
    const { derived = {} } = table.postgres;
    const names = Object.keys(columns);
    const types = Object.values(columns).map((type, at) =>
      `$${at + 1}::${TYPES[type]}[]`
    );
    const into = [...names, ...Object.keys(derived)].join(", ");
    const selected = [...names, ...Object.values(derived)].join(", ");
    await this.#pool.query(
      `INSERT INTO ${name}(${into}) ` +
        (isNumbered ? "OVERRIDING SYSTEM VALUE " : "") +
        `SELECT ${selected} FROM unnest(${types.join(", ")}) ` +
        `AS told(${names.join(", ")}) ON CONFLICT DO NOTHING`,
      names.map((_, at) => rows.map((row) => row[at] ?? null)),
    );
  }

  async complete(): Promise<void> {
    for (const { name, isNumbered = false } of MOVED_TABLES) {
      if (!isNumbered) continue;
      await this.#pool.query(
        `SELECT setval(pg_get_serial_sequence('${name}', 'n'), max(n)) ` +
          `FROM ${name} HAVING max(n) IS NOT NULL`,
      );
    }
    // The server knows too little of tables that have grown at once.
    const names = MOVED_TABLES.filter(({ name }) => name !== "numbers")
      .map(({ name }) => name);
    await this.#pool.query(`ANALYZE ${names.join(", ")}`);
  }

  async end(): Promise<void> {
    await this.#mark(false);
  }

  async close(): Promise<void> {
    await this.#pool.close();
  }

  /** With the mark everything before it is on disk. */
  async #mark(isImporting: boolean): Promise<void> {
    await commitToDisk(this.#pool, [{
      sql: "UPDATE numbering SET importing = $1::boolean",
      parameters: [isImporting],
    }]);
  }
}

/** Reads rows within a transaction. */
class SchemaReader implements RowReader {
  readonly #runner: Runner;

  constructor(runner: Runner) {
    this.#runner = runner;
  }

  async *pages(
    table: MovedTable,
    nowMs: number,
  ): AsyncGenerator<readonly MovedRow[]> {
    const names = Object.keys(table.columns);
    let last: MovedRow | undefined;
    while (true) {
      const { sql, parameters } = pageQuery(table, { nowMs, last });
      const records = await this.#runner.query<Record<string, MovedValue>>(
        sql,
        parameters,
      );
      if (records.length === 0) return;
      const rows = records.map((record) =>
        names.map((name) => record[name] ?? null)
      );
      yield rows;
      last = rows.at(-1);
    }
  }

  async count(table: MovedTable, nowMs: number): Promise<number> {
    const { name, expires, postgres: { from = name } } = table;
    const [row] = await this.#runner.query(
      `SELECT count(*) AS count FROM ${from}` +
        (expires === undefined ? "" : ` WHERE ${expires} > $1::bigint`),
      expires === undefined ? [] : [nowMs],
    );
    return Number(row?.["count"]);
  }
}

/** Reads the rows after another one, as many as fit into a page. */
function pageQuery(
  { name, columns, key, expires, long, postgres: { from = name } }: MovedTable,
  { nowMs, last }: {
    readonly nowMs: number;
    readonly last: MovedRow | undefined;
  },
): { readonly sql: string; readonly parameters: readonly SqlParameter[] } {
  const builder = new SqlBuilder();
  const names = Object.keys(columns);
  const conditions: string[] = [];
  if (expires !== undefined) {
    conditions.push(`${expires} > ${builder.add(nowMs, "bigint")}`);
  }
  const order = key.join(", ");
  if (last !== undefined) {
    const values = key.map((column) => {
      const value = last[names.indexOf(column)] ?? null;
      return builder.add(value, TYPES[columns[column] ?? "text"]);
    });
    conditions.push(`(${order}) > (${values.join(", ")})`);
  }
  const where = conditions.length === 0
    ? ""
    : ` WHERE ${conditions.join(" AND ")}`;
  const page = `SELECT ${names.join(", ")} FROM ${from}${where} ` +
    `ORDER BY ${order} LIMIT ${PAGE_ROWS}`;
  const sql = long === undefined
    ? page
    : `SELECT ${names.join(", ")} FROM (SELECT *, ` +
      `sum(coalesce(octet_length(${long}), 0)) OVER (ORDER BY ${order} ` +
      "ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before " +
      `FROM (${page}) AS page) AS measured ` +
      `WHERE coalesce(before, 0) < ${PAGE_BYTES} ORDER BY ${order}`;
  return { sql, parameters: builder.parameters };
}
