/**
 * Executes transactions on the embedded ledger: checks the signature, the
 * payment and the calls, then writes the change and its log entry in one
 * commit, so that an answered transaction survives a crash.
 *
 * @module
 */

import { checkTransactionSignature } from "../../shared/ledger/ed25519.ts";
import { checkGas, nextGasCoin } from "../../shared/ledger/gas_chain.ts";
import {
  hashTransaction,
  readTransaction,
  type Transaction,
  type Validity,
  writeSignedTransaction,
} from "../../shared/ledger/transaction.ts";
import {
  applyTransaction,
  type TransactionOutcome,
} from "./owner_transaction.ts";
import type { LedgerFile } from "./ledger_file.ts";
import type { Entry, EntryOutcome, ObjectChange } from "./ledger_log.ts";
import type { LocalLedger } from "./local_ledger.ts";
import { coinChange, genesisDigest, loggedEvent } from "./move_objects.ts";
import type { TransactionLimits } from "./transaction_limits.ts";

/** A transaction with its signature, as a client sends it. */
interface SentTransaction {
  /** `TransactionData`. */
  readonly data: Uint8Array;
  /** Flag, signature and public key. */
  readonly signature: Uint8Array;
  /** Where the transaction came from, such as the connection's address. */
  readonly from: string;
}

/** The outcome of carrying a transaction out. */
type ExecuteOutcome =
  /** The transaction is durably in the log; the contract may have aborted. */
  | { readonly kind: "ok"; readonly entry: Entry }
  /** The transaction cannot be executed, and has left no trace. */
  | { readonly kind: "refused"; readonly reason: string };

/** Most bytes of a transaction: about twenty calls. */
const MAX_KEPT_BYTES = 4_096;
/** About how many bytes a transaction takes in memory while it is queued. */
const QUEUED_BYTES = 4 * MAX_KEPT_BYTES;
/** The only epoch of the ledger. */
const EPOCH = 0n;

/** Executes transactions on the embedded ledger. */
export class TransactionExecutor {
  readonly #ledger: LocalLedger;
  readonly #file: Pick<LedgerFile, "clock" | "writes">;
  readonly #limits: TransactionLimits;

  /** Makes an executor over a ledger and its file. */
  constructor(
    ledger: LocalLedger,
    { file, limits }: {
      readonly file: Pick<LedgerFile, "clock" | "writes">;
      readonly limits: TransactionLimits;
    },
  ) {
    this.#ledger = ledger;
    this.#file = file;
    this.#limits = limits;
  }

