/**
 * The embedded ledger: accounts in a file, one for each owner's address, with
 * their delegate keys. A change counts from the next request on, whichever
 * process made it, and every change is an entry of the log.
 *
 * @module
 */

import { BoundedMap } from "../../shared/bounded_map.ts";
import { LOCAL_PACKAGE_ID } from "../../shared/ledger/account_contract.ts";
import { hexId, sha256 } from "../../shared/ledger/digest.ts";
import { describeError } from "../../shared/settled.ts";
import { inTransaction, rollBack } from "../../shared/sqlite/transaction.ts";
import {
  type AccountRow,
  AccountRows,
  type KeyServerInput,
} from "./account_rows.ts";
import { keyServerEntryIds, keyServerObject } from "./key_server_objects.ts";
import type { AccountOutcome, AccountRecord, Ledger } from "./ledger.ts";
import {
  type AccountCommand,
  applyCommand,
  type Command,
  type CommandOutcome,
  type DelegateKeyInput,
  type KeyServerText,
} from "./operator_command.ts";
import type { LedgerFile } from "./ledger_file.ts";
import {
  addressOfPublicKey,
  normalizeLedgerId,
  normalizePublicKey,
} from "./ledger_id.ts";
import { type Entry, LedgerLog, type ObjectChange } from "./ledger_log.ts";
import { INITIAL_VERSION } from "./owner_transaction.ts";
import {
  accountObject,
  deriveRegistryEntryId,
  registryEntryObject,
  registryObject,
  toChange,
} from "./move_objects.ts";

/** The account to make. */
type NewAccount =
  /** The account of a key's address; the key is its first delegate. */
  | DelegateKeyInput
  /** The account of an address; keys are added later. */
  | { readonly address: string };

/** The outcome of changing an account. */
export type AccountChange = CommandOutcome<AccountRecord>;

/** A command's entry in the log, without what it changes. */
type CommandEntry = Pick<Entry, "digest" | "payload" | "timeMs">;

/** Most accounts that are cached. */
const CACHED_ACCOUNTS = 2_000;

/**
 * Reads and changes accounts in the ledger's file; the opener of the file
 * closes it.
 */
