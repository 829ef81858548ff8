/**
 * The public ledger's own client on an embedded ledger.
 *
 * @module
 */

import { Ed25519Keypair } from "@mysten/sui/keypairs/ed25519";
import { Transaction } from "@mysten/sui/transactions";
import { assert, assertEquals } from "@std/assert";
import { deriveRegistryId } from "../../shared/ledger/account_contract.ts";
import { type EmbeddedLedger, embeddedLedger } from "./embedded_ledger.ts";
import { withLedger } from "../../relayer/ledger/testing/open_test_ledger.ts";

/** An owner. */
export const ANN = Ed25519Keypair.fromSecretKey(new Uint8Array(32).fill(1));

/** Another owner. */
export const BEN = Ed25519Keypair.fromSecretKey(new Uint8Array(32).fill(2));

/** A delegate's key. */
export const PHONE = Ed25519Keypair.fromSecretKey(new Uint8Array(32).fill(3));

/** Runs a test on a new ledger. */
export async function withEmbedded(
  test: (embedded: EmbeddedLedger) => Promise<void>,
): Promise<void> {
  await withLedger(({ file }) => test(embeddedLedger(file)));
}

/** The transaction that makes the account of its sender. */
export function creation(
  { ledger: { packageId } }: Pick<EmbeddedLedger, "ledger">,
): Transaction {
  const tx = new Transaction();
  tx.moveCall({
    target: `${packageId}::account::create_account`,
    arguments: [tx.object(deriveRegistryId(packageId)), tx.object.clock()],
  });
  return tx;
}

/** Makes an account; returns its id. */
export async function createAccount(
  embedded: EmbeddedLedger,
  signer: Ed25519Keypair,
): Promise<string> {
  const done = await embedded.client.signAndExecuteTransaction({
    signer,
    transaction: creation(embedded),
    options: { showObjectChanges: true, showEffects: true },
  });
  assertEquals(done.effects?.status.status, "success");
  const change = done.objectChanges?.find((one) =>
    one.type === "created" &&
    one.objectType.endsWith("::account::MemWalAccount")
  );
  assert(change?.type === "created");
  return change.objectId;
}

/** Adds a delegate key to Ann's account. */
export async function addKey(
  embedded: EmbeddedLedger,
  key: Ed25519Keypair,
): Promise<void> {
  const { ledger } = embedded;
  const accountId = ledger.byOwner(ANN.toSuiAddress())?.accountId ?? "";
  const done = await send(embedded, ANN, (tx) => {
    tx.moveCall({
      target: `${ledger.packageId}::account::add_delegate_key`,
      arguments: [
        tx.object(accountId),
        tx.object(deriveRegistryId(ledger.packageId)),
        tx.pure.vector("u8", key.getPublicKey().toRawBytes()),
        tx.pure.string("key"),
        tx.object.clock(),
      ],
    });
  });
  assertEquals(done.effects?.status.status, "success");
}

/** Signs and sends a transaction. */
export async function send(
  { client }: EmbeddedLedger,
  signer: Ed25519Keypair,
  build: (tx: Transaction) => void,
): ReturnType<EmbeddedLedger["client"]["signAndExecuteTransaction"]> {
  const transaction = new Transaction();
  build(transaction);
  return await client.signAndExecuteTransaction({
    signer,
    transaction,
    options: { showEffects: true, showEvents: true, showObjectChanges: true },
  });
}
