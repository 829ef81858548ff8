/**
 * The interface of the ledger: accounts, their owners, and the delegate keys
 * that may speak for each account.
 *
 * @module
 */

import type {
  AccountState,
  DelegateKeyState,
} from "../../shared/ledger/account_contract.ts";

/** An account. */
export interface Account {
  /** The account object's id, `0x` and 64 hexadecimal digits. */
  readonly accountId: string;
  /** The owner's address, `0x` and 64 hexadecimal digits. */
  readonly owner: string;
  /** Whether requests for the account are accepted. */
  readonly isActive: boolean;
  /** The delegate keys of the account. */
  readonly delegateKeys: readonly DelegateKey[];
  /**
   * What key servers need about the account; undefined where the ledger does
   * not have it.
   */
  readonly access?: AccountAccess | undefined;
}

/** What key servers need about an account. */
interface AccountAccess {
  /** The version in which the account's object became shared, in decimal digits. */
  readonly initialVersion: string;
  /**
   * How often access was taken away from a key, in decimal digits; undefined
   * where the contract does not count it.
   */
  readonly counter: string | undefined;
}

/** A key that may speak for an account. */
export type DelegateKey = Omit<DelegateKeyState, "createdAtMs">;

/** The outcome of looking an account up. */
export type AccountOutcome =
  | { readonly kind: "ok"; readonly account: Account }
  | { readonly kind: "missing" }
  /**
   * The ledger does not respond, so it is unknown whether there is an account.
   */
  | { readonly kind: "unavailable"; readonly reason: string };

/**
 * For whom an account is read. A ledger that bounds its calls bounds them for
 * each of these, so that strangers cannot use up what owners need.
 */
export type LedgerAsker =
  /** An owner, or a key that has spoken for the account before. */
  | "owner"
  /** A key that signed a request, and may be anyone's. */
  | "newcomer"
  /** A caller without credentials. */
  | "stranger";

/** Reads accounts. */
export interface Ledger {
  /** Ends calls that are under way. */
  stop(): Promise<void>;
  /** The account of an id, read for an owner unless `asker` says otherwise. */
  account(accountId: string, asker?: LedgerAsker): Promise<AccountOutcome>;
  /**
   * Finds the account that a key speaks for; `missing` where the ledger cannot
   * look that up.
   */
  accountOfKey(publicKey: string): Promise<AccountOutcome>;
  /**
   * The account of an owner's address, read for an owner unless `asker` says
   * otherwise.
   */
  accountOfOwner(owner: string, asker?: LedgerAsker): Promise<AccountOutcome>;
  /** The package of the accounts' contract. */
  readonly packageId: string;
}

/** An account, with the times at which it was made and its keys were added. */
export type AccountRecord =
  & Account
  & Pick<AccountState, "createdAtMs" | "delegateKeys">;
