/**
 * Requests keys from key servers as an owner or a delegate would.
 *
 * @module
 */

import {
  type KeyServer,
  KeyServerClient,
} from "../../sdk/vault/key_server_client.ts";
import { messageSigner, SessionKey } from "../../sdk/vault/session_key.ts";
import {
  buildApproval,
  buildIdentity,
  createSigner,
} from "../../services/keyserver/testing/key_requests.ts";
import { LOCAL_PACKAGE_ID } from "../../services/shared/ledger/account_contract.ts";
import type { TransactionSigner } from "../../services/shared/ledger/testing/transaction_signer.ts";

/** The byte that the owner's seed consists of. */
export const OWNER = 7;
/** The byte that the delegate's seed consists of. */
export const DELEGATE = 9;

/** Returns a seed of 32 times the same byte. */
export function createSeed(byte: number): Uint8Array<ArrayBuffer> {
  return new Uint8Array(32).fill(byte);
}

/** A request for a key, and who makes it. */
interface Question {
  /** The owner of the memories that the key is for. */
  readonly owner: TransactionSigner;
  /**
   * The byte that the requester's seed consists of.
   *
   * @default the delegate's
   */
  readonly seed?: number;
  /**
   * The identity that the key is for.
   *
   * @default the owner's first one
   */
  readonly id?: Uint8Array;
}

/** Requests a key with the SDK's client; returns the outcome as a word. */
export async function asked(
  { keyServers }: { readonly keyServers: readonly KeyServer[] },
  { owner, seed = DELEGATE, id = buildIdentity(owner) }: Question,
): Promise<string> {
  const client = new KeyServerClient({
    keyServers,
    threshold: Math.min(2, keyServers.length),
  });
  const session = await SessionKey.create({
    address: createSigner(seed).address,
    packageId: LOCAL_PACKAGE_ID,
    ttlMin: 5,
    nowMs: Date.now(),
    signPersonalMessage: messageSigner(createSeed(seed)),
  });
  const outcome = await client.userKeys({
    packageId: LOCAL_PACKAGE_ID,
    ids: [id],
    session,
    approval: buildApproval(owner, [id]),
  });
  if (outcome.kind === "ok") return "ok";
  return `${outcome.kind}: ${outcome.failures[0]?.reason}`;
}
