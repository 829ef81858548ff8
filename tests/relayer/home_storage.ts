/**
 * Where the relayers of a test keep rows, keys and blobs: files of the data
 * folder, or a schema of a real PostgreSQL. A test says what it does to them in
 * the same words, whichever it is.
 *
 * @module
 */

import type { PostgresServer } from "../support/postgres_server.ts";
import { blobFiles, blobId } from "./blob_files.ts";
import { type ReadableTrace, readableTraces } from "./readable_traces.ts";

/** What keeps the data of relayers in a test. */
export interface HomeStorage {
  /** The settings of a relayer that uses it. */
  readonly env: Readonly<Record<string, string>>;
  /** Whether several processes may use it at once. */
  readonly isShared: boolean;
  /** The ids of all blobs, computed from their bytes. */
  blobIds(): Promise<readonly string[]>;
  /** Hides a blob, as if it were lost; the returned function puts it back. */
  hideBlob(id: string): Promise<() => Promise<void>>;
  /** Loses everything but keys, blobs and their catalogue. */
  loseRows(): Promise<void>;
  /** Loses everything. */
  loseAll(): Promise<void>;
  /** Searches everything that was written for secrets. */
  traces(secrets: readonly string[]): Promise<readonly ReadableTrace[]>;
}

/** Makes the storage of relayers over their data folder. */
export type MakeStorage = (dataDir: string) => HomeStorage;

/** Files of the data folder. */
export class FolderStorage implements HomeStorage {
  /** None: SQLite is the default. */
  readonly env: Readonly<Record<string, string>> = {};
  /** False: the folder is locked. */
  readonly isShared = false;
  readonly #dataDir: string;

  /** Uses a data folder. */
  constructor(dataDir: string) {
    this.#dataDir = dataDir;
  }

