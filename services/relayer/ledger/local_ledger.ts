/**
 * The embedded ledger: accounts in a file of our own, one for each owner's address,
 * with the keys that may speak for it. What is changed here counts with the next
 * request, whatever process changed it.
 *
 * @module
 */

import { Buffer } from "node:buffer";
import { createHash } from "node:crypto";
import { BoundedMap } from "../../shared/bounded_map.ts";
import { isSmallOrderKey } from "../../shared/ledger/ed25519.ts";
import { describeError } from "../../shared/settled.ts";
import { inTransaction } from "../../shared/sqlite/transaction.ts";
import { prepareAll, type Statements } from "../store/sqlite/row_columns.ts";
import { LOCAL_PACKAGE_ID } from "../../shared/ledger/account_contract.ts";
import type {
  AccountOutcome,
  AccountRecord,
  DelegateKey,
  DelegateKeyRecord,
  Ledger,
} from "./ledger.ts";
import type { LedgerFile } from "./ledger_file.ts";
import {
  addressOfPublicKey,
  normalizeLedgerId,
  normalizePublicKey,
} from "./ledger_id.ts";

/** Most keys of an account. */
const MAX_DELEGATE_KEYS = 20;
/** Most bytes of a label. */
const MAX_LABEL_BYTES = 64;

/** A key as it is given. */
interface DelegateKeyInput {
  /** The public key, 64 hexadecimal digits, with `0x` or without. */
  readonly publicKey: string;
  /** What its owner calls it, at most 64 bytes. */
  readonly label: string;
}

/** The outcome of reading a key. */
type DelegateKeyOutcome =
  | { readonly kind: "ok"; readonly key: DelegateKey }
  | { readonly kind: "invalid"; readonly message: string };

/** Reads a key. */
function readDelegateKey(input: DelegateKeyInput): DelegateKeyOutcome {
  const publicKey = normalizePublicKey(input.publicKey);
  if (publicKey === undefined) {
    return invalid("the public key is not 64 hexadecimal digits");
  }
  if (isSmallOrderKey(Buffer.from(publicKey, "hex"))) {
    return invalid("anyone can sign for this public key");
  }
  const { label } = input;
  if (!label.isWellFormed() || /\p{Cc}/u.test(label)) {
    return invalid("the label has characters that cannot be shown");
  }
  const labelBytes = Buffer.byteLength(label);
  if (labelBytes > MAX_LABEL_BYTES) {
    return invalid(
      `the label has ${labelBytes} bytes, ${MAX_LABEL_BYTES} are the most`,
    );
  }
  const address = addressOfPublicKey(publicKey);
  return { kind: "ok", key: { publicKey, address, label } };
}

function invalid(state: string): DelegateKeyOutcome {
  return { kind: "invalid", message: `Cannot take delegate key: ${state}` };
}

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

/** Accounts that are kept in memory as they were read. */
const CACHED_ACCOUNTS = 2_000;

const SELECT = `SELECT a.account_id, a.owner, a.is_active, a.created_ms,
    k.public_key, k.address, k.label, k.created_ms AS key_ms
  FROM accounts a LEFT JOIN delegate_keys k ON k.account_id = a.account_id`;

const STATEMENTS = {
  byId: `${SELECT} WHERE a.account_id = ? ORDER BY k.position`,
  byOwner: `${SELECT} WHERE a.owner = ? ORDER BY k.position`,
  // Of several that are active the one the key was added to first.
  byKey: `${SELECT} WHERE a.account_id = (
    SELECT o.account_id FROM delegate_keys d
    JOIN accounts o ON o.account_id = d.account_id
    WHERE d.public_key = ? ORDER BY o.is_active DESC, d.position LIMIT 1
  ) ORDER BY k.position`,
  version: "PRAGMA data_version",
  insert: "INSERT INTO accounts VALUES(?, ?, 1, ?)",
  insertKey: `INSERT INTO delegate_keys
    (account_id, public_key, address, label, created_ms)
    VALUES(?, ?, ?, ?, ?)`,
  removeKey: `DELETE FROM delegate_keys
    WHERE account_id = ? AND public_key = ?`,
  setActive: "UPDATE accounts SET is_active = ? WHERE account_id = ?",
};

