/**
 * Who says whether an address may have keys, as a port.
 *
 * @module
 */

import { MAX_ID_BYTES } from "../../sdk/vault/approval.ts";
import { readTransactionKind } from "../shared/ledger/transaction.ts";

/** What is asked. */
export interface ApprovalQuestion {
  /** The address that asks. */
  readonly user: string;
  /** The approving transaction: its kind, with the first byte. */
  readonly kind: Uint8Array;
}

/** The answer. */
export type ApprovalAnswer =
  /** It may have the keys of these identities, which stand without the package. */
  | {
    readonly kind: "ok";
    readonly ids: readonly Uint8Array[];
    /** The account, or the first of several; undefined where that is not known. */
    readonly account: string | undefined;
  }
  /** The transaction does not approve anything. */
  | { readonly kind: "invalid"; readonly reason: string }
  /** Another package's keys are asked for. */
  | { readonly kind: "package"; readonly reason: string }
  /** It may not have them. */
  | { readonly kind: "refused"; readonly reason: string }
  /** It cannot be found out now; `isAlarming` when the ledger contradicts itself. */
  | {
    readonly kind: "unavailable";
    readonly reason: string;
    /**
     * What the log hears beside it; it may name machines that strangers need not
     * know of.
     *
     * @default nothing
     */
    readonly detail?: string | undefined;
    readonly isAlarming: boolean;
  };

/** The answer when the ledger cannot be asked. */
export function unanswered(
  detail: string,
): Extract<ApprovalAnswer, { readonly kind: "unavailable" }> {
  const reason = "Cannot approve: the ledger does not answer; ask again later";
  return { kind: "unavailable", reason, detail, isAlarming: false };
}

/** Says who may have keys. */
export interface Approver {
  /** Answers; rejects only when the key server's own disk fails. */
  approve(question: ApprovalQuestion): Promise<ApprovalAnswer>;
  /** Lets go of its files. */
  close(): void;
}

/** Most identities that are asked for at a time: each costs milliseconds. */
const MAX_IDS = 100;

/** Reads the calls of an approving transaction, one for each identity. */
export function readApprovalCalls(
  kind: Uint8Array,
): ReturnType<typeof readTransactionKind> {
  const read = readTransactionKind(kind);
  if (read.kind === "invalid") return read;
  if (read.value.length > 0 && read.value.length <= MAX_IDS) return read;
  const reason = `Cannot approve: 1 to ${MAX_IDS} identities go at a time`;
  return { kind: "invalid", reason };
}

/** The answer where another package's keys are asked for. */
export const OTHER_PACKAGE: ApprovalAnswer = {
  kind: "package",
  reason: "Cannot approve: the package is another one",
};

/**
 * Tells whether an identity is as long as clients make them. All calls of a
 * transaction can share one, so the transaction's length does not bound the answer's.
 */
export function isIdentityLength({ length }: Uint8Array): boolean {
  return length <= MAX_ID_BYTES;
}
