/**
 * Rebuilds an account from nothing but its owner's signed transactions, for
 * readers that do not trust the database of the ledger's operator.
 *
 * @module
 */

import {
  type AccountCall,
  type AccountState,
  applyCalls,
  readAccountCall,
} from "./account_contract.ts";
import { checkTransactionSignature } from "./ed25519.ts";
import { checkGas, firstGasCoin, nextGasCoin } from "./gas_chain.ts";
import {
  hashTransaction,
  type ObjectRef,
  readSignedTransaction,
} from "./transaction.ts";

/** The outcome of replaying a transaction. */
type ReplayOutcome =
  | { readonly kind: "ok" }
  /**
   * The transaction is not the owner's next one; nothing was changed. The
   * history that it came with is not the owner's.
   */
  | { readonly kind: "broken"; readonly reason: string };

/** Whose account is replayed. */
interface AccountReplayOptions {
  /** The package whose module the contract is. */
  readonly packageId: string;
  /** The owner's address, `0x` and 64 lower-case hexadecimal digits. */
  readonly owner: string;
  /**
   * Where an earlier replay has ended.
   *
   * @default before the owner's first transaction
   */
  readonly from?: ReplayState | undefined;
}

/** The result of a replay, from which a later replay can continue. */
export interface ReplayState {
  /** The account; undefined while the owner has made none. */
  readonly account: AccountState | undefined;
  /** The gas coin of the next transaction. */
  readonly gasCoin: ObjectRef;
}

/**
 * Replays the transactions of an owner, from the first one on. All transactions
 * the owner ever sent have to be given, in order: each names the one before.
 * Aborted ones are part of the chain and change nothing.
 */
export class AccountReplay {
  readonly #options: AccountReplayOptions;
  #account: AccountState | undefined;
  #coin: ObjectRef;

  /** A replay of an owner's transactions. */
  constructor(options: AccountReplayOptions) {
    this.#options = options;
    this.#account = options.from?.account;
    this.#coin = options.from?.gasCoin ?? firstGasCoin(options.owner);
  }

  /** The account; undefined while the owner has made none. */
  get account(): AccountState | undefined {
    return this.#account;
  }

  /** The gas coin of the next transaction. */
  get gasCoin(): ObjectRef {
    return this.#coin;
  }

  /**
   * Replays the next transaction.
   *
   * @param signed `SenderSignedData`, as a full node gives it.
   * @param options.timestampMs When it was executed; it affects no check.
   */
  add(
    signed: Uint8Array,
    { timestampMs }: { readonly timestampMs: number },
  ): ReplayOutcome {
    const read = readSignedTransaction(signed);
    if (read.kind === "invalid") return broken(read.reason);
    const { transaction, data, signature } = read.value;
    const { sender } = transaction;
    if (sender !== this.#options.owner) {
      return broken("Cannot replay transaction: another address sent it");
    }
    const checked = checkTransactionSignature({ data, signature, sender });
    if (checked.kind === "invalid") return broken(checked.reason);
    const paid = checkGas(transaction, this.#coin);
    if (paid.kind === "invalid") return broken(paid.reason);
    const { packageId } = this.#options;
    const calls: AccountCall[] = [];
    for (const call of transaction.calls) {
      // An unknown call is not skipped: it may withdraw access.
      const readCall = readAccountCall(call, { packageId });
      if (readCall.kind === "invalid") return broken(readCall.reason);
      calls.push(readCall.call);
    }
    const outcome = applyCalls(calls, {
      ...{ packageId, sender, nowMs: timestampMs, account: this.#account },
    });
    if (outcome.kind === "ok") this.#account = outcome.account;
    this.#coin = nextGasCoin(this.#coin, hashTransaction(data));
    return { kind: "ok" };
  }
}

function broken(reason: string): ReplayOutcome {
  return { kind: "broken", reason };
}
