/**
 * The rows of a data folder, for exports and imports, while no relayer has it.
 *
 * @module
 */

import type { DatabaseSync } from "node:sqlite";
import type { Clock } from "../../shared/clock.ts";
import { quote } from "../../shared/quote.ts";
import { lockFolder } from "../../shared/sqlite/folder_lock.ts";
import { migrate } from "../../shared/sqlite/migrations.ts";
import { inTransaction } from "../../shared/sqlite/transaction.ts";
import { openLedgerFile } from "../ledger/ledger_file.ts";
import { LedgerBrokenError, replayEntries } from "../ledger/ledger_replica.ts";
import { LocalLedger } from "../ledger/local_ledger.ts";
import { LEDGER_FILE } from "../settings.ts";
import { FileErrors, openDatabase } from "../store/sqlite/database_file.ts";
import {
  ChangeCounter,
  IMPORTING,
  isImporting,
} from "../store/sqlite/memory_reads.ts";
import { RELAYER_MIGRATIONS } from "../store/sqlite/migrations.ts";
import { KEY_MIGRATIONS } from "../vault/key_database.ts";
import { type MovedLedger, readEntries } from "./moved_entries.ts";
import { type MovedRows, RowBatch, type RowReader } from "./moved_rows.ts";
import {
  type DataFile,
  LEDGER_ENTRIES,
  type MovedRow,
  type MovedTable,
  type MovedValue,
} from "./moved_tables.ts";

/** Sums up the open jobs of each owner, which PostgreSQL counts instead. */
const SUM_JOBS = `INSERT INTO owners(owner, open_jobs, open_bytes)
  SELECT owner, count(*), sum(payload_bytes) FROM jobs
  WHERE status < 3 GROUP BY owner
  ON CONFLICT(owner) DO UPDATE SET open_jobs = excluded.open_jobs,
    open_bytes = excluded.open_bytes`;

/** What a file has beside its rows, to be removed with those of a table. */
const BESIDE: Readonly<Record<string, readonly string[]>> = {
  jobs: ["payloads"],
  memories: ["index_snapshots", "snapshot_parts"],
  [LEDGER_ENTRIES.name]: [
    ...["accounts", "delegate_keys", "changes", "events", "senders"],
    "key_servers",
  ],
};

/**
 * Opens the files of a folder. The folder must exist; missing files are made.
 *
 * @param options.ledger How the embedded ledger is opened; undefined where the
 * ledger is remote
 * @throws {Error} when a relayer has the folder, or a file cannot be opened
 */
export async function openSqliteRows(
  dataFolder: string,
  { clock, ledger }: {
    readonly clock: Clock;
    readonly ledger: MovedLedger | undefined;
  },
): Promise<MovedRows> {
  const lock = lockFolder(dataFolder, "relayer.lock");
  const opened: { close(): Promise<void> | void }[] = [
    { close: () => lock.release() },
  ];
  const close = async (): Promise<void> => {
    for (const one of opened.splice(0).reverse()) await one.close();
  };
  try {
    const open = (
      name: "relayer.db" | "keys.db",
      migrations: typeof KEY_MIGRATIONS,
    ): DatabaseSync => {
      const path = `${dataFolder}/${name}`;
      const errors = new FileErrors(path, "put its backup in its place");
      return errors.run(() => {
        const db = openDatabase(path, { isErasing: name === "keys.db" });
        opened.push({ close: () => db.close() });
        migrate(db, { nowMs: clock.nowMs(), migrations, fileName: name });
        return db;
      });
    };
    const rows = open("relayer.db", RELAYER_MIGRATIONS);
    new ChangeCounter(rows, clock.nowMs());
    const keys = open("keys.db", KEY_MIGRATIONS);
    const file = openLedgerFile(`${dataFolder}/${LEDGER_FILE}`, clock);
    opened.push(file);
    return new SqliteRows(`the data folder ${quote(dataFolder)}`, {
      files: { "relayer.db": rows, "keys.db": keys, "ledger.db": file.db },
      ledger: ledger && new LocalLedger(file, ledger.packageId),
      close,
    });
  } catch (error) {
    await close();
    throw error;
  }
}

/** Rows in open files. */
class SqliteRows implements MovedRows, RowReader {
  readonly place: string;
  readonly close: () => Promise<void>;
  readonly #files: Readonly<Record<DataFile, DatabaseSync>>;
  readonly #ledger: LocalLedger | undefined;

  constructor(
    place: string,
    { files, ledger, close }: {
      readonly files: Readonly<Record<DataFile, DatabaseSync>>;
      readonly ledger: LocalLedger | undefined;
      readonly close: () => Promise<void>;
    },
  ) {
    this.place = place;
    this.close = close;
    this.#files = files;
    this.#ledger = ledger;
  }

  /** Nothing else writes to the files. */
  async reading<Answer>(
    use: (reader: RowReader) => Promise<Answer>,
  ): Promise<Answer> {
    return await use(this);
  }

