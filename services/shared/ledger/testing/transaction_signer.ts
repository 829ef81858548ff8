/**
 * Transactions for tests, built and signed by the public client's own code.
 *
 * @module
 */

import { bcs } from "@mysten/sui/bcs";
import { Ed25519Keypair } from "@mysten/sui/keypairs/ed25519";
import { Transaction } from "@mysten/sui/transactions";
import {
  CLOCK_ID,
  deriveAccountId,
  deriveRegistryId,
} from "../account_contract.ts";
import { encodeBase58 } from "../digest.ts";
import { firstGasCoin, nextGasCoin } from "../gas_chain.ts";
import {
  hashTransaction,
  type ObjectRef,
  writeSignedTransaction,
} from "../transaction.ts";

/** A signed transaction. */
export interface TestTransaction {
  /** `SenderSignedData`. */
  readonly signed: Uint8Array<ArrayBuffer>;
  /** `TransactionData`. */
  readonly data: Uint8Array<ArrayBuffer>;
  /** Flag, signature and public key. */
  readonly signature: Uint8Array<ArrayBuffer>;
  /** The digest, in base58. */
  readonly digest: string;
}

/** A sender whose transactions follow one another. */
export class TransactionSigner {
  /** The key pair. */
  readonly keyPair: Ed25519Keypair;
  /** The sender's address. */
  readonly address: string;
  /** The package of the contract. */
  readonly packageId: string;
  /** The gas coin that pays for the next transaction. */
  coin: ObjectRef;

  /** A sender with a key made of one byte. */
  constructor(
    { seed, packageId }: { readonly seed: number; readonly packageId: string },
  ) {
    const secret = new Uint8Array(32).fill(seed);
    this.keyPair = Ed25519Keypair.fromSecretKey(secret);
    this.address = this.keyPair.toSuiAddress();
    this.packageId = packageId;
    this.coin = firstGasCoin(this.address);
  }

  /** The public key's bytes. */
  get publicKey(): Uint8Array<ArrayBuffer> {
    return new Uint8Array(this.keyPair.getPublicKey().toRawBytes());
  }

  /** The id of the sender's own account. */
  get accountId(): string {
    return deriveAccountId(this.packageId, this.address);
  }

  /** Makes the sender's account. */
  createAccount(): Promise<TestTransaction> {
    return this.sign((tx) => {
      this.call(tx, "create_account", [this.registry(tx, true), clock(tx)]);
    });
  }

  /**
   * Adds a delegate key to an account, the sender's own unless another is
   * given.
   */
  addDelegateKey(
    publicKey: Uint8Array,
    { label = "laptop", accountId = this.accountId }: {
      readonly label?: string;
      readonly accountId?: string;
    } = {},
  ): Promise<TestTransaction> {
    return this.sign((tx) => {
      this.call(tx, "add_delegate_key", [
        shared(tx, accountId),
        this.registry(tx),
        bytes(tx, publicKey),
        tx.pure.string(label),
        clock(tx),
      ]);
    });
  }

  /** Removes a delegate key from the account. */
  removeDelegateKey(publicKey: Uint8Array): Promise<TestTransaction> {
    return this.sign((tx) => {
      this.call(tx, "remove_delegate_key", [
        shared(tx, this.accountId),
        this.registry(tx),
        bytes(tx, publicKey),
      ]);
    });
  }

  /** Switches the sender's account off, or on again. */
  setActive(isActive: boolean): Promise<TestTransaction> {
    const name = isActive ? "reactivate_account" : "deactivate_account";
    return this.sign((tx) => {
      this.call(tx, name, [shared(tx, this.accountId), this.registry(tx)]);
    });
  }

  /** Adds a call of the contract to a transaction. */
  call(
    tx: Transaction,
    name: string,
    args: NonNullable<Parameters<Transaction["moveCall"]>[0]["arguments"]>,
  ): void {
    tx.moveCall({
      target: `${this.packageId}::account::${name}`,
      arguments: args,
    });
  }

  /** The registry as an argument. */
  registry(
    tx: Transaction,
    isMutable = false,
  ): ReturnType<Transaction["object"]> {
    return shared(tx, deriveRegistryId(this.packageId), isMutable);
  }

  /**
   * Builds and signs a transaction, paid with the coin as it is now. The next
   * one follows it.
   */
  async sign(
    build: (tx: Transaction) => void,
    coin: ObjectRef = this.coin,
  ): Promise<TestTransaction> {
    const tx = new Transaction();
    build(tx);
    tx.setSender(this.address);
    tx.setGasPrice(1_000);
    tx.setGasBudget(1_000_000);
    tx.setGasPayment([{
      objectId: coin.objectId,
      version: String(coin.version),
      digest: encodeBase58(coin.digest),
    }]);
    const data = new Uint8Array(await tx.build());
    const { signature: text } = await this.keyPair.signTransaction(data);
    const signature = Uint8Array.fromBase64(text);
    const signed = writeSignedTransaction({ data, signature });
    const digest = hashTransaction(data);
    this.coin = nextGasCoin(coin, digest);
    return { signed, data, signature, digest: encodeBase58(digest) };
  }
}

/**
 * A shared object as an argument; accounts are shared at their first version.
 */
export function shared(
  tx: Transaction,
  objectId: string,
  mutable = true,
): ReturnType<Transaction["object"]> {
  return tx.sharedObjectRef({ objectId, initialSharedVersion: 1, mutable });
}

/** The clock as an argument. */
export function clock(tx: Transaction): ReturnType<Transaction["object"]> {
  return shared(tx, CLOCK_ID, false);
}

/** Bytes as an argument of type `vector<u8>`. */
export function bytes(
  tx: Transaction,
  value: Uint8Array,
): ReturnType<Transaction["pure"]> {
  return tx.pure(bcs.byteVector().serialize(value));
}
