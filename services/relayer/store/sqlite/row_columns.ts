/**
 * Maps the members of row objects to the columns of tables: each mapping is
 * written once, for reading and for writing.
 *
 * @module
 */

import type {
  DatabaseSync,
  SQLInputValue,
  SQLOutputValue,
  StatementSync,
} from "node:sqlite";

/** A record as the database gives it. */
export type DatabaseRecord = Readonly<Record<string, SQLOutputValue>>;

/** The bytes of a column; none where it has another value. */
export function columnBytes(value: SQLOutputValue | undefined): Uint8Array {
  return value instanceof Uint8Array ? value : new Uint8Array(0);
}

/** Prepared statements by name. */
export type Statements<Texts> = Readonly<Record<keyof Texts, StatementSync>>;

/** Prepares statements; each keeps the name of its text. */
export function prepareAll<Texts extends Readonly<Record<string, string>>>(
  db: DatabaseSync,
  texts: Texts,
): Statements<Texts> {
  const statements = Object.entries(texts)
    .map(([name, text]) => [name, db.prepare(text)] as const);
  return Object.fromEntries(statements) as Statements<Texts>;
}

/** Requires that each member of a row has a type that SQLite can store. */
type Storable<Row> = {
  readonly [Member in keyof Row]: SQLInputValue | undefined;
};

/** The mapping between a row's members and a table's columns. */
export class RowColumns<Row extends Storable<Row>> {
  /** What a query selects: each column under the name of its member. */
  readonly selected: string;
  /** The columns and a question mark for each, as an `INSERT` names them. */
  readonly inserted: string;
  readonly #members: readonly (keyof Row & string)[];
  readonly #absent: ReadonlySet<string>;

  /**
   * Makes the mapping.
   *
   * @param columns The name of the column of each member.
   * @param absent Members that are undefined where the column is `NULL`; all
   * others are null there.
   */
  constructor(
    columns: { readonly [Member in keyof Row & string]-?: string },
    absent: readonly (keyof Row & string)[],
  ) {
    const pairs = Object.entries<string>(columns);
    const names = pairs.map(([, column]) => column);
    this.selected = pairs.map(([member, column]) => `${column} AS ${member}`)
      .join(", ");
    this.inserted = `(${names.join(", ")}) VALUES(${
      names.fill("?").join(", ")
    })`;
    this.#members = pairs.map(([member]) => member as keyof Row & string);
    this.#absent = new Set(absent);
  }

  /** Turns a record selected by {@linkcode RowColumns.selected} into a row. */
  readRow(record: DatabaseRecord): Row {
    const row: Partial<Record<keyof Row, SQLOutputValue | undefined>> = {};
    for (const member of this.#members) {
      const value = record[member] ?? null;
      row[member] = value === null && this.#absent.has(member)
        ? undefined
        : value;
    }
    return row as Row;
  }

  /** The values of a row, in the order of {@linkcode RowColumns.inserted}. */
  toValues(row: Row): SQLInputValue[] {
    return this.#members.map((member) => row[member] ?? null);
  }
}
