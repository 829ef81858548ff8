/**
 * A ledger with a list of accounts, for tests.
 *
 * @module
 */

import type {
  Account,
  AccountOutcome,
  Ledger,
  LedgerAsker,
} from "../../ledger/ledger.ts";

/** A ledger whose accounts and failures a test sets. */
export class FakeLedger implements Ledger {
  /** The id of the accounts' package. */
  readonly packageId = `0x${"9".repeat(64)}`;
  /** The accounts that there are. */
  accounts: Account[] = [];
  /** When set, calls fail with this reason. */
  failure: string | undefined;
  /** Whether accounts are found by key. */
  findsByKey = true;
  /** Ids of accounts that were read. */
  readonly asked: string[] = [];
  /** For whom accounts were read by their ids. */
  readonly askers: (LedgerAsker | undefined)[] = [];

  /** Does nothing. */
  stop(): Promise<void> {
    return Promise.resolve();
  }

  /** The account of an id. */
  account(accountId: string, asker?: LedgerAsker): Promise<AccountOutcome> {
    this.asked.push(accountId);
    this.askers.push(asker);
    return this.#find((account) => account.accountId === accountId);
  }

  /** The account of a key. */
  accountOfKey(publicKey: string): Promise<AccountOutcome> {
    return this.#find(({ delegateKeys }) =>
      this.findsByKey &&
      delegateKeys.some((key) => key.publicKey === publicKey)
    );
  }

  /** The account of an owner. */
  accountOfOwner(owner: string): Promise<AccountOutcome> {
    return this.#find((account) => account.owner === owner);
  }

  #find(matches: (account: Account) => boolean): Promise<AccountOutcome> {
    if (this.failure !== undefined) {
      return Promise.resolve({ kind: "unavailable", reason: this.failure });
    }
    const account = this.accounts.find(matches);
    return Promise.resolve(
      account === undefined ? { kind: "missing" } : { kind: "ok", account },
    );
  }
}

/** An account with these keys; `digit` fills its id and its owner's address. */
export function makeAccount(
  digit: string,
  publicKeys: readonly string[],
): Account {
  return {
    accountId: `0x${digit.repeat(64)}`,
    owner: `0xf${digit.repeat(63)}`,
    isActive: true,
    delegateKeys: publicKeys.map((publicKey) => ({
      publicKey,
      address: `0x${publicKey}`,
      label: "laptop",
    })),
  };
}