  /** Executes a transaction; sent again, it gets the same answer as before. */
  async execute(sent: SentTransaction): Promise<ExecuteOutcome> {
    const { data, signature, from } = sent;
    if (data.length > MAX_KEPT_BYTES) {
      return refused(
        `Cannot accept transaction: it has ${data.length} bytes, ` +
          `${MAX_KEPT_BYTES} are the most; send its calls with several`,
      );
    }
    const read = readTransaction(data);
    if (read.kind === "invalid") return refused(read.reason);
    const transaction = read.value;
    const { sender } = transaction;
    const digest = hashTransaction(data);
    const known = this.#ledger.log.byDigest(digest);
    if (known !== undefined) return { kind: "ok", entry: known };
    const late = this.validityFault(transaction.validity);
    if (late !== undefined) return refused(late);
    const busy = this.#limits.take(`from ${from}`);
    if (busy !== undefined) return refused(busy);
    const checked = checkTransactionSignature({ data, signature, sender });
    if (checked.kind === "invalid") return refused(checked.reason);
    const limited = this.#limits.take(sender);
    if (limited !== undefined) return refused(limited);
    const payload = writeSignedTransaction({ data, signature });
    const onKept = this.#limits.counter(from);
    try {
      return await this.#file.writes.add(
        () => this.#apply(transaction, { digest, payload, from, onKept }),
        { bytes: QUEUED_BYTES, from },
      );
    } catch (error) {
      this.#ledger.forget();
      throw error;
    }
  }

  /**
   * Checks the payment, applies the transaction and writes its entry; runs
   * within a transaction of the file.
   */
  #apply(
    transaction: Transaction,
    { digest, payload, from, onKept }: {
      readonly digest: Uint8Array;
      readonly payload: Uint8Array;
      readonly from: string;
      readonly onKept: () => void;
    },
  ): ExecuteOutcome {
    const { log, rows } = this.#ledger;
    const { sender } = transaction;
    const known = log.byDigest(digest);
    if (known !== undefined) return { kind: "ok", entry: known };
    const coin = rows.getCoin(sender);
    const paid = checkGas(transaction, coin);
    if (paid.kind === "invalid") return refused(paid.reason);
    const timeMs = log.nextTimeMs();
    const context = { ledger: this.#ledger, digest, timeMs };
    const outcome = computeOutcome(transaction, context);
    if (outcome.kind === "refused") return outcome;
    const full = this.#limits.fullness(log, { nowMs: timeMs, from });
    if (full !== undefined && !isWithdrawal(outcome)) return refused(full);
    const gas = coinChange(sender, nextGasCoin(coin, digest));
    const written = writeOutcome(outcome, { ledger: this.#ledger, gas });
    rows.noteTransaction(sender, digest);
    const entry = log.append({
      ...{ kind: "transaction", digest, sender, payload, timeMs },
      outcome: written,
    });
    onKept();
    return { kind: "ok", entry };
  }

  /** Returns why a transaction cannot be executed now; undefined when it can. */
  validityFault(validity: Validity): string | undefined {
    const { minEpoch = 0n, maxEpoch = EPOCH, chain } = validity;
    const nowMs = BigInt(this.#file.clock.nowMs());
    const { minTimestampMs = 0n, maxTimestampMs = nowMs } = validity;
    if (minEpoch > EPOCH || minTimestampMs > nowMs) {
      return "Cannot accept transaction: its time has not come yet";
    }
    if (maxEpoch < EPOCH || maxTimestampMs < nowMs) {
      return "Cannot accept transaction: its time is over";
    }
    const own = genesisDigest(this.#ledger.packageId);
    const isOther = chain !== undefined &&
      !own.every((byte, at) => byte === chain[at]);
    return isOther
      ? "Cannot accept transaction: it is for another ledger"
      : undefined;
  }
}

/** Computes the outcome of a transaction without applying it. */
export function computeOutcome(
  transaction: Pick<Transaction, "calls" | "sender">,
  { ledger: { packageId, rows }, digest, timeMs }: {
    readonly ledger: LocalLedger;
    readonly digest: Uint8Array;
    readonly timeMs: number;
  },
): TransactionOutcome {
  return applyTransaction(transaction, {
    ...{ packageId, digest, nowMs: timeMs },
    account: rows.byOwner(transaction.sender),
    isAccount: (accountId) => rows.byId(accountId) !== undefined,
  });
}

/**
 * Writes what became of a transaction, and returns it as the log has it; runs
 * within a transaction of the file.
 *
 * @param options.gas The change of the coin that pays.
 */
export function writeOutcome(
  outcome: Exclude<TransactionOutcome, { readonly kind: "refused" }>,
  { ledger, gas }: {
    readonly ledger: LocalLedger;
    readonly gas: ObjectChange;
  },
): EntryOutcome {
  if (outcome.kind === "abort") {
    const { code, at, functionName } = outcome;
    const abort = { code, at, functionName };
    return { abort, changes: [gas], events: [] };
  }
  const { account, isNew } = outcome;
  if (account === undefined) {
    return { abort: undefined, changes: [gas], events: [] };
  }
  return {
    abort: undefined,
    changes: [...ledger.write(account, { isNew }), gas],
    events: outcome.events.map((event) => loggedEvent(event, account)),
  };
}

/**
 * Whether a transaction only withdraws access: such a one must be taken, even
 * when strangers have filled the log up to its limit.
 */
function isWithdrawal(outcome: TransactionOutcome): boolean {
  return outcome.kind === "success" && outcome.events.length > 0 &&
    outcome.events.every(({ kind }) =>
      kind === "DelegateKeyRemoved" || kind === "AccountDeactivated"
    );
}

function refused(reason: string): {
  readonly kind: "refused";
  readonly reason: string;
} {
  return { kind: "refused", reason };
}
