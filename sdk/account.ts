/**
 * Accounts on the ledger, and the keys that may speak for them.
 *
 * ```ts
 * import {
 *   addDelegateKey,
 *   createAccount,
 *   generateDelegateKey,
 * } from "@tercet/sdk/account";
 *
 * const base = {
 *   key: "07".repeat(32), // the owner's private key
 *   serverUrl: "http://127.0.0.1:8000",
 *   ledgerNetwork: "localnet",
 * };
 * const { accountId } = await createAccount(base);
 * const { privateKey, publicKey } = await generateDelegateKey();
 * await addDelegateKey({ ...base, accountId, publicKey, label: "laptop" });
 * console.log(accountId, privateKey.length);
 * ```
 *
 * All but `generateDelegateKey` need the package `@mysten/sui`, which is loaded when
 * one of them is called.
 *
 * @module
 */

export {
  type AccountChangeOptions,
  addDelegateKey,
  type AddDelegateKeyOptions,
  type AddDelegateKeyResult,
  createAccount,
  type CreateAccountResult,
  deactivateAccount,
  reactivateAccount,
  removeDelegateKey,
  type RemoveDelegateKeyOptions,
  type TransactionResult,
} from "./account/account_calls.ts";
export {
  AccountError,
  type AccountErrorCode,
} from "./account/account_error.ts";
export {
  type DelegateKey,
  generateDelegateKey,
} from "./account/delegate_key.ts";
export type {
  AccountOptions,
  AccountWallet,
  LedgerClient,
} from "./account/account_options.ts";
