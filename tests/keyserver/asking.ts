/**
 * Asks key servers as an owner or a delegate does.
 *
 * @module
 */

import {
  type KeyServer,
  KeyServerClient,
} from "../../sdk/vault/key_server_client.ts";
import { messageSigner, SessionKey } from "../../sdk/vault/session_key.ts";
import {
  approvalOf,
  identityOf,
  signerOf,
} from "../../services/keyserver/testing/key_requests.ts";
import { LOCAL_PACKAGE_ID } from "../../services/shared/ledger/account_contract.ts";
import type { TransactionSigner } from "../../services/shared/ledger/testing/transaction_signer.ts";

/** Every byte of the owner's seed. */
export const OWNER = 7;
/** Every byte of the delegate's seed. */
export const DELEGATE = 9;

/** A seed made of one byte. */
export function seedOf(byte: number): Uint8Array<ArrayBuffer> {
  return new Uint8Array(32).fill(byte);
}

/** Who asks for what. */
interface Question {
  /** Whose memories it is about. */
  readonly owner: TransactionSigner;
  /**
   * Every byte of the seed of who asks.
   *
   * @default the delegate's
   */
  readonly seed?: number;
  /**
   * The identity.
   *
   * @default the owner's first one
   */
  readonly id?: Uint8Array;
}

/** Asks with our own client; gives the outcome in a word. */
export async function asked(
  { keyServers }: { readonly keyServers: readonly KeyServer[] },
  { owner, seed = DELEGATE, id = identityOf(owner) }: Question,
): Promise<string> {
  const client = new KeyServerClient({
    keyServers,
    threshold: Math.min(2, keyServers.length),
  });
  const session = await SessionKey.create({
    address: signerOf(seed).address,
    packageId: LOCAL_PACKAGE_ID,
    ttlMin: 5,
    nowMs: Date.now(),
    signPersonalMessage: messageSigner(seedOf(seed)),
  });
  const outcome = await client.userKeys({
    packageId: LOCAL_PACKAGE_ID,
    ids: [id],
    session,
    approval: approvalOf(owner, [id]),
  });
  if (outcome.kind === "ok") return "ok";
  return `${outcome.kind}: ${outcome.failures[0]?.reason}`;
}
