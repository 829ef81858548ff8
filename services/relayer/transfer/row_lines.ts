/**
 * The lines of an export: a line that names a table, then each of its rows as
 * one line, a JSON array of its values with bytes as base64. The same rows give
 * the same lines, whichever engine they come from.
 *
 * @module
 */

import { createHash, type Hash } from "node:crypto";
import { LineError } from "../../shared/transfer/line_fields.ts";
import type {
  ColumnType,
  MovedRow,
  MovedTable,
  MovedValue,
} from "./moved_tables.ts";

/** The line before the rows of a table. */
export function encodeTable({ name, columns }: MovedTable): string {
  return JSON.stringify({ kind: "table", name, columns: Object.keys(columns) });
}

/** The line of a row. */
export function encodeRow(row: MovedRow): string {
  return JSON.stringify(row.map(encodeValue));
}

/**
 * Reads the line of a row.
 *
 * @throws {LineError} when it is not one of the table
 */
export function parseRow(line: string, { columns }: MovedTable): MovedRow {
  const values = parseJson(line);
  const types = Object.entries(columns);
  if (!Array.isArray(values) || values.length !== types.length) {
    throw new LineError(`it does not have ${types.length} values`);
  }
  return types.map(([name, type], at) => {
    const value = parseValue(values[at], type);
    if (value !== undefined) return value;
    throw new LineError(`"${name}" has a value that is not of type ${type}`);
  });
}

/**
 * Reads the line of a table.
 *
 * @returns undefined when it is another line
 * @throws {LineError} when it names another table, or other columns
 */
export function parseTable(
  line: string,
  tables: readonly MovedTable[],
): MovedTable | undefined {
  if (line.startsWith("[")) return undefined;
  const found = tables.find((table) => line === encodeTable(table));
  if (found !== undefined) return found;
  throw new LineError("it is neither a table nor a row of this version");
}

/** Sums up the rows of a table, but for values that an engine may change. */
export class TableDigest {
  readonly #hash: Hash = createHash("sha256");
  readonly #changing: ReadonlySet<number>;
  #rows = 0;

  /** Begins the sum of a table. */
  constructor({ columns, changing = [] }: MovedTable) {
    const names = Object.keys(columns);
    this.#changing = new Set(changing.map((name) => names.indexOf(name)));
  }

  /** How many rows so far. */
  get rows(): number {
    return this.#rows;
  }

  /** Adds the next row. */
  add(row: MovedRow): void {
    const compared = this.#changing.size === 0
      ? row
      : row.filter((_, at) => !this.#changing.has(at));
    this.#hash.update(`${encodeRow(compared)}\n`);
    this.#rows++;
  }

  /** The sum, SHA-256 in hexadecimal. */
  end(): string {
    return this.#hash.digest("hex");
  }
}

function encodeValue(value: MovedValue): string | number | null {
  return value instanceof Uint8Array ? value.toBase64() : value;
}

/** Undefined when the value is not of the type. */
function parseValue(value: unknown, type: ColumnType): MovedValue | undefined {
  if (value === null) return null;
  switch (type) {
    case "text":
      return typeof value === "string" ? value : undefined;
    case "integer":
      return Number.isSafeInteger(value) ? Number(value) : undefined;
    case "real":
      return typeof value === "number" ? value : undefined;
    case "bytes":
      try {
        return typeof value === "string"
          ? Uint8Array.fromBase64(value, { lastChunkHandling: "strict" })
          : undefined;
      } catch {
        return undefined;
      }
  }
}

function parseJson(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    throw new LineError("it is not JSON");
  }
}
