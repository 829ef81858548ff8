/**
 * The key server's record of owners' accounts, on disk: where the replay of
 * each owner's transactions has ended. A ledger that is set back, so that a
 * removed key would count again, contradicts this record.
 *
 * @module
 */

import type { DatabaseSync } from "node:sqlite";
import type { Clock } from "../shared/clock.ts";
import type { AccountState } from "../shared/ledger/account_contract.ts";
import type { ReplayState } from "../shared/ledger/account_replay.ts";
import { migrate } from "../shared/sqlite/migrations.ts";
import { openDatabase } from "../shared/sqlite/open_database.ts";
import { toStoreError } from "../shared/sqlite/sqlite_error.ts";

/**
 * Where the replay of an owner's transactions has ended, and the account's
 * state there.
 */
export interface SeenAccount extends ReplayState {
  /** The digest of the owner's last transaction, base58. */
  readonly lastDigest: string;
}

const FILE = "accounts.db";
const MIGRATIONS = [{
  version: 1,
  name: "accounts",
  sql: `CREATE TABLE accounts(
    owner TEXT PRIMARY KEY,
    last_digest TEXT NOT NULL,
    state TEXT NOT NULL
  ) STRICT, WITHOUT ROWID;`,
}];

/**
 * Keeps the record of accounts; each change is on disk when the call returns.
 */
export class SeenAccounts {
  readonly #db: DatabaseSync;
  readonly #select: ReturnType<DatabaseSync["prepare"]>;
  readonly #upsert: ReturnType<DatabaseSync["prepare"]>;

  /**
   * Opens the record's file in an existing folder; makes the file at the first
   * start.
   *
   * @throws {Error} When the file is not such a record.
   */
  constructor(dataDir: string, clock: Clock) {
    const path = `${dataDir}/${FILE}`;
    this.#db = openDatabase(path, { checkpointPages: 1_000 });
    migrate(this.#db, {
      nowMs: clock.nowMs(),
      migrations: MIGRATIONS,
      fileName: path,
    });
    this.#select = this.#db.prepare(
      "SELECT last_digest, state FROM accounts WHERE owner = ?",
    );
    this.#upsert = this.#db.prepare(
      "INSERT INTO accounts VALUES(?, ?, ?) ON CONFLICT(owner) DO UPDATE " +
        "SET last_digest = excluded.last_digest, state = excluded.state",
    );
  }

  /**
   * Returns where the replay of an owner has ended; undefined when it has not
   * begun.
   *
   * @throws {StoreFailedError} When the file or its disk fails.
   */
  get(owner: string): SeenAccount | undefined {
    try {
      const row = this.#select.get(owner);
      if (row === undefined) return undefined;
      return {
        ...readState(JSON.parse(String(row["state"]))),
        lastDigest: String(row["last_digest"]),
      };
    } catch (error) {
      throw toStoreError(error);
    }
  }

  /**
   * Records where the replay of an owner has ended.
   *
   * @throws {StoreFailedError} When the file or its disk fails.
   */
  put(owner: string, { lastDigest, account, gasCoin }: SeenAccount): void {
    const state: WrittenState = {
      account: account && {
        ...account,
        accessCounter: String(account.accessCounter),
      },
      gasCoin: {
        ...gasCoin,
        version: String(gasCoin.version),
        digest: gasCoin.digest.toHex(),
      },
    };
    try {
      this.#upsert.run(owner, lastDigest, JSON.stringify(state));
    } catch (error) {
      throw toStoreError(error);
    }
  }

  /** Closes the file. */
  close(): void {
    this.#db.close();
  }
}

/**
 * The form of a state in the file: JSON has no integers of 64 bits and no
 * bytes.
 */
interface WrittenState {
  readonly account:
    | (Omit<AccountState, "accessCounter"> & { readonly accessCounter: string })
    | undefined;
  readonly gasCoin: {
    readonly objectId: string;
    readonly version: string;
    readonly digest: string;
  };
}

function readState({ account, gasCoin }: WrittenState): ReplayState {
  return {
    account: account && {
      ...account,
      accessCounter: BigInt(account.accessCounter),
    },
    gasCoin: {
      ...gasCoin,
      version: BigInt(gasCoin.version),
      digest: Uint8Array.fromHex(gasCoin.digest),
    },
  };
}
