/**
 * Tries calls on the embedded ledger, as an execution would carry them out, and
 * undoes everything.
 *
 * @module
 */

import type { EntryOutcome } from "../relayer/ledger/ledger_log.ts";
import type { LocalLedger } from "../relayer/ledger/local_ledger.ts";
import { coinChange } from "../relayer/ledger/move_objects.ts";
import {
  computeOutcome,
  writeOutcome,
} from "../relayer/ledger/transaction_executor.ts";
import {
  applyCall,
  readAccountCall,
} from "../shared/ledger/account_contract.ts";
import { nextGasCoin } from "../shared/ledger/gas_chain.ts";
import type { MoveCall, Transaction } from "../shared/ledger/transaction.ts";
import { RpcError } from "./rpc_method.ts";

/** Where and how calls are tried. */
interface TrialContext {
  /** The ledger. */
  readonly ledger: LocalLedger;
  /** The digest of the transaction, or of its calls. */
  readonly digest: Uint8Array;
}

/** Refuses a transaction. */
export function refuse(reason: string): never {
  throw new RpcError(-32002, reason);
}

/**
 * Returns the outcome that calls would have. The payment is not checked, as
 * clients try before they know it. Calls of seal_approve may be about accounts
 * of others.
 *
 * @throws {RpcError} when the transaction cannot be executed at all
 */
export function tryCalls(
  { calls, sender }: Pick<Transaction, "calls" | "sender">,
  { ledger, digest }: TrialContext,
): EntryOutcome {
  const { log, rows } = ledger;
  const gas = coinChange(sender, nextGasCoin(rows.getCoin(sender), digest));
  const isApproval = calls.length > 0 &&
    calls.every(({ functionName }) => functionName === "seal_approve");
  if (isApproval) {
    const abort = approvalAbort(calls, { ledger, sender });
    return { abort, changes: [gas], events: [] };
  }
  const timeMs = log.nextTimeMs();
  return ledger.tryOut(() => {
    const outcome = computeOutcome({ calls, sender }, {
      ledger,
      digest,
      timeMs,
    });
    return outcome.kind === "refused"
      ? refuse(outcome.reason)
      : writeOutcome(outcome, { ledger, gas });
  });
}

/** Returns why approvals abort; undefined when all of them pass. */
function approvalAbort(
  calls: readonly MoveCall[],
  { ledger: { packageId, rows }, sender }: {
    readonly ledger: LocalLedger;
    readonly sender: string;
  },
): EntryOutcome["abort"] {
  for (const [at, call] of calls.entries()) {
    const read = readAccountCall(call, { packageId });
    if (read.kind === "invalid") refuse(read.reason);
    const accountId = "accountId" in read.call ? read.call.accountId : "";
    const row = rows.byId(accountId) ??
      refuse(`Cannot try transaction: there is no object ${accountId}`);
    const account = { ...row, isActive: row.isActive && !row.isQuarantined };
    const outcome = applyCall(read.call, {
      ...{ packageId, sender, nowMs: 0, account },
    });
    if (outcome.kind === "abort") {
      return { code: outcome.code, at, functionName: "seal_approve" };
    }
  }
  return undefined;
}
