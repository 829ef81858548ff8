/**
 * What a transaction that its sender signed makes of the sender's account on the
 * embedded ledger. Nothing is read or written here, so a check of the log finds the
 * same accounts again.
 *
 * @module
 */

import {
  type AccountCall,
  type AccountEvent,
  applyCalls,
  readAccountCall,
  registryIdOf,
} from "../../shared/ledger/account_contract.ts";
import type {
  Transaction,
  TransactionInput,
} from "../../shared/ledger/transaction.ts";
import type { AccountRow, EntryContext } from "./account_rows.ts";

/** The outcome of a transaction's calls. */
export type TransactionOutcome =
  /** The calls happened. */
  | {
    readonly kind: "success";
    /** The sender's account now; undefined while there is none. */
    readonly account: AccountRow | undefined;
    /** Whether the account is one that was not there before. */
    readonly isNew: boolean;
    readonly events: readonly AccountEvent[];
  }
  /** The contract aborted; nothing was changed. */
  | {
    readonly kind: "abort";
    readonly code: number;
    /** Which call it was, from 0. */
    readonly at: number;
    readonly functionName: string;
  }
  /** It cannot be carried out at all, and leaves no trace. */
  | { readonly kind: "refused"; readonly reason: string };

/** What a transaction is applied to. */
interface TransactionContext extends EntryContext {
  /** Tells whether there is an account of an id. */
  readonly isAccount: (accountId: string) => boolean;
}

/** What a transaction that its sender signed makes of the sender's account. */
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
  // What the operator entered does not count before the owner signs.
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

/** Objects must be named as they are: in which version shared, changed or only read. */
function flagFault(
  inputs: readonly TransactionInput[],
  packageId: string,
  functionName: string,
): string | undefined {
  const registryId = registryIdOf(packageId);
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
  // Also the one that the operator entered and switched off before its owner came.
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
