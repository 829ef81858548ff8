/**
 * The results of transactions as numbers, which are cheap to pass on.
 *
 * @module
 */

import type { TransactionResult } from "./store.ts";

/** The reasons of conflicts; their order gives their numbers. */
export const CONFLICT_REASONS = [
  "version",
  "key",
  "alias",
  "missing",
  "idempotency",
  "quota",
] as const;

/** Why a write conflicts. */
export type ConflictReason = typeof CONFLICT_REASONS[number];

/** The code of a transaction that was applied. */
export const APPLIED = 0;

const REASON_COUNT = CONFLICT_REASONS.length;

/** The code of a conflict. */
export function conflictCode(write: number, reason: ConflictReason): number {
  return 1 + write * REASON_COUNT + CONFLICT_REASONS.indexOf(reason);
}

/** The conflict that a code stands for. */
export function decodeConflict(
  code: number,
): { readonly write: number; readonly reason: ConflictReason } {
  const reason = CONFLICT_REASONS[(code - 1) % REASON_COUNT] ?? "version";
  return { write: Math.floor((code - 1) / REASON_COUNT), reason };
}

const OK: TransactionResult = { kind: "ok" };

/** The result that a code stands for. */
export function decodeResult(code: number): TransactionResult {
  return code === APPLIED ? OK : { kind: "conflict", ...decodeConflict(code) };
}
