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
import { inTransaction } from "../../shared/sqlite/transaction.ts";
import { type AccountRow, AccountRows } from "./account_rows.ts";
import { keyServerEntryIds, keyServerObject } from "./key_server_objects.ts";
import type { AccountOutcome, AccountRecord, Ledger } from "./ledger.ts";
import {
  applyCommand,
  type Command,
  type CommandOutcome,
  type DelegateKeyInput,
} from "./operator_command.ts";
import type { LedgerFile } from "./ledger_file.ts";
import {
  addressOfPublicKey,
  normalizeLedgerId,
  normalizePublicKey,
} from "./ledger_id.ts";
import { LedgerLog, type ObjectChange } from "./ledger_log.ts";
import { INITIAL_VERSION } from "./owner_transaction.ts";
import {
  accountObject,
  type MoveObject,
  registryEntryIdOf,
  registryEntryObject,
  registryObject,
} from "./move_objects.ts";

/** The account to make. */
type NewAccount =
  /** The account of a key's address; the key is its first delegate. */
  | DelegateKeyInput
  /** The account of an address; keys are added later. */
  | { readonly address: string };

/** The outcome of changing an account. */
export type AccountChange =
  /** The change was made; this is the account after it. */
  | { readonly kind: "ok"; readonly account: AccountRecord }
  /** The account was already so; nothing was changed. */
  | { readonly kind: "exists"; readonly account: AccountRecord }
  /** There is no such account, or no such key. */
  | { readonly kind: "missing" }
  /** The input is invalid. */
  | { readonly kind: "invalid"; readonly message: string };

