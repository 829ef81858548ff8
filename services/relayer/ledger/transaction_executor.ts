/**
 * Executes transactions on the embedded ledger: checks the signature, the
 * payment and the calls, then writes the change and its log entry in one
 * commit, so that an answered transaction survives a crash.
 *
 * @module
 */

import {
  type AccountEvent,
  applyCall,
  readAccountCall,
} from "../../shared/ledger/account_contract.ts";
import { checkTransactionSignature } from "../../shared/ledger/ed25519.ts";
import { checkGas, nextGasCoin } from "../../shared/ledger/gas_chain.ts";
import {
  type MoveCall,
  readTransaction,
  type Transaction,
  transactionDigestOf,
  type Validity,
  writeSignedTransaction,
} from "../../shared/ledger/transaction.ts";
import { inTransaction } from "../../shared/sqlite/transaction.ts";
import {
  applyTransaction,
  type TransactionOutcome,
} from "./owner_transaction.ts";
import type { LedgerFile } from "./ledger_file.ts";
import type { Entry, EntryOutcome } from "./ledger_log.ts";
import type { LocalLedger } from "./local_ledger.ts";
import { coinChange, genesisDigest } from "./move_objects.ts";
import type { TransactionLimits } from "./transaction_limits.ts";
import { loggedEvent } from "./event_view.ts";

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

