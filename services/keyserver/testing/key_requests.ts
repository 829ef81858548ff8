/**
 * Makes requests for keys as clients do, for tests: valid in every part unless
 * a test says otherwise.
 *
 * @module
 */

import { writeApproval } from "../../../sdk/vault/approval.ts";
import { BcsWriter } from "../../../sdk/vault/bcs.ts";
import { newRequestKey, type RequestKey } from "../../../sdk/vault/elgamal.ts";
import {
  messageSigner,
  type SessionCertificate,
  SessionKey,
} from "../../../sdk/vault/session_key.ts";
import { LOCAL_PACKAGE_ID } from "../../shared/ledger/account_contract.ts";
import { TransactionSigner } from "../../shared/ledger/testing/transaction_signer.ts";

/** The body of a request. */
export interface KeyRequestBody {
  /** The approving transaction without its first byte, Base64. */
  readonly ptb: string;
  /** The public key that the answer's keys are encrypted to, Base64. */
  readonly enc_key: string;
  /** The verification key that belongs to `enc_key`, Base64. */
  readonly enc_verification_key: string;
  /** The session's signature of the request, Base64. */
  readonly request_signature: string;
  /** The certificate of the session, signed by the address that asks. */
  readonly certificate: SessionCertificate;
}

/** Options of {@linkcode keyRequest}. */
interface KeyRequestOptions {
  /** The time, milliseconds since the Unix epoch. */
  readonly nowMs: number;
  /** The byte that fills the seed of the asking address's key. */
  readonly seed: number;
  /** The bytes of the approving transaction's kind, with the first byte. */
  readonly kind: Uint8Array;
  /**
   * The package of the session.
   *
   * @default the embedded ledgers'
   */
  readonly packageId?: string | undefined;
  /**
   * The key pair that the answer is encrypted to.
   *
   * @default a new one
   */
  readonly requestKey?: RequestKey | undefined;
}

/**
 * Makes a sender of transactions, with a key whose seed is this byte repeated.
 */
export function createSigner(seed: number): TransactionSigner {
  return new TransactionSigner({ seed, packageId: LOCAL_PACKAGE_ID });
}

/**
 * Makes the identity of an owner's memories, with the account's access counter.
 */
export function buildIdentity(
  { address }: Pick<TransactionSigner, "address">,
  counter = 0n,
): Uint8Array<ArrayBuffer> {
  return new BcsWriter().address(address).u64(counter).toBytes();
}

/** The approving transaction for identities of an owner. */
export function buildApproval(
  { accountId }: Pick<TransactionSigner, "accountId">,
  ids: readonly Uint8Array[],
): Uint8Array<ArrayBuffer> {
  return writeApproval({
    packageId: LOCAL_PACKAGE_ID,
    account: { objectId: accountId, initialVersion: 1n },
    ids,
  });
}

/** A request with a new session. */
export async function keyRequest(
  options: KeyRequestOptions,
): Promise<KeyRequestBody> {
  const { nowMs, seed, kind, packageId = LOCAL_PACKAGE_ID } = options;
  const { requestKey = newRequestKey() } = options;
  const session = await SessionKey.create({
    address: createSigner(seed).address,
    packageId,
    ttlMin: 5,
    nowMs,
    signPersonalMessage: messageSigner(new Uint8Array(32).fill(seed)),
  });
  const ptb = kind.subarray(1);
  const { publicKey, verificationKey } = requestKey;
  return {
    ptb: ptb.toBase64(),
    enc_key: publicKey.toBase64(),
    enc_verification_key: verificationKey.toBase64(),
    request_signature: await session.signRequest({
      ptb,
      encKey: publicKey,
      encVerificationKey: verificationKey,
    }),
    certificate: session.certificate,
  };
}