export class LocalLedger implements Ledger {
  /**
   * The package of the accounts' contract; the accounts' ids follow from it.
   */
  readonly packageId: string;
  /** The rows that follow from the log. */
  readonly rows: AccountRows;
  /** The log of all changes. */
  readonly log: LedgerLog;
  readonly #file: LedgerFile;
  /** Accounts that were read since the file last changed. */
  readonly #known = new BoundedMap<string, AccountRecord>({
    maxEntries: CACHED_ACCOUNTS,
  });
  #knownVersion: unknown;

  /**
   * Makes the ledger of an open file. Accounts of a file from before there was
   * a log are added to the log.
   *
   * @throws {TypeError} when the package's id is not valid
   */
  constructor(file: LedgerFile, packageId: string = LOCAL_PACKAGE_ID) {
    const id = normalizeLedgerId(packageId);
    if (id === undefined) {
      throw new TypeError(
        "Cannot open the ledger: the package's id is not hexadecimal",
      );
    }
    this.packageId = id;
    this.#file = file;
    this.rows = new AccountRows(file);
    this.log = new LedgerLog(file);
    this.#adoptAccounts();
  }

  /** Does nothing. */
  stop(): Promise<void> {
    return Promise.resolve();
  }

  /** The account of an id. */
  account(accountId: string): Promise<AccountOutcome> {
    return answer(() => this.record(accountId));
  }

  /** The account that a key speaks for. */
  accountOfKey(publicKey: string): Promise<AccountOutcome> {
    return answer(() => this.byKey(publicKey));
  }

  /** The account of an owner's address. */
  accountOfOwner(owner: string): Promise<AccountOutcome> {
    return answer(() => this.byOwner(owner));
  }

  /**
   * Returns the account of an id, with the times of its creation and its keys.
   */
  record(accountId: string): AccountRecord | undefined {
    const id = normalizeLedgerId(accountId) ?? "";
    return this.#file.errors.run(() => this.#findRecord(id));
  }

  #findRecord(accountId: string): AccountRecord | undefined {
    // The data version changes when another process has written. It is read
    // before the account, so that a cached account is never older than its
    // version says.
    const version = this.rows.dataVersion();
    if (version !== this.#knownVersion) this.#known.clear();
    this.#knownVersion = version;
    const known = this.#known.get(accountId);
    if (known !== undefined) return known;
    const account = toRecord(this.rows.byId(accountId));
    if (account !== undefined) this.#known.set(accountId, account);
    return account;
  }

  /**
   * Returns the account of an owner's address, with the times of its creation
   * and its keys.
   */
  byOwner(owner: string): AccountRecord | undefined {
    return toRecord(this.rows.byOwner(normalizeLedgerId(owner) ?? ""));
  }

  /**
   * Returns the account that a key speaks for; an active one where there are
   * several.
   */
  byKey(publicKey: string): AccountRecord | undefined {
    return toRecord(this.rows.byKey(normalizePublicKey(publicKey) ?? ""));
  }

  /** Makes an account, unless the address has one. */
  createAccount(input: NewAccount): AccountChange {
    if ("address" in input) {
      const owner = normalizeLedgerId(input.address);
      if (owner === undefined) {
        const message = "Cannot create account: the address is not hexadecimal";
        return { kind: "invalid", message };
      }
      return this.#enter({ kind: "create_account", owner, key: undefined });
    }
    const publicKey = normalizePublicKey(input.publicKey);
    const owner = publicKey === undefined ? "" : addressOfPublicKey(publicKey);
    return this.#enter({ kind: "create_account", owner, key: input });
  }

  /** Adds a delegate key to an account. */
  addDelegateKey(
    accountId: string,
    { publicKey, label }: DelegateKeyInput,
  ): AccountChange {
    const key = { publicKey, label };
    return this.#enter({ kind: "add_delegate_key", accountId, key });
  }

  /** Removes a delegate key from an account. */
  removeDelegateKey(accountId: string, digits: string): AccountChange {
    const publicKey = normalizePublicKey(digits) ?? "";
    return this.#enter({ kind: "remove_delegate_key", accountId, publicKey });
  }

  /** Switches an account on or off. */
  setActive(accountId: string, isActive: boolean): AccountChange {
    return this.#enter({ kind: "set_active", accountId, isActive });
  }

  /**
   * Adds a key server for the ledger's clients; adding the same public key
   * again changes the server's name and URL.
   *
   * @returns the key server's object id
   */
  addKeyServer({ name, url, publicKey }: KeyServerInput): string {
    const objectId = hexId(sha256("key server ", publicKey));
    const known = this.rows.keyServer(objectId);
    if (known?.name === name && known.url === url) return objectId;
    this.#change(() => {
      const server = { objectId, name, url, publicKey: publicKey.toHex() };
      const entry = this.#buildEntry({ kind: "add_key_server", ...server });
      this.#append(entry, this.writeKeyServer(server, entry.digest));
    });
    return objectId;
  }

  /**
   * Writes an account, and returns the objects that changed by it; runs within
   * a transaction of the file.
   */
  write(
    account: AccountRow,
    { isNew }: { readonly isNew: boolean },
  ): readonly ObjectChange[] {
    const { packageId, rows } = this;
    const before = rows.byId(account.accountId);
    // A new account's keys replace those of an account that its owner takes
    // over, and so are in the order they were added.
    if (isNew) rows.removeKeys(account.accountId);
    const changed = this.#writeRow(account, { isNew });
    if (before !== undefined) return [changed];
    const entry = registryEntryObject(account, packageId);
    const registry = registryObject(packageId, { accounts: rows.count() });
    return [
      changed,
      toChange(entry, { isNew: true }),
      toChange(registry, { isNew: false }),
    ];
  }

  /**
   * Writes an account that its file had before there was a log, and returns the
   * object that changed; runs within a transaction of the file.
   */
  writeAdopted(account: AccountRow): readonly ObjectChange[] {
    return [this.#writeRow(account, { isNew: true })];
  }

  /**
   * Writes a key server, and returns the objects that changed by it; runs within
   * a transaction of the file.
   *
   * @param changedBy The digest of the entry.
   */
  writeKeyServer(
    { objectId, name, url, publicKey }: KeyServerText,
    changedBy: Uint8Array,
  ): readonly ObjectChange[] {
    const isNew = this.rows.keyServer(objectId) === undefined;
    const server = {
      ...{ objectId, name, url, changedBy },
      publicKey: Uint8Array.fromHex(publicKey),
    };
    const entryIds = keyServerEntryIds(objectId);
    this.rows.writeKeyServer(server, entryIds);
    return [objectId, ...entryIds].flatMap((id) => {
      const object = keyServerObject(server, id);
      return object === undefined ? [] : [toChange(object, { isNew })];
    });
  }

  #writeRow(
    account: AccountRow,
    state: { readonly isNew: boolean },
  ): ObjectChange {
    const { packageId } = this;
    this.rows.write(account, deriveRegistryEntryId(packageId, account.owner));
    this.#known.clear();
    return toChange(accountObject(account, packageId), state);
  }

  /**
   * Clears the cache of accounts: it may hold a change that was never
   * committed.
   */
  forget(): void {
    this.#known.clear();
  }

  /** Reads a single state, whatever other processes write meanwhile. */
  inOneState<T>(read: () => T): T {
    const { db, errors } = this.#file;
    if (db.isTransaction) return read();
    try {
      return errors.run(() => {
        db.exec("BEGIN");
        return read();
      });
    } finally {
      rollBack(db);
    }
  }

  /** Runs a change and undoes it; returns what the change returned. */
  tryOut<T>(change: () => T): T {
    const { db, errors } = this.#file;
    try {
      return errors.run(() => {
        db.exec("BEGIN IMMEDIATE");
        return change();
      });
    } finally {
      rollBack(db);
      this.forget();
    }
  }

  /** Applies a command and writes it to the log, unless it changes nothing. */
  #enter(command: AccountCommand): AccountChange {
    const named = "owner" in command
      ? command
      : { ...command, accountId: normalizeLedgerId(command.accountId) ?? "" };
    return toView(this.#change(() => {
      const account = "owner" in named
        ? this.rows.byOwner(named.owner)
        : this.rows.byId(named.accountId);
      const isNew = account === undefined;
      return this.#apply(named, {
        account,
        write: (changed) => this.write(changed, { isNew }),
      });
    }));
  }

  /** Applies a command; `write` writes what it leads to. */
  #apply(
    command: AccountCommand,
    { account, write }: {
      readonly account: AccountRow | undefined;
      readonly write: (changed: AccountRow) => readonly ObjectChange[];
    },
  ): CommandOutcome {
    const entry = this.#buildEntry(command);
    const outcome = applyCommand(command, {
      ...{ packageId: this.packageId, account },
      ...{ nowMs: entry.timeMs, digest: entry.digest },
    });
    if (outcome.kind === "ok") this.#append(entry, write(outcome.account));
    return outcome;
  }

  /**
   * Makes the log entry of a command. Its digest covers its place in the log,
   * so that two equal commands are different entries.
   */
  #buildEntry(command: Command): CommandEntry {
    const payload = new TextEncoder().encode(JSON.stringify(command));
    const { sequence, hash } = this.log.head();
    const digest = sha256(`command ${sequence + 1} `, hash, payload);
    return { digest, payload, timeMs: this.log.nextTimeMs() };
  }

  #append(entry: CommandEntry, changes: readonly ObjectChange[]): void {
    const outcome = { abort: undefined, changes, events: [] };
    this.log.append({ ...entry, kind: "command", sender: undefined, outcome });
  }

  #adoptAccounts(): void {
    const strays = this.#file.db.prepare(
      "SELECT account_id FROM accounts WHERE entry_id = '' ORDER BY account_id",
    );
    if (this.#file.errors.run(() => strays.get()) === undefined) return;
    this.#change(() => {
      for (const row of strays.all()) {
        const found = this.rows.byId(String(row["account_id"]));
        if (found === undefined) continue;
        const { accountId, owner, isActive, createdAtMs, delegateKeys } = found;
        this.#apply({
          kind: "adopt_account",
          ...{ accountId, owner, isActive, createdAtMs, delegateKeys },
        }, {
          account: undefined,
          write: (adopted) => this.writeAdopted(adopted),
        });
      }
    });
  }

  /**
   * Runs a change in a transaction, so that no other process writes in between;
   * in the one that is open, if any.
   */
  #change<T>(change: () => T): T {
    const { db } = this.#file;
    try {
      return db.isTransaction ? change() : inTransaction(db, change);
    } catch (error) {
      this.forget();
      throw this.#file.errors.named(error);
    }
  }
}

/**
 * Returns an account as readers see it: inactive when its owner or the operator
 * has switched it off.
 */
function toRecord(account: AccountRow | undefined): AccountRecord | undefined {
  if (account === undefined) return undefined;
  const { accountId, owner, createdAtMs, delegateKeys } = account;
  const isActive = account.isActive && !account.isQuarantined;
  const access = {
    initialVersion: String(INITIAL_VERSION),
    counter: String(account.accessCounter),
  };
  return { accountId, owner, isActive, createdAtMs, delegateKeys, access };
}

function toView(outcome: CommandOutcome): AccountChange {
  if (outcome.kind !== "ok" && outcome.kind !== "exists") return outcome;
  const account = toRecord(outcome.account);
  return account === undefined
    ? { kind: "missing" }
    : { kind: outcome.kind, account };
}

/**
 * Answers with an account; a file that cannot be read counts as a ledger that
 * does not respond.
 */
function answer(
  read: () => AccountRecord | undefined,
): Promise<AccountOutcome> {
  try {
    const account = read();
    return Promise.resolve(
      account === undefined ? { kind: "missing" } : { kind: "ok", account },
    );
  } catch (error) {
    const reason = describeError(error);
    return Promise.resolve({ kind: "unavailable", reason });
  }
}
