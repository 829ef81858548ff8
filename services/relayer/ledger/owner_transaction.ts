/**
 * How a transaction that an owner signed changes the owner's account on the
 * embedded ledger. The functions here neither read nor write, so a check of the
 * log computes the same accounts again.
 *
 * @module
 */

import {
  type AccountCall,
  type AccountEvent,
  applyCalls,
  deriveRegistryId,
  readAccountCall,
} from "../../shared/ledger/account_contract.ts";
import type {
  Transaction,
  TransactionInput,
} from "../../shared/ledger/transaction.ts";
import type { AccountRow, EntryContext } from "./account_rows.ts";

/** The outcome of a transaction's calls. */
export type TransactionOutcome =
  /** The calls succeeded. */
  | {
    readonly kind: "success";
    /** The sender's account after the calls; undefined when there is none. */
    readonly account: AccountRow | undefined;
    /**
     * Whether the account did not exist before, or only as a command of the
     * operator.
     */
    readonly isNew: boolean;
    readonly events: readonly AccountEvent[];
  }
  /** The contract aborted; the account is unchanged. */
  | {
    readonly kind: "abort";
    readonly code: number;
    /** The position of the aborting call, from 0. */
    readonly at: number;
    readonly functionName: string;
  }
  /** The transaction cannot be executed at all, and leaves no trace. */
  | { readonly kind: "refused"; readonly reason: string };

/** What a transaction is applied to. */
interface TransactionContext extends EntryContext {
  /** Whether an account of this id exists. */
  readonly isAccount: (accountId: string) => boolean;
}

/** Applies a transaction to its sender's account. */
export function applyTransaction(
  { calls: called, sender }: Pick<Transaction, "calls" | "sender">,
  context: TransactionContext,
): TransactionOutcome {
  const { packageId, account, nowMs, digest } = context;
  if (called.length === 0) return refused("it calls nothing");
  const calls: AccountCall[] = [];
  for (const call of called) {
    const fault = flagFault(call.inputs, packageId, call.functionName);
    if (fault !== undefined) return refused(fault);
    const read = readAccountCall(call, { packageId });
    if (read.kind === "invalid") {
      return { kind: "refused", reason: read.reason };
    }
    calls.push(read.call);
  }
  const fault = calls.map((call) => callFault(call, context)).find(Boolean);
  if (fault !== undefined) return refused(fault);
  // An account that the operator entered does not count until its owner signs.
  const signed = account?.isSigned ? account : undefined;
  const outcome = applyCalls(calls, {
    ...{ packageId, sender, nowMs, account: signed },
  });
  if (outcome.kind === "abort") {
    const { code, at } = outcome;
    const functionName = calls[at]?.kind ?? "";
    return { kind: "abort", code, at, functionName };
  }
  const { account: state, events } = outcome;
  return {
    kind: "success",
    account: state && {
      ...state,
      isSigned: true,
      isQuarantined: false,
      version: (account?.version ?? 0) + 1,
      changedBy: digest,
    },
    isNew: signed === undefined,
    events,
  };
}

function refused(state: string): TransactionOutcome {
  return { kind: "refused", reason: `Cannot carry transaction out: ${state}` };
}

/** The version in which every shared object became shared. */
export const INITIAL_VERSION = 1n;

/**
 * Returns what is wrong with the shared objects among the inputs: each must be
 * named with the version in which it became shared, and the registry as mutable
 * where it changes.
 */
function flagFault(
  inputs: readonly TransactionInput[],
  packageId: string,
  functionName: string,
): string | undefined {
  const registryId = deriveRegistryId(packageId);
  for (const input of inputs) {
    if (input.kind !== "shared") continue;
    if (input.initialVersion !== INITIAL_VERSION) {
      return `object ${input.objectId} was shared in version 1, not ` +
        `${input.initialVersion}`;
    }
    const isRegistry = input.objectId === registryId;
    if (isRegistry && functionName === "create_account" && !input.isMutable) {
      return "create_account needs the registry to be mutable";
    }
  }
  return undefined;
}

function callFault(
  call: AccountCall,
  { account, isAccount }: TransactionContext,
): string | undefined {
  // Also applies to an account that the operator entered and switched off
  // before its owner came.
  const isOff = account?.isQuarantined === true ||
    (account?.isSigned === false && !account.isActive);
  if (isOff) return "the operator has switched the account off";
  if (call.kind === "create_account") return undefined;
  if (call.kind === "seal_approve") {
    return "seal_approve changes nothing: ask with a dry run";
  }
  if (call.accountId !== account?.accountId) {
    return isAccount(call.accountId)
      ? undefined
      : `there is no object ${call.accountId}`;
  }
  return account.isSigned
    ? undefined
    : "the operator has entered this account " +
      "for its owner; create_account takes it over, without the keys it has";
}
