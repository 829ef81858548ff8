/**
 * The embedded ledger: accounts in a file of our own.
 *
 * @module
 */

import { describeError } from "../../shared/settled.ts";
import type { AccountOutcome, AccountRecord, Ledger } from "./ledger.ts";
import type { LedgerFile } from "./ledger_file.ts";
import { normalizeLedgerId, normalizePublicKey } from "./ledger_id.ts";
import { LocalAccounts } from "./local_accounts.ts";

/** The package that the accounts are of unless another one is given. */
const LOCAL_PACKAGE_ID =
  "0xc11a9b8583b607e291419bab05299f89f3beed6fbc79a78f158ea7bba51d1a28";

/** Options of {@linkcode LocalLedger}. */
interface LocalLedgerOptions {
  /**
   * The package that the accounts are of; their ids follow from it.
   *
   * @default LOCAL_PACKAGE_ID
   */
  readonly packageId?: string | undefined;
}

/** Reads accounts from a file. Its opener closes the file. */
export class LocalLedger implements Ledger {
  /** The package whose module accounts are of. */
  readonly packageId: string;
  /** What changes accounts. */
  readonly accounts: LocalAccounts;

  /**
   * The ledger in an open file.
   *
   * @throws {TypeError} when the package's id is not valid
   */
  constructor(file: LedgerFile, options: LocalLedgerOptions = {}) {
    const packageId = normalizeLedgerId(options.packageId ?? LOCAL_PACKAGE_ID);
    if (packageId === undefined) {
      throw new TypeError(
        "Cannot open the ledger: the package's id is not hexadecimal",
      );
    }
    this.packageId = packageId;
    this.accounts = new LocalAccounts(file, { packageId });
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
    return answer(() =>
      this.accounts.byKey(normalizePublicKey(publicKey) ?? "")
    );
  }

  /** The account of an owner's address. */
  accountOfOwner(owner: string): Promise<AccountOutcome> {
    return answer(() => this.accounts.byOwner(normalizeLedgerId(owner) ?? ""));
  }

  /** The account of an id, with everything that is known of it. */
  record(accountId: string): AccountRecord | undefined {
    return this.accounts.byId(normalizeLedgerId(accountId) ?? "");
  }
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
