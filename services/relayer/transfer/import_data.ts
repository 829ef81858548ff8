/**
 * Imports an export, and compares what the store has then with it.
 *
 * @module
 */

import type { MasterKey } from "../../shared/master_keys.ts";
import { quote } from "../../shared/quote.ts";
import { type Fields, LineError } from "../../shared/transfer/line_fields.ts";
import {
  atLine,
  type LineSource,
  readLines,
} from "../../shared/transfer/line_file.ts";
import { demandMasterKeys } from "../vault/root_keys.ts";
import {
  FORMAT,
  FORMAT_VERSION,
  type MovedCounts,
  type MovedData,
  type MoveProgress,
} from "./export_data.ts";
import { type MovedBlobs, writeBlob } from "./moved_blobs.ts";
import { followingEntries } from "./moved_entries.ts";
import { type MovedRows, RowBatch } from "./moved_rows.ts";
import {
  BLOBS,
  LEDGER_ENTRIES,
  MOVED_TABLES,
  type MovedRow,
  type MovedTable,
} from "./moved_tables.ts";
import { parseRow, parseTable, TableDigest } from "./row_lines.ts";

/** Options of {@linkcode importData}. */
interface ImportDataOptions {
  /** The export. */
  readonly source: LineSource;
  /** The master keys that the relayer will have. */
  readonly masters: readonly MasterKey[];
  /** Whether all rows that are there are removed first. */
  readonly replaces: boolean;
  /** Called now and then. */
  readonly onProgress: (progress: MoveProgress) => void;
}

/** The outcome of an import. */
export interface Imported {
  /** How many rows of each table, and blobs, the export has. */
  readonly counts: MovedCounts;
  /** What differs from the export, a sentence each; empty when nothing does. */
  readonly differences: readonly string[];
}

/**
 * Imports an export. The store must be empty, or have only what an import that
 * was interrupted has left there. Until it has all rows, and they are those of
 * the export, no relayer starts on it.
 *
 * @throws {Error} when the source is no export, or was cut or changed; when the
 * master keys do not open its keys; when the store has rows or is in use; when
 * the log of the embedded ledger is not to be trusted
 */
export async function importData(
  target: MovedData,
  options: ImportDataOptions,
): Promise<Imported> {
  const doing = {
    action: "import",
    advice:
      "the file was changed, or LEDGER_PACKAGE_ID is not the package that " +
      "the ledger was made with",
  };
  const work = new Import(target, options);
  const digests = await followingEntries(
    target.ledger,
    doing,
    (checkEntries) => work.read(checkEntries),
  );
  const { rows } = target;
  await rows.complete();
  const differences = await work.compare(digests);
  if (differences.length === 0) await rows.end();
  return { counts: work.counts, differences };
}

/** One import. */
class Import {
  readonly #rows: MovedRows;
  readonly #options: ImportDataOptions;
  readonly #blobs: MovedBlobs | undefined;
  readonly #hasLedger: boolean;
  readonly #counts: Record<string, number> = {};
  #expected: MovedCounts = {};
  #atMs = 0;
  #isBegun = false;
  /** Those of the export. */
  #tables: readonly MovedTable[] = [];
  #checkEntries: (rows: readonly MovedRow[]) => void = () => {};

  constructor({ rows, blobs, ledger }: MovedData, options: ImportDataOptions) {
    this.#rows = rows;
    this.#options = options;
    this.#blobs = blobs;
    this.#hasLedger = ledger !== undefined;
  }