/** The outcome of a trial run. */
export type TrialOutcome =
  | {
    readonly kind: "ok";
    /** The outcome that the transaction would have. */
    readonly outcome: EntryOutcome;
    /** The address that would have sent it. */
    readonly sender: string;
    /**
     * The digest of the transaction; of its calls where only those are tried.
     */
    readonly digest: Uint8Array;
  }
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
  readonly #file: LedgerFile;
  readonly #limits: TransactionLimits;

  /** Makes an executor over a ledger and its file. */
  constructor(
    ledger: LocalLedger,
    { file, limits }: {
      readonly file: LedgerFile;
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
        `Cannot take transaction: it has ${data.length} bytes, ` +
          `${MAX_KEPT_BYTES} are the most; send its calls with several`,
      );
    }
    const read = readTransaction(data);
    if (read.kind === "invalid") return refused(read.reason);
    const transaction = read.value;
    const { sender } = transaction;
    const digest = transactionDigestOf(data);
    const known = this.#ledger.log.byDigest(digest);
    if (known !== undefined) return { kind: "ok", entry: known };
    const late = this.#validityFault(transaction.validity);
    if (late !== undefined) return refused(late);
    const busy = this.#limits.takeFrom(from);
    if (busy !== undefined) return refused(busy);
    const checked = checkTransactionSignature({ data, signature, sender });
    if (checked.kind === "invalid") return refused(checked.reason);
    const limited = this.#limits.takeOf(sender);
    if (limited !== undefined) return refused(limited);
    const payload = writeSignedTransaction({ data, signature });
    try {
      return await this.#file.writes.add(
        () => this.#apply(transaction, { digest, payload, from }),
        { bytes: QUEUED_BYTES },
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
    { digest, payload, from }: {
      readonly digest: Uint8Array;
      readonly payload: Uint8Array;
      readonly from: string;
    },
  ): ExecuteOutcome {
    const { log, rows } = this.#ledger;
    const { sender } = transaction;
    const known = log.byDigest(digest);
    if (known !== undefined) return { kind: "ok", entry: known };
    const coin = rows.coinOf(sender);
    const paid = checkGas(transaction, coin);
    if (paid.kind === "invalid") return refused(paid.reason);
    const timeMs = log.nextTimeMs();
    const outcome = this.#outcomeOf(transaction, { digest, timeMs });
    if (outcome.kind === "refused") return outcome;
    const full = this.#limits.fullness(log, { nowMs: timeMs, from });
    if (full !== undefined && !isWithdrawal(outcome)) return refused(full);
    const gas = coinChange(sender, nextGasCoin(coin, digest));
    const changes = outcome.kind === "success" && outcome.account !== undefined
      ? this.#ledger.write(outcome.account, outcome)
      : [];
    rows.noteTransaction(sender, digest);
    const entry = log.append({
      ...{ kind: "transaction", digest, sender, payload, timeMs },
      outcome: this.#logged(outcome, [...changes, gas]),
    });
    this.#limits.noteKept(from);
    return { kind: "ok", entry };
  }

  #outcomeOf(
    transaction: Pick<Transaction, "calls" | "sender">,
    { digest, timeMs }: {
      readonly digest: Uint8Array;
      readonly timeMs: number;
    },
  ): TransactionOutcome {
    const { packageId, rows } = this.#ledger;
    return applyTransaction(transaction, {
      ...{ packageId, digest, nowMs: timeMs },
      account: rows.byOwner(transaction.sender),
      isAccount: (accountId) => rows.byId(accountId) !== undefined,
    });
  }

  #logged(
    outcome: Exclude<TransactionOutcome, { readonly kind: "refused" }>,
    changes: EntryOutcome["changes"],
  ): EntryOutcome {
    if (outcome.kind === "abort") {
      const { code, at, functionName } = outcome;
      return { abort: { code, at, functionName }, changes, events: [] };
    }
    const { account } = outcome;
    const events = account === undefined
      ? []
      : outcome.events.map((event: AccountEvent) =>
        loggedEvent(event, account)
      );
    return { abort: undefined, changes, events };
  }

  /**
   * Tries a transaction without a signature. The payment is not checked, as
   * clients try before they know it.
   */
  dryRun(data: Uint8Array): TrialOutcome {
    const read = readTransaction(data);
    if (read.kind === "invalid") return refused(read.reason);
    const { calls, sender, validity } = read.value;
    const late = this.#validityFault(validity);
    if (late !== undefined) return refused(late);
    return this.inspect(calls, { sender, digest: transactionDigestOf(data) });
  }

  /** Tries calls; calls of seal_approve may be about accounts of others. */
  inspect(
    calls: readonly MoveCall[],
    { sender, digest }: {
      readonly sender: string;
      readonly digest: Uint8Array;
    },
  ): TrialOutcome {
    const { log, rows } = this.#ledger;
    const gas = coinChange(sender, nextGasCoin(rows.coinOf(sender), digest));
    const approved = this.#approval(calls, sender);
    if (approved !== undefined) {
      return approved.kind === "refused" ? approved : {
        kind: "ok",
        ...{ sender, digest },
        outcome: { abort: approved.abort, changes: [gas], events: [] },
      };
    }
    const timeMs = log.nextTimeMs();
    // The trial runs what a real execution does, and its writes are rolled
    // back.
    return this.#trying(() => {
      const outcome = this.#outcomeOf({ calls, sender }, { digest, timeMs });
      if (outcome.kind === "refused") return outcome;
      const changes =
        outcome.kind === "success" && outcome.account !== undefined
          ? this.#ledger.write(outcome.account, outcome)
          : [];
      const logged = this.#logged(outcome, [...changes, gas]);
      return { kind: "ok", ...{ sender, digest }, outcome: logged };
    });
  }

  #trying(run: () => TrialOutcome): TrialOutcome {
    let tried: TrialOutcome | undefined;
    const undo = new Error("a trial is undone");
    try {
      inTransaction(this.#file.db, () => {
        tried = run();
        throw undo;
      });
    } catch (error) {
      if (error !== undo) throw this.#file.errors.named(error);
    } finally {
      this.#ledger.forget();
    }
    return tried ?? refused("Cannot try transaction: it has no outcome");
  }

  /** Tries calls of seal_approve; undefined when other calls are among them. */
  #approval(
    calls: readonly MoveCall[],
    sender: string,
  ):
    | { readonly kind: "approved"; readonly abort: EntryOutcome["abort"] }
    | { readonly kind: "refused"; readonly reason: string }
    | undefined {
    const { packageId, rows } = this.#ledger;
    const isApproval = calls.length > 0 &&
      calls.every(({ functionName }) => functionName === "seal_approve");
    if (!isApproval) return undefined;
    for (const [at, call] of calls.entries()) {
      const read = readAccountCall(call, { packageId });
      if (read.kind === "invalid") return refused(read.reason);
      if (read.call.kind !== "seal_approve") return undefined;
      const row = rows.byId(read.call.accountId);
      if (row === undefined) {
        return refused(
          `Cannot try transaction: there is no object ${read.call.accountId}`,
        );
      }
      const account = { ...row, isActive: row.isActive && !row.isQuarantined };
      const outcome = applyCall(read.call, {
        ...{ packageId, sender, nowMs: 0, account },
      });
      if (outcome.kind === "abort") {
        const abort = { code: outcome.code, at, functionName: "seal_approve" };
        return { kind: "approved", abort };
      }
    }
    return { kind: "approved", abort: undefined };
  }

  #validityFault(validity: Validity): string | undefined {
    const { minEpoch = 0n, maxEpoch = EPOCH, chain } = validity;
    const nowMs = BigInt(this.#file.clock.nowMs());
    const { minTimestampMs = 0n, maxTimestampMs = nowMs } = validity;
    if (minEpoch > EPOCH || minTimestampMs > nowMs) {
      return "Cannot take transaction: its time has not come yet";
    }
    if (maxEpoch < EPOCH || maxTimestampMs < nowMs) {
      return "Cannot take transaction: its time is over";
    }
    const own = genesisDigest(this.#ledger.packageId);
    const isOther = chain !== undefined &&
      !own.every((byte, at) => byte === chain[at]);
    return isOther
      ? "Cannot take transaction: it is for another ledger"
      : undefined;
  }
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
