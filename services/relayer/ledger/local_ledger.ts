/**
 * The embedded ledger: accounts in a file of our own, one for each owner's address,
 * with the keys that may speak for it. What is changed here counts with the next
 * request, whatever process changed it, and every change is an entry of a log.
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

/** Whose account is to be made. */
type NewAccount =
  /** That of a key, which may speak for it from the beginning. */
  | DelegateKeyInput
  /** That of an address; keys are added later. */
  | { readonly address: string };

/** The outcome of changing an account. */
export type AccountChange =
  /** It is done; this is the account now. */
  | { readonly kind: "ok"; readonly account: AccountRecord }
  /** It was so before; nothing was changed. */
  | { readonly kind: "exists"; readonly account: AccountRecord }
  /** There is no such account, or no such key. */
  | { readonly kind: "missing" }
  /** What was given cannot be taken. */
  | { readonly kind: "invalid"; readonly message: string };

/** A key server as it is entered. */
export interface KeyServerInput {
  /** What it is called. */
  readonly name: string;
  /** Where it answers. */
  readonly url: string;
  /** The 96 bytes of its public key. */
  readonly publicKey: Uint8Array;
}

/** Accounts that are kept in memory as they were read. */
const CACHED_ACCOUNTS = 2_000;

/** Reads and changes accounts in a file. Its opener closes the file. */
export class LocalLedger implements Ledger {
  /** The package whose module accounts are of; their ids follow from it. */
  readonly packageId: string;
  /** The rows that follow from the log. */
  readonly rows: AccountRows;
  /** Every change. */
  readonly log: LedgerLog;
  readonly #file: LedgerFile;
  /** What was read since the file changed last. */
  readonly #known = new BoundedMap<string, AccountRecord>({
    maxEntries: CACHED_ACCOUNTS,
  });
  #knownVersion: unknown;

  /**
   * The ledger in an open file. Accounts of a file that had no log yet are entered
   * into it.
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

  /** There is nothing to get ready. */
  start(): Promise<void> {
    return Promise.resolve();
  }

  /** There is nothing under way. */
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

  /** The account of an id, with everything that is known of it. */
  record(accountId: string): AccountRecord | undefined {
    const id = normalizeLedgerId(accountId) ?? "";
    return this.#file.errors.run(() => this.#recordOf(id));
  }

  #recordOf(accountId: string): AccountRecord | undefined {
    // Another one when another process has written. Asked before the account is
    // read, so that what is read is never older than it says.
    const version = this.rows.dataVersion();
    if (version !== this.#knownVersion) this.#known.clear();
    this.#knownVersion = version;
    const known = this.#known.get(accountId);
    if (known !== undefined) return known;
    const account = recordOf(this.rows.byId(accountId));
    if (account !== undefined) this.#known.set(accountId, account);
    return account;
  }

  /** The account of an owner's address, with everything that is known of it. */
  byOwner(owner: string): AccountRecord | undefined {
    return recordOf(this.rows.byOwner(normalizeLedgerId(owner) ?? ""));
  }

  /** The account that a key speaks for; the active one where there are several. */
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

  /** Lets a key speak for an account. */
  addDelegateKey(accountId: string, input: DelegateKeyInput): AccountChange {
    return this.#enter({
      kind: "add_delegate_key",
      accountId: normalizeLedgerId(accountId) ?? "",
      key: { publicKey: input.publicKey, label: input.label },
    });
  }

  /** Lets a key speak for an account no longer. */
  removeDelegateKey(accountId: string, publicKey: string): AccountChange {
    return this.#enter({
      kind: "remove_delegate_key",
      accountId: normalizeLedgerId(accountId) ?? "",
      publicKey: normalizePublicKey(publicKey) ?? "",
    });
  }

  /** Switches an account off, or on again. */
  setActive(accountId: string, isActive: boolean): AccountChange {
    return this.#enter({
      kind: "set_active",
      accountId: normalizeLedgerId(accountId) ?? "",
      isActive,
    });
  }

  /**
   * Makes a key server known to clients of the ledger; entering it again changes its
   * name and where it answers.
   *
   * @returns its id
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
   * Writes what became of an account and which objects changed by it; runs within a
   * transaction of the file.
   */
  write(
    account: AccountRow,
    { isNew }: { readonly isNew: boolean },
  ): readonly ObjectChange[] {
    const { packageId } = this;
    const before = this.rows.byId(account.accountId);
    const entryId = registryEntryIdOf(packageId, account.owner);
    // In the order they were added, also where an owner takes an account over.
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

  /** Forgets what was read: it may hold what was never committed. */
  forget(): void {
    this.#known.clear();
  }

  /** Writes a command down, unless it changes nothing. */
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

  /** Two commands that say the same are different entries. */
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

  /** Reads and writes without another process in between. */
  #change<T>(change: () => T): T {
    try {
      return inTransaction(this.#file.db, change);
    } catch (error) {
      // It may hold what was never committed.
      this.#known.clear();
      throw this.#file.errors.named(error);
    }
  }
}

/** The change that an object as it is now came from. */
function changeOf(object: MoveObject, isOld: boolean): ObjectChange {
  const { objectId, type, owner, version, digest } = object;
  return {
    ...{ objectId, type, owner },
    version: String(version),
    digest,
    previousVersion: isOld ? String(version - 1n) : undefined,
  };
}

/** What readers of accounts see: one that is switched off in either way is off. */
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

/** A file that cannot be read is a ledger that does not answer. */
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
