/**
 * Errors of the account functions, with codes that a program can compare.
 *
 * @module
 */

/** What kept an account from being made or changed. */
export type AccountErrorCode =
  /** The key may act for the account already. */
  | "DELEGATE_KEY_EXISTS"
  /** The account has no such key. */
  | "DELEGATE_KEY_MISSING"
  /** The account has as many keys as it may have, 20. */
  | "TOO_MANY_DELEGATE_KEYS"
  /** The address has an account already. */
  | "ACCOUNT_EXISTS"
  /** Only the owner may do this. */
  | "NOT_OWNER"
  /**
   * The key is not an Ed25519 public key that one person alone can sign with.
   */
  | "BAD_PUBLIC_KEY"
  /** The account is deactivated. */
  | "ACCOUNT_DEACTIVATED"
  /** The label has more than 64 bytes. */
  | "LABEL_TOO_LONG"
  /** The account is active already. */
  | "ACCOUNT_ACTIVE"
  /** The sender may not do this. */
  | "NO_ACCESS"
  /** The package `@mysten/sui` cannot be loaded. */
  | "PACKAGE_MISSING"
  /**
   * The ledger or the relayer cannot be reached, or its answer is not valid.
   */
  | "LEDGER_FAILED";

/** An account was not made or changed. */
export class AccountError extends Error {
  /** Name of the class. */
  override readonly name = "AccountError";
  /** The reason as a code, for programs. */
  readonly code: AccountErrorCode;
  /** The contract's abort code; undefined when the contract did not abort. */
  readonly abortCode: number | undefined;

  /** Creates an error with its code and what caused it. */
  constructor(message: string, options: {
    /** The reason as a code, for programs. */
    readonly code: AccountErrorCode;
    /** The contract's abort code. */
    readonly abortCode?: number | undefined;
    /** The error that caused this one. */
    readonly cause?: unknown;
  }) {
    super(message, "cause" in options ? { cause: options.cause } : {});
    this.code = options.code;
    this.abortCode = options.abortCode;
  }
}

/** The contract's abort codes, each with its error code and message. */
const ABORTS: ReadonlyMap<number, readonly [AccountErrorCode, string]> =
  new Map([
    [0, ["DELEGATE_KEY_EXISTS", "the key may speak for the account already"]],
    [1, ["DELEGATE_KEY_MISSING", "the account has no such key"]],
    [2, [
      "TOO_MANY_DELEGATE_KEYS",
      "the account has 20 keys, the most it may have; remove one first",
    ]],
    [3, ["ACCOUNT_EXISTS", "the address has an account already"]],
    [4, ["NOT_OWNER", "only the account's owner may do this"]],
    [5, ["BAD_PUBLIC_KEY", "the key is not a public key of Ed25519"]],
    [6, ["ACCOUNT_DEACTIVATED", "the account is switched off"]],
    [10, ["LABEL_TOO_LONG", "the label has more than 64 bytes"]],
    [11, ["ACCOUNT_ACTIVE", "the account is switched on already"]],
    [100, ["NO_ACCESS", "the sender may not do this"]],
  ]);

/** Returns the error for a call that the contract aborted. */
export function abortError(
  action: string,
  { abortCode, cause }: { readonly abortCode: number; readonly cause: unknown },
): AccountError {
  const [code, state] = ABORTS.get(abortCode) ??
    ["LEDGER_FAILED", `the contract aborted with code ${abortCode}`] as const;
  return new AccountError(`Cannot ${action}: ${state}`, {
    code,
    abortCode,
    cause,
  });
}
