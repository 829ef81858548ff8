/**
 * Who may speak for which account, as a port.
 *
 * @module
 */

/** An account. */
export interface Account {
  /** The account object's id, `0x` and 64 hexadecimal digits. */
  readonly accountId: string;
  /** The owner's address, `0x` and 64 hexadecimal digits. */
  readonly owner: string;
  /** Whether it may be used. */
  readonly isActive: boolean;
  /** Keys that may speak for it. */
  readonly delegateKeys: readonly DelegateKey[];
  /** What key servers decide by; undefined where the ledger does not tell. */
  readonly access?: AccountAccess | undefined;
}

/** What key servers decide by. */
interface AccountAccess {
  /** The version in which the account's object became shared, in decimal digits. */
  readonly initialVersion: string;
  /**
   * How often access was taken away from a key, in decimal digits; undefined where the
   * contract does not count that.
   */
  readonly counter: string | undefined;
}

/** A key that may speak for an account. */
export interface DelegateKey {
  /** 64 hexadecimal digits, lower case. */
  readonly publicKey: string;
  /** Its address. */
  readonly address: string;
  /** What its owner calls it. */
  readonly label: string;
}

/** The outcome of looking an account up. */
export type AccountOutcome =
  | { readonly kind: "ok"; readonly account: Account }
  | { readonly kind: "missing" }
  /** The ledger does not answer; that decides nothing. */
  | { readonly kind: "unavailable"; readonly reason: string };

/** Reads accounts. */
export interface Ledger {
  /** Gets ready. */
  start(): Promise<void>;
  /** Ends what is under way. */
  stop(): Promise<void>;
  /** The account of an id. */
  account(accountId: string): Promise<AccountOutcome>;
  /** The account that a key speaks for, where the ledger can look that up. */
  accountOfKey(publicKey: string): Promise<AccountOutcome>;
  /** The account of an owner's address. */
  accountOfOwner(owner: string): Promise<AccountOutcome>;
  /** The package whose module accounts are of. */
  readonly packageId: string;
}

/** A key that may speak for an account, and since when. */
interface DelegateKeyRecord extends DelegateKey {
  /** When it was added, in milliseconds since the epoch. */
  readonly createdAtMs: number;
}

/** An account, and since when there is one. */
export interface AccountRecord extends Account {
  /** When it was made, in milliseconds since the epoch. */
  readonly createdAtMs: number;
  /** Keys that may speak for it, in the order they were added. */
  readonly delegateKeys: readonly DelegateKeyRecord[];
}