  /** Reads the files of the blobs. */
  async blobIds(): Promise<readonly string[]> {
    return [...(await blobFiles(this.#dataDir)).keys()];
  }

  /** Moves the blob's file away. */
  async hideBlob(id: string): Promise<() => Promise<void>> {
    const path = (await blobFiles(this.#dataDir)).get(id) ?? "";
    const hidden = `${this.#dataDir}/hidden`;
    await Deno.rename(path, hidden);
    return () => Deno.rename(hidden, path);
  }

  /** Removes the database; no relayer may run. */
  async loseRows(): Promise<void> {
    for (const suffix of ["", "-wal", "-shm"]) {
      await removeFile(`${this.#dataDir}/relayer.db${suffix}`);
    }
  }

  /** Removes all files of the folder; no relayer may run. */
  loseAll(): Promise<void> {
    return emptyFolder(this.#dataDir);
  }

  /** Searches all files of the folder. */
  traces(secrets: readonly string[]): Promise<readonly ReadableTrace[]> {
    return readableTraces(this.#dataDir, secrets);
  }
}

/**
 * What `loseRows` leaves: keys, blobs, the catalogue, the ledger, and what the
 * tables have from their creation on.
 */
const KEPT_TABLES = [
  ...["roots", "data_keys", "owner_keys", "receipt_keys"],
  ...["blob_parts", "catalog", "replacements"],
  ...["ledger_entries", "ledger_turn"],
  ...["migrations", "numbering", "channel"],
];

const MASTER_KEY = Uint8Array.from({ length: 32 }, (_, at) => 37 * at + 11);

/** A database for relayers: one server, or a primary with standbys. */
export interface TestDatabase {
  /** The URL for relayers. */
  readonly url: string;
  /** The server that takes writes. */
  readonly primary: PostgresServer;
  /** The others. */
  readonly standbys: readonly PostgresServer[];
}

/** A schema of PostgreSQL, and a data folder for what is not in it. */
export class SchemaStorage implements HomeStorage {
  /** True: several relayers can use one schema at a time. */
  readonly isShared = true;
  readonly #dataDir: string;
  readonly #database: TestDatabase;
  readonly #schema: string;

  /** Makes up a schema in a database, which the first relayer creates. */
  constructor(dataDir: string, database: TestDatabase) {
    this.#dataDir = dataDir;
    this.#database = database;
    this.#schema = database.primary.nextSchema();
  }

  /** Names the schema. */
  get env(): Readonly<Record<string, string>> {
    return {
      STORE: "postgres",
      DATABASE_URL: this.#database.url,
      DATABASE_SCHEMA: this.#schema,
      MASTER_KEYS: `test:${MASTER_KEY.toBase64()}`,
    };
  }

  get #server(): PostgresServer {
    return this.#database.primary;
  }

  /** Reads the rows of the blobs. */
  async blobIds(): Promise<readonly string[]> {
    const rows = await this.#server.sql<{ readonly hex: string }>(
      "SELECT encode(string_agg(bytes, '' ORDER BY part), 'hex') AS hex " +
        `FROM ${this.#schema}.blob_parts GROUP BY blob`,
    );
    return rows.map(({ hex }) => blobId(Uint8Array.fromHex(hex)));
  }

  /** Renames the blob. */
  async hideBlob(id: string): Promise<() => Promise<void>> {
    const name = Uint8Array.fromBase64(id, { alphabet: "base64url" }).toHex();
    const rename = async (from: string, to: string) => {
      await this.#server.sql(
        `UPDATE ${this.#schema}.blob_parts SET blob = '\\x${to}' ` +
          `WHERE blob = '\\x${from}'`,
      );
    };
    await rename(name, "00");
    return () => rename("00", name);
  }

  /** Empties the tables; no relayer may run. */
  async loseRows(): Promise<void> {
    const tables = await this.#server.sql<{ readonly name: string }>(
      "SELECT tablename AS name FROM pg_tables " +
        `WHERE schemaname = '${this.#schema}'`,
    );
    const lost = tables.map(({ name }) => name)
      .filter((name) => !KEPT_TABLES.includes(name))
      .map((name) => `${this.#schema}.${name}`);
    await this.#server.sql(`TRUNCATE ${lost.join(", ")}`);
    // As in a new schema, so that no position of a feed comes twice.
    await this.#server.sql(
      `UPDATE ${this.#schema}.numbering ` +
        `SET first_change = ${this.#schema}.now_ms() * 1024`,
    );
  }

  /** Removes the schema and the files; no relayer may run. */
  async loseAll(): Promise<void> {
    await this.#server.sql(`DROP SCHEMA ${this.#schema} CASCADE`);
    await emptyFolder(this.#dataDir);
  }

  /** Searches the files of the folder and of all servers, and dumps. */
  async traces(secrets: readonly string[]): Promise<readonly ReadableTrace[]> {
    const found = [...await readableTraces(this.#dataDir, secrets)];
    const { primary, standbys } = this.#database;
    for (const server of [primary, ...standbys]) {
      found.push(...await serverTraces(server, secrets));
    }
    return found;
  }
}

/**
 * Searches a server's files and a dump for secrets. Words that a server has from
 * the start, in its catalogue or its settings, do not count.
 */
async function serverTraces(
  server: PostgresServer,
  secrets: readonly string[],
): Promise<readonly ReadableTrace[]> {
  const folder = await server.writtenFiles();
  const template = [
    ...await readableTraces(`${folder}/data/base/1`, secrets),
    ...await readableTraces(`${folder}/data/postgresql.conf`, secrets),
  ];
  const usual = new Set(template.map(({ secret }) => secret));
  return await readableTraces(
    folder,
    secrets.filter((secret) => !usual.has(secret)),
  );
}

async function emptyFolder(path: string): Promise<void> {
  for await (const { name } of Deno.readDir(path)) {
    await Deno.remove(`${path}/${name}`, { recursive: true });
  }
}

async function removeFile(path: string): Promise<void> {
  try {
    await Deno.remove(path);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
}