  /** How many rows of each table there were so far. */
  get counts(): MovedCounts {
    return { ...this.#counts };
  }

  /**
   * Reads the export and writes its rows; returns the sums of its tables.
   *
   * @param checkEntries Throws when entries of the ledger are not to be trusted.
   */
  async read(
    checkEntries: (rows: readonly MovedRow[]) => void,
  ): Promise<ReadonlyMap<MovedTable, TableDigest>> {
    const { source } = this.#options;
    this.#checkEntries = checkEntries;
    const digests = new Map<MovedTable, TableDigest>();
    const left: MovedTable[] = [];
    let current: MovedTable | undefined;
    let batch = new RowBatch();
    const lines = readLines(source, {
      onHead: (fields) => {
        this.#begin(fields);
        left.push(...this.#tables, BLOBS);
        for (const table of this.#tables) {
          digests.set(table, new TableDigest(table));
        }
      },
      counts: () => this.#counts,
    });
    for await (const { number, text } of lines) {
      const next = atLine(source, number, () => parseTable(text, left));
      if (next !== undefined) {
        await this.#put(current, batch.take());
        if (next !== left.shift()) {
          throw new Error(
            `Cannot read ${
              quote(source.name)
            }: its tables are in another order`,
          );
        }
        current = next;
        this.#counts[next.name] = 0;
        batch = new RowBatch();
        continue;
      }
      const table = current;
      const row = atLine(source, number, () => {
        if (table !== undefined) return parseRow(text, table);
        throw new LineError("no line of a table is before it");
      });
      if (table === undefined) continue;
      this.#counts[table.name] = (this.#counts[table.name] ?? 0) + 1;
      digests.get(table)?.add(row);
      const rows = batch.add(row);
      if (rows.length > 0) await this.#put(table, rows);
    }
    await this.#put(current, batch.take());
    return digests;
  }

  /** Compares the rows of the store; returns what differs. */
  async compare(
    digests: ReadonlyMap<MovedTable, TableDigest>,
  ): Promise<readonly string[]> {
    return await this.#rows.reading(async (reader) => {
      const differences: string[] = [];
      for (const [table, expected] of digests) {
        const { name } = table;
        const found = new TableDigest(table);
        for await (const page of reader.pages(table, this.#atMs)) {
          for (const row of page) found.add(row);
          this.#tell("comparing", name, found.rows);
        }
        if (found.end() === expected.end()) continue;
        differences.push(
          found.rows === expected.rows
            ? `${name} has other rows`
            : `${name} has ${found.rows} rows and not ${expected.rows}`,
        );
      }
      return differences;
    });
  }

  /** Reads the first line. */
  #begin(fields: Fields): void {
    if (fields.text("format") !== FORMAT) {
      throw new LineError("it is not that of an export of a relayer");
    }
    const version = fields.integer("version");
    if (version !== FORMAT_VERSION) {
      throw new LineError(
        `the export is of version ${version}, this program reads ` +
          `${FORMAT_VERSION}; it was made by version ` +
          `${fields.text("program")} of the program`,
      );
    }
    this.#atMs = Date.parse(fields.text("at"));
    if (Number.isNaN(this.#atMs)) throw new LineError('"at" is not an instant');
    this.#expected = fields.object("counts") as MovedCounts;
    const entries = this.#expected[LEDGER_ENTRIES.name];
    this.#tables = MOVED_TABLES.filter((table) =>
      table !== LEDGER_ENTRIES || entries !== undefined
    );
    if (entries === undefined || this.#hasLedger) return;
    throw new Error(
      "Cannot import the embedded ledger: LEDGER_RPC_URL names another one; " +
        "leave it empty, or set it for the export as well",
    );
  }

  async #put(
    table: MovedTable | undefined,
    rows: readonly MovedRow[],
  ): Promise<void> {
    if (table === undefined) return;
    if (table.name === "roots") await this.#demandKeys(rows);
    if (table === LEDGER_ENTRIES) this.#checkEntries(rows);
    if (table === BLOBS) await this.#putBlobs(rows);
    else if (rows.length > 0) await this.#rows.put(table, rows);
    this.#tell("importing", table.name, this.#counts[table.name] ?? 0);
  }

  async #putBlobs(rows: readonly MovedRow[]): Promise<void> {
    const blobs = this.#blobs;
    if (rows.length > 0 && blobs === undefined) {
      throw new Error(
        "Cannot import blobs: BLOB_PUBLISHER_URL names another place for " +
          "them, where they would get other ids; leave it empty",
      );
    }
    // Together, so that they share the waits for the disk.
    await Promise.all(rows.map(async ([id, bytes]) => {
      if (typeof id !== "string" || !(bytes instanceof Uint8Array)) return;
      if (blobs !== undefined) await writeBlob(blobs, { id, bytes });
    }));
  }

  /** Demands that the root keys open, and then begins to write. */
  async #demandKeys(roots: readonly MovedRow[]): Promise<void> {
    const { masters, source, replaces } = this.#options;
    demandMasterKeys(
      roots.flatMap(([, id, masterId, wrapped]) =>
        wrapped instanceof Uint8Array
          ? [{ id: String(id), masterId: String(masterId), wrapped }]
          : []
      ),
      { masters, place: quote(source.name) },
    );
    if (this.#isBegun) return;
    this.#isBegun = true;
    if (!replaces && !await this.#rows.isImporting()) await this.#demandEmpty();
    await this.#rows.begin();
    if (replaces) await this.#rows.erase(this.#tables);
  }

  async #demandEmpty(): Promise<void> {
    const { place } = this.#rows;
    const found = await this.#rows.reading(async (reader) => {
      const names: string[] = [];
      for (const table of this.#tables) {
        const { name } = table;
        if (name === "numbers" || await reader.count(table, 0) === 0) continue;
        names.push(name);
      }
      return names;
    });
    if (found.length === 0) return;
    const names = found.join(", ");
    throw new Error(
      `Cannot import to ${place}: it has rows of ${names} already, as a ` +
        "relayer has after its first start; name an empty one, or remove all " +
        "of them with --replace",
    );
  }

  #tell(step: MoveProgress["step"], table: string, done: number): void {
    const of = this.#expected[table];
    this.#options.onProgress({ step, table, done, of });
  }
}
