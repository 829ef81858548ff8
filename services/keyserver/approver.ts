/**
 * The interface of what decides whether an address on the ledger may have keys.
 *
 * @module
 */

import { MAX_ID_BYTES } from "../../sdk/vault/approval.ts";
import { readTransactionKind } from "../shared/ledger/transaction.ts";

/** The question whether an address may have keys. */
export interface ApprovalQuestion {
  /**
   * The bytes of the approving transaction's kind, with the leading byte that
   * says it is programmable.
   */
  readonly user: string;
  /** The approving transaction: its kind, with the first byte. */
  readonly kind: Uint8Array;
}

/** The answer to an {@linkcode ApprovalQuestion}. */
export type ApprovalAnswer =
  /**
   * The address may have the keys of these identities; the ids lack the
   * package's prefix.
   */
  | {
    readonly kind: "ok";
    readonly ids: readonly Uint8Array[];
    /** The account, or the first of several; undefined where that is not known. */
    readonly account: string | undefined;
  }
  /** The transaction is malformed, or calls something other than approvals. */
  | { readonly kind: "invalid"; readonly reason: string }
  /** The transaction asks for keys of another package. */
  | { readonly kind: "package"; readonly reason: string }
  /** The address may not have the keys. */
  | { readonly kind: "refused"; readonly reason: string }
  /**
   * The answer cannot be found out now; `isAlarming` when the ledger
   * contradicts itself.
   */
  | {
    readonly kind: "unavailable";
    readonly reason: string;
    /**
     * More about the cause, for the log only: it may name machines that
     * strangers need not know of.
     *
     * @default nothing
     */
    readonly detail?: string | undefined;
    readonly isAlarming: boolean;
  };

/** Makes the answer for a ledger that does not respond. */
export function unanswered(
  detail: string,
): Extract<ApprovalAnswer, { readonly kind: "unavailable" }> {
  const reason = "Cannot approve: the ledger does not answer; ask again later";
  return { kind: "unavailable", reason, detail, isAlarming: false };
}

/** Decides which addresses may have keys. */
export interface Approver {
  /** Answers a question; rejects only when the key server's own disk fails. */
  approve(question: ApprovalQuestion): Promise<ApprovalAnswer>;
  /** Closes the files that it has open. */
  close(): void;
}

/** Most identities of one request: each costs milliseconds. */
const MAX_IDS = 100;

/**
 * Reads the calls of an approving transaction, one for each identity; invalid
 * when there are none or too many.
 */
export function readApprovalCalls(
  kind: Uint8Array,
): ReturnType<typeof readTransactionKind> {
  const read = readTransactionKind(kind);
  if (read.kind === "invalid") return read;
  if (read.value.length > 0 && read.value.length <= MAX_IDS) return read;
  const reason = `Cannot approve: 1 to ${MAX_IDS} identities go at a time`;
  return { kind: "invalid", reason };
}

/** The answer when keys of another package are asked for. */
export const OTHER_PACKAGE: ApprovalAnswer = {
  kind: "package",
  reason: "Cannot approve: the package differs",
};

/**
 * Tells whether an identity is as long as clients make them. All calls of a
 * transaction can share one, so the transaction's length does not bound the answer's.
 */
export function isIdentityLength({ length }: Uint8Array): boolean {
  return length <= MAX_ID_BYTES;
}
