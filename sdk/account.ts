/**
 * Creates and changes accounts on the ledger, and adds and removes the delegate
 * keys that may act for an account.
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
 * All but `generateDelegateKey` and the functions of access tokens need the
 * package `@mysten/sui`, which is loaded when one of them is called.
 *
 * @module
 */

import { randomBytes } from "./memory/cryptography.ts";
import { encodeHex } from "./memory/encodings.ts";
import { delegateKeyToPublicKey } from "./memory/private_key.ts";
import { addressOfPublicKey } from "./vault/signatures.ts";

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
  type AccessToken,
  type AccessTokenClaims,
  type AccessTokenOptions,
  createAccessToken,
  readAccessToken,
} from "./memory/access_token.ts";
export type { ClientClock, ClientTimer } from "./memory/client_clock.ts";
export type { DelegateSigner } from "./memory/signer.ts";
export type {
  AccountOptions,
  AccountWallet,
  LedgerClient,
} from "./account/account_options.ts";

/** A new key pair of Ed25519. */
export interface DelegateKey {
  /** The private key, 64 hexadecimal digits. Keep it secret. */
  readonly privateKey: string;
  /** The public key, 32 bytes. */
  readonly publicKey: Uint8Array;
  /** The address of the public key on the ledger. */
  readonly suiAddress: string;
}

/**
 * Makes a key pair that may act for an account once its owner has added the
 * public key with `addDelegateKey`. The key pair is neither stored nor sent:
 * only the caller has it.
 *
 * @throws {MemError} When the runtime has no Ed25519.
 */
export async function generateDelegateKey(): Promise<DelegateKey> {
  const seed = randomBytes(32);
  try {
    const publicKey = await delegateKeyToPublicKey(seed);
    return {
      privateKey: encodeHex(seed),
      publicKey,
      suiAddress: addressOfPublicKey(publicKey),
    };
  } finally {
    seed.fill(0);
  }
}
