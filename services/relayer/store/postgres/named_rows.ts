/**
 * Reads rows by their owners and ids: steps of jobs and requests that ask for
 * one row each share a statement.
 *
 * @module
 */

import { GatheredCalls } from "../../concurrency/gathered_calls.ts";
import type { Row, Runner } from "../../../shared/postgres/session.ts";
import { StoreBusyError } from "../store.ts";

/** The name of a row. */
interface RowName {
  readonly owner: string;
  readonly id: string;
}

/** Options of {@linkcode NamedRows}. */
interface NamedRowsOptions<Found> {
  /** The columns, with `owner` and `id`, each named by its table. */
  readonly columns: string;
  /** The table. */
  readonly table: string;
  /** Makes what is found of a row. */
  readonly read: (row: Row) => Found;
}

/** As many as jobs run together; a row may have a long text. */
const MAX_GROUP = 32;
const PARALLEL = 4;
const RETRY_MS = 1_000;

/** Reads rows of a table. */
export class NamedRows<Found> {
  readonly #calls: GatheredCalls<RowName, Found | undefined>;

  /** Takes the connections to use. */
  constructor(
    runner: Runner,
    { columns, table, read }: NamedRowsOptions<Found>,
  ) {
    const sql = `SELECT ${columns} FROM ` +
      "unnest($1::text[], $2::text[]) AS of(owner, id) " +
      `JOIN ${table} ON ${table}.owner = of.owner AND ${table}.id = of.id`;
    this.#calls = new GatheredCalls({
      async run(names) {
        const rows = await runner.query(sql, [
          names.map(({ owner }) => owner),
          names.map(({ id }) => id),
        ]);
        const found = new Map(rows.map((row) => [keyOf(row), read(row)]));
        return names.map((name) => found.get(keyOf(name)));
      },
      maxGroup: MAX_GROUP,
      maxParallel: PARALLEL,
      busy: () => new StoreBusyError(RETRY_MS),
    });
  }

  /** Rows in the order of `ids`; undefined for those that are not there. */
  readonly find = (
    owner: string,
    ids: readonly string[],
  ): Promise<readonly (Found | undefined)[]> =>
    Promise.all(ids.map((id) => this.#calls.call({ owner, id })));
}

function keyOf({ owner, id }: Row | RowName): string {
  return `${owner} ${id}`;
}

/** Names the table of columns, which another one has as well. */
export function qualify(columns: string, table: string): string {
  return columns.replaceAll(/(^|, )(\w+)/g, `$1${table}.$2`);
}
