/**
 * The gas coins of the embedded ledger: each sender has one, which costs
 * nothing and whose digest is computed from that of the sender's last
 * transaction. Every transaction names the coin, so a sender's transactions
 * form a chain: none can be left out, replayed or reordered without the owner's
 * key.
 *
 * @module
 */

import { addressBytes } from "../../../sdk/vault/bcs.ts";
import { hexId, sha256 } from "./digest.ts";
import type { ObjectRef, Transaction } from "./transaction.ts";

/** The coin of a sender who has sent nothing yet. */
export function firstGasCoin(sender: string): ObjectRef {
  return {
    objectId: hexId(sha256(`gas ${sender}`)),
    version: 1n,
    digest: sha256(addressBytes(sender)),
  };
}

/**
 * The coin after a transaction.
 *
 * @param transactionDigest The 32 bytes of the transaction's digest.
 */
export function nextGasCoin(
  coin: ObjectRef,
  transactionDigest: Uint8Array,
): ObjectRef {
  return {
    objectId: coin.objectId,
    version: coin.version + 1n,
    digest: sha256(transactionDigest),
  };
}

/** The outcome of checking the gas payment of a transaction. */
type GasOutcome =
  | { readonly kind: "ok" }
  /** It is not the sender's coin, or not as it is now. */
  | { readonly kind: "invalid"; readonly reason: string };

/** Checks that a transaction is paid with this coin and nothing else. */
export function checkGas(
  { sender, gas }: Transaction,
  coin: ObjectRef,
): GasOutcome {
  if (gas.owner !== sender) return invalid("a sponsor pays for it");
  const [paid, ...others] = gas.payment;
  if (
    paid === undefined || others.length > 0 || paid.objectId !== coin.objectId
  ) {
    return invalid(`it has to be paid with the sender's coin ${coin.objectId}`);
  }
  if (paid.version !== coin.version) {
    return invalid(
      `the sender's coin is at version ${coin.version}, not ${paid.version}`,
    );
  }
  return coin.digest.every((byte, at) => byte === paid.digest[at])
    ? { kind: "ok" }
    : invalid("the digest of the sender's coin is another one");
}

function invalid(state: string): GasOutcome {
  return { kind: "invalid", reason: `Cannot accept transaction: ${state}` };
}