/** A key server to add. */
export interface KeyServerInput {
  /** The key server's name. */
  readonly name: string;
  /** The key server's URL. */
  readonly url: string;
  /** The key server's public key, 96 bytes. */
  readonly publicKey: Uint8Array;
}

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
  start(): Promise<void> {
    return Promise.resolve();
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
    return this.#file.errors.run(() => this.#recordOf(id));
  }

  #recordOf(accountId: string): AccountRecord | undefined {
    // The data version changes when another process has written. It is read
    // before the account, so that a cached account is never older than its
    // version says.
    const version = this.rows.dataVersion();
    if (version !== this.#knownVersion) this.#known.clear();
    this.#knownVersion = version;
    const known = this.#known.get(accountId);
    if (known !== undefined) return known;
    const account = recordOf(this.rows.byId(accountId));
    if (account !== undefined) this.#known.set(accountId, account);
    return account;
  }

  /**
   * Returns the account of an owner's address, with the times of its creation
   * and its keys.
   */
  byOwner(owner: string): AccountRecord | undefined {
    return recordOf(this.rows.byOwner(normalizeLedgerId(owner) ?? ""));
  }

  /**
   * Returns the account that a key speaks for; an active one where there are
   * several.
   */
  byKey(publicKey: string): AccountRecord | undefined {
    return recordOf(this.rows.byKey(normalizePublicKey(publicKey) ?? ""));
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
    const publicKey = normalizePublicKey(input.publicKey) ?? "";
    const owner = publicKey === "" ? "" : addressOfPublicKey(publicKey);
    return this.#enter({ kind: "create_account", owner, key: input });
  }

  /** Adds a delegate key to an account. */
  addDelegateKey(accountId: string, input: DelegateKeyInput): AccountChange {
    return this.#enter({
      kind: "add_delegate_key",
      accountId: normalizeLedgerId(accountId) ?? "",
      key: { publicKey: input.publicKey, label: input.label },
    });
  }

  /** Removes a delegate key from an account. */
  removeDelegateKey(accountId: string, publicKey: string): AccountChange {
    return this.#enter({
      kind: "remove_delegate_key",
      accountId: normalizeLedgerId(accountId) ?? "",
      publicKey: normalizePublicKey(publicKey) ?? "",
    });
  }

  /** Switches an account on or off. */
  setActive(accountId: string, isActive: boolean): AccountChange {
    return this.#enter({
      kind: "set_active",
      accountId: normalizeLedgerId(accountId) ?? "",
      isActive,
    });
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
    const command: Command = {
      kind: "add_key_server",
      ...{ objectId, name, url, publicKey: publicKey.toHex() },
    };
    this.#change(() => {
      const { digest, payload, timeMs } = this.#entryOf(command);
      const server = { objectId, name, url, publicKey, changedBy: digest };
      this.rows.writeKeyServer(server, keyServerEntryIds(objectId));
      const ids = [objectId, ...keyServerEntryIds(objectId)];
      const changes = ids.flatMap((id) => {
        const object = keyServerObject(server, id);
        return object === undefined
          ? []
          : [changeOf(object, known !== undefined)];
      });
      this.log.append({
        ...{ kind: "command", digest, sender: undefined, payload, timeMs },
        outcome: { abort: undefined, changes, events: [] },
      });
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
    const { packageId } = this;
    const before = this.rows.byId(account.accountId);
    const entryId = registryEntryIdOf(packageId, account.owner);
    // A new account's keys replace those of an account that its owner takes
    // over, and so are in the order they were added.
    if (isNew) this.rows.removeKeys(account.accountId);
    this.rows.write(account, entryId);
    this.#known.clear();
    const changes = [
      changeOf(accountObject(account, packageId), !isNew),
    ];
    if (before === undefined) {
      const accounts = this.rows.count();
      const registry = registryObject(packageId, { accounts });
      changes.push(
        changeOf(registryEntryObject(account, packageId), false),
        changeOf(registry, true),
      );
    }
    return changes;
  }

  /**
   * Clears the cache of accounts: it may hold a change that was never
   * committed.
   */
  forget(): void {
    this.#known.clear();
  }

  /** Applies a command and writes it to the log, unless it changes nothing. */
  #enter(
    command: Exclude<Command, { readonly kind: "add_key_server" }>,
  ): AccountChange {
    return viewOf(this.#change(() => this.#apply(command)));
  }

  #apply(
    command: Exclude<Command, { readonly kind: "add_key_server" }>,
  ): CommandOutcome {
    const account = command.kind === "create_account"
      ? this.rows.byOwner(command.owner)
      : this.rows.byId(command.accountId);
    const { digest, payload, timeMs } = this.#entryOf(command);
    const outcome = applyCommand(command, {
      ...{ packageId: this.packageId, account, nowMs: timeMs, digest },
    });
    if (outcome.kind !== "ok") return outcome;
    const changes = this.write(outcome.account, {
      isNew: account === undefined,
    });
    this.log.append({
      ...{ kind: "command", digest, sender: undefined, payload, timeMs },
      outcome: { abort: undefined, changes, events: [] },
    });
    return outcome;
  }

  /**
   * Makes the log entry of a command. Its digest covers its place in the log,
   * so that two equal commands are different entries.
   */
  #entryOf(command: Command): {
    readonly digest: Uint8Array;
    readonly payload: Uint8Array;
    readonly timeMs: number;
  } {
    const payload = new TextEncoder().encode(JSON.stringify(command));
    const { sequence, hash } = this.log.head();
    const digest = sha256(`command ${sequence + 1} `, hash, payload);
    return { digest, payload, timeMs: this.log.nextTimeMs() };
  }

  #adoptAccounts(): void {
    const strays = this.#file.db.prepare(
      "SELECT account_id FROM accounts WHERE entry_id = '' ORDER BY account_id",
    );
    if (this.#file.errors.run(() => strays.get()) === undefined) return;
    this.#change(() => {
      for (const row of strays.all()) {
        const account = this.rows.byId(String(row["account_id"]));
        if (account !== undefined) this.#adopt(account);
      }
    });
  }

  #adopt(account: AccountRow): void {
    const { accountId, owner, isActive, createdAtMs, delegateKeys } = account;
    const command: Command = {
      kind: "adopt_account",
      ...{ accountId, owner, isActive, createdAtMs, delegateKeys },
    };
    const { digest, payload, timeMs } = this.#entryOf(command);
    const adopted = applyCommand(command, {
      ...{
        packageId: this.packageId,
        account: undefined,
        nowMs: timeMs,
        digest,
      },
    });
    if (adopted.kind !== "ok") return;
    const entryId = registryEntryIdOf(this.packageId, owner);
    this.rows.write(adopted.account, entryId);
    this.log.append({
      ...{ kind: "command", digest, sender: undefined, payload, timeMs },
      outcome: {
        abort: undefined,
        changes: [
          changeOf(accountObject(adopted.account, this.packageId), false),
        ],
        events: [],
      },
    });
  }

  /**
   * Runs a change in a transaction, so that no other process writes in between.
   */
  #change<T>(change: () => T): T {
    try {
      return inTransaction(this.#file.db, change);
    } catch (error) {
      // The cache may hold a change that was never committed.
      this.#known.clear();
      throw this.#file.errors.named(error);
    }
  }
}

/** Returns the change that led to an object as it is now. */
function changeOf(object: MoveObject, isOld: boolean): ObjectChange {
  const { objectId, type, owner, version, digest } = object;
  return {
    ...{ objectId, type, owner },
    version: String(version),
    digest,
    previousVersion: isOld ? String(version - 1n) : undefined,
  };
}

/**
 * Returns an account as readers see it: inactive when its owner or the operator
 * has switched it off.
 */
function recordOf(account: AccountRow | undefined): AccountRecord | undefined {
  if (account === undefined) return undefined;
  const { accountId, owner, createdAtMs, delegateKeys } = account;
  const isActive = account.isActive && !account.isQuarantined;
  const access = {
    initialVersion: String(INITIAL_VERSION),
    counter: String(account.accessCounter),
  };
  return { accountId, owner, isActive, createdAtMs, delegateKeys, access };
}

function viewOf(outcome: CommandOutcome): AccountChange {
  if (outcome.kind !== "ok" && outcome.kind !== "exists") return outcome;
  const account = recordOf(outcome.account);
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