/** Reads and changes accounts in a file. Its opener closes the file. */
export class LocalLedger implements Ledger {
  /** The package whose module accounts are of; their ids follow from it. */
  readonly packageId: string;
  readonly #file: LedgerFile;
  readonly #statements: Statements<typeof STATEMENTS>;
  /** What was read since the file changed last. */
  readonly #known = new BoundedMap<string, AccountRecord>({
    maxEntries: CACHED_ACCOUNTS,
  });
  #knownVersion: unknown;

  /**
   * The ledger in an open file.
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
    this.#statements = prepareAll(file.db, STATEMENTS);
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
    return answer(() => this.byKey(normalizePublicKey(publicKey) ?? ""));
  }

  /** The account of an owner's address. */
  accountOfOwner(owner: string): Promise<AccountOutcome> {
    return answer(() => this.byOwner(normalizeLedgerId(owner) ?? ""));
  }

  /** The account of an id, with everything that is known of it. */
  record(accountId: string): AccountRecord | undefined {
    return this.byId(normalizeLedgerId(accountId) ?? "");
  }

  /** The account of an id in its normal form. */
  byId(accountId: string): AccountRecord | undefined {
    return this.#file.errors.run(() => this.#readById(accountId));
  }

  #readById(accountId: string): AccountRecord | undefined {
    // Another one when another process has written. Asked before the account is
    // read, so that what is read is never older than it says.
    const version = this.#statements.version.get()?.["data_version"];
    if (version !== this.#knownVersion) this.#known.clear();
    this.#knownVersion = version;
    const known = this.#known.get(accountId);
    if (known !== undefined) return known;
    const account = recordOf(this.#statements.byId.all(accountId));
    if (account !== undefined) this.#known.set(accountId, account);
    return account;
  }

  /** The account of an address in its normal form. */
  byOwner(owner: string): AccountRecord | undefined {
    return recordOf(
      this.#file.errors.run(() => this.#statements.byOwner.all(owner)),
    );
  }

  /** The account that a key speaks for; the active one where there are several. */
  byKey(publicKey: string): AccountRecord | undefined {
    return recordOf(
      this.#file.errors.run(() => this.#statements.byKey.all(publicKey)),
    );
  }

  /** Makes an account, unless the address has one. */
  createAccount(input: NewAccount): AccountChange {
    const read = "publicKey" in input ? readDelegateKey(input) : undefined;
    if (read?.kind === "invalid") return read;
    const owner = read === undefined
      ? normalizeLedgerId("address" in input ? input.address : "")
      : read.key.address;
    if (owner === undefined) {
      const message = "Cannot create account: the address is not hexadecimal";
      return { kind: "invalid", message };
    }
    return this.#change(() => {
      const there = this.byOwner(owner);
      if (there !== undefined) return { kind: "exists", account: there };
      const accountId = accountIdOf(this.packageId, owner);
      const nowMs = this.#file.clock.nowMs();
      this.#statements.insert.run(accountId, owner, nowMs);
      if (read !== undefined) this.#insertKey(accountId, read.key);
      return this.#done(accountId);
    });
  }

  /** Lets a key speak for an account. */
  addDelegateKey(accountId: string, input: DelegateKeyInput): AccountChange {
    const read = readDelegateKey(input);
    if (read.kind === "invalid") return read;
    const { key } = read;
    return this.#changeOf(accountId, (account) => {
      const { delegateKeys } = account;
      if (delegateKeys.some(({ publicKey }) => publicKey === key.publicKey)) {
        return { kind: "exists", account };
      }
      if (delegateKeys.length >= MAX_DELEGATE_KEYS) {
        const message = "Cannot add delegate key: the account has " +
          `${MAX_DELEGATE_KEYS}, which are the most; remove one first`;
        return { kind: "invalid", message };
      }
      this.#insertKey(account.accountId, key);
      return this.#done(account.accountId);
    });
  }

  /** Lets a key speak for an account no longer. */
  removeDelegateKey(accountId: string, publicKey: string): AccountChange {
    return this.#changeOf(accountId, (account) => {
      const removed = this.#statements.removeKey
        .run(account.accountId, normalizePublicKey(publicKey) ?? "");
      return removed.changes === 0
        ? { kind: "missing" }
        : this.#done(account.accountId);
    });
  }

  /** Switches an account off, or on again. */
  setActive(accountId: string, isActive: boolean): AccountChange {
    return this.#changeOf(accountId, (account) => {
      if (account.isActive === isActive) return { kind: "exists", account };
      this.#statements.setActive.run(isActive ? 1 : 0, account.accountId);
      return this.#done(account.accountId);
    });
  }

  #insertKey(accountId: string, key: DelegateKey): void {
    const { publicKey, address, label } = key;
    const nowMs = this.#file.clock.nowMs();
    this.#statements.insertKey.run(accountId, publicKey, address, label, nowMs);
  }

  #done(accountId: string): AccountChange {
    this.#known.clear();
    const account = this.byId(accountId);
    return account === undefined
      ? { kind: "missing" }
      : { kind: "ok", account };
  }

  #changeOf(
    accountId: string,
    change: (account: AccountRecord) => AccountChange,
  ): AccountChange {
    return this.#change(() => {
      const account = this.byId(normalizeLedgerId(accountId) ?? "");
      return account === undefined ? { kind: "missing" } : change(account);
    });
  }

  /** Reads and writes without another process in between. */
  #change(change: () => AccountChange): AccountChange {
    try {
      return inTransaction(this.#file.db, change);
    } catch (error) {
      // It may hold what was never committed.
      this.#known.clear();
      throw this.#file.errors.named(error);
    }
  }
}

/** An owner's account has the same id in every file of a package. */
function accountIdOf(packageId: string, owner: string): string {
  const digest = createHash("sha256").update(`account ${packageId} ${owner}`);
  return `0x${digest.digest("hex")}`;
}

type Row = Readonly<Record<string, unknown>>;

function recordOf(rows: readonly Row[]): AccountRecord | undefined {
  const [first] = rows;
  if (first === undefined) return undefined;
  return {
    accountId: String(first["account_id"]),
    owner: String(first["owner"]),
    isActive: first["is_active"] === 1,
    createdAtMs: Number(first["created_ms"]),
    delegateKeys: rows.flatMap(keysOf),
  };
}

/** None in the row of an account that has no key. */
function keysOf(row: Row): readonly DelegateKeyRecord[] {
  if (row["public_key"] === null) return [];
  return [{
    publicKey: String(row["public_key"]),
    address: String(row["address"]),
    label: String(row["label"]),
    createdAtMs: Number(row["key_ms"]),
  }];
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