  async *pages(
    table: MovedTable,
    nowMs: number,
  ): AsyncGenerator<readonly MovedRow[]> {
    const names = Object.keys(table.columns);
    const { read = {} } = table.sqlite;
    const columns = names.map((name) => `${read[name] ?? name} AS "${name}"`);
    const statement = this.#files[table.file].prepare(
      `SELECT ${columns.join(", ")} FROM ${fromOf(table)} ` +
        `ORDER BY ${table.key.join(", ")}`,
    );
    const batch = new RowBatch();
    for (const record of statement.iterate(...expiryOf(table, nowMs))) {
      const page = batch.add(names.map((name) => record[name] as MovedValue));
      if (page.length > 0) yield page;
    }
    const rest = batch.take();
    if (rest.length > 0) yield rest;
  }

  // deno-lint-ignore require-await -- a throw becomes a rejection
  async count(table: MovedTable, nowMs: number): Promise<number> {
    const row = this.#files[table.file].prepare(
      `SELECT count(*) AS count FROM ${fromOf(table)}`,
    ).get(...expiryOf(table, nowMs));
    return Number(row?.["count"]);
  }

  // deno-lint-ignore require-await -- a throw becomes a rejection
  async isImporting(): Promise<boolean> {
    return isImporting(this.#files["relayer.db"]);
  }

  // deno-lint-ignore require-await -- a throw becomes a rejection
  async begin(): Promise<void> {
    this.#files["relayer.db"].prepare(
      "INSERT INTO numbers VALUES(?, 1) ON CONFLICT DO NOTHING",
    ).run(IMPORTING);
  }

  // deno-lint-ignore require-await -- a throw becomes a rejection
  async erase(tables: readonly MovedTable[]): Promise<void> {
    for (const [file, db] of Object.entries(this.#files)) {
      inTransaction(db, () => {
        for (const { name, sqlite, ...table } of tables) {
          if (table.file !== file || name === "numbers") continue;
          for (const of of [sqlite.into ?? name, ...BESIDE[name] ?? []]) {
            db.exec(`DELETE FROM ${of}`);
          }
        }
      });
      // Erased keys stay in no log.
      db.exec("PRAGMA wal_checkpoint(TRUNCATE)");
    }
    this.#ledger?.forget();
  }

  // deno-lint-ignore require-await -- a throw becomes a rejection
  async put(table: MovedTable, rows: readonly MovedRow[]): Promise<void> {
    const db = this.#files[table.file];
    if (table.name === "numbers") return putNumbers(db, rows);
    if (table === LEDGER_ENTRIES) return this.#putEntries(db, rows);
    const { name, columns, sqlite: { into = name, unwritten = [] } } = table;
    const names = Object.keys(columns);
    const written = names.filter((column) => !unwritten.includes(column));
    const insert = db.prepare(
      `INSERT INTO ${into}(${written.join(", ")}) ` +
        `VALUES(${written.map(() => "?").join(", ")}) ON CONFLICT DO NOTHING`,
    );
    const places = written.map((column) => names.indexOf(column));
    const payload = names.indexOf("payload");
    const insertPayload = payload < 0 ? undefined : db.prepare(
      "INSERT INTO payloads(n, bytes) VALUES(?, ?) ON CONFLICT DO NOTHING",
    );
    inTransaction(db, () => {
      for (const row of rows) {
        insert.run(...places.map((place) => row[place] ?? null));
        const bytes = row[payload] ?? null;
        if (bytes === null) continue;
        insertPayload?.run(row[names.indexOf("n")] ?? null, bytes);
      }
    });
  }

  /** Writes entries, with the accounts and all else that follows from them. */
  #putEntries(db: DatabaseSync, rows: readonly MovedRow[]): void {
    const ledger = this.#ledger;
    if (ledger === undefined) return;
    try {
      replayEntries(readEntries(rows), { ledger, db });
    } catch (error) {
      if (!(error instanceof LedgerBrokenError)) throw error;
      throw new Error(
        `Cannot import to ${this.place}: its ledger has other entries; import ` +
          "again with --replace",
        { cause: error },
      );
    }
  }

  // deno-lint-ignore require-await -- a throw becomes a rejection
  async complete(): Promise<void> {
    this.#files["relayer.db"].exec(SUM_JOBS);
  }

  // deno-lint-ignore require-await -- a throw becomes a rejection
  async end(): Promise<void> {
    this.#files["relayer.db"].prepare("DELETE FROM numbers WHERE name = ?")
      .run(IMPORTING);
  }
}

function fromOf({ name, sqlite, expires }: MovedTable): string {
  const from = sqlite.from ?? name;
  return expires === undefined ? from : `${from} WHERE ${expires} > ?`;
}

function expiryOf({ expires }: MovedTable, nowMs: number): readonly number[] {
  return expires === undefined ? [] : [nowMs];
}

function putNumbers(db: DatabaseSync, rows: readonly MovedRow[]): void {
  const update = db.prepare("UPDATE numbers SET value = ? WHERE name = ?");
  inTransaction(db, () => {
    for (const [first = null, last = null] of rows) {
      update.run(first, "first_change");
      update.run(last, "last_change");
    }
  });
}
