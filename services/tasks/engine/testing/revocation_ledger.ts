/**
 * Checks in a simulation for how long an instance that has not written them
 * itself still goes by records that are no longer true: credentials that were
 * revoked, and workers that were paused.
 *
 * @module
 */

import { parseDraft } from "../../domain/history.ts";
import type { Transaction, TransactionResult } from "../../store/store.ts";
import type { SimulationLedger } from "./simulation_ledger.ts";
import type { SteppingClock } from "../../../../tests/support/stepping_clock.ts";

/** For how long a record may be gone by after its change, in milliseconds. */
const MAX_LATE_MS = 5_000;
/** The same where each instance is told of each change. */
const MAX_LATE_TOLD_MS = 1_000;

/** The machine of an instance, which may have stood still. */
interface Machine {
  /** When it last began to go on, in milliseconds of real passed time. */
  readonly wokeAtMs: number;
}

/** Options of {@linkcode RevocationLedger}. */
export interface RevocationLedgerOptions {
  /** Records broken promises. */
  readonly ledger: SimulationLedger;
  /** The real time. */
  readonly clock: SteppingClock;
  /** Whether no notice between instances is lost. */
  readonly isEachTold: boolean;
}

/** Tracks what was revoked and paused, and checks what is served. */
export class RevocationLedger {
  readonly #options: RevocationLedgerOptions;
  /** Since when credentials are revoked and workers paused, by id. */
  readonly #since = new Map<string, number>();

  /** Starts with everything in force. */
  constructor(options: RevocationLedgerOptions) {
    this.#options = options;
  }

  /** Checks that somebody with a credential may be served now. */
  served(credentialId: string, machine: Machine): void {
    this.#check(`a holder of ${credentialId} was served`, {
      id: credentialId,
      machine,
    });
  }

  /** Notes and checks a commit that was applied. */
  applied(
    transactions: readonly Transaction[],
    results: readonly TransactionResult[],
    machine: Machine,
  ): void {
    for (const [index, { writes }] of transactions.entries()) {
      if (results[index]?.kind !== "ok") continue;
      for (const write of writes) {
        if (write.kind === "record" && write.recordKind === "credential") {
          this.#note(write.id, write.next === undefined);
        } else if (write.kind === "record" && write.recordKind === "worker") {
          this.#note(write.id, JSON.parse(write.next?.text ?? "{}").isPaused);
        } else if (write.kind === "task") {
          const { workerId = "" } = write.next ?? {};
          const isStart = write.history.some((record) =>
            parseDraft(record).type === "started"
          );
          if (!isStart) continue;
          this.#check(`${write.id} was started for ${workerId}`, {
            id: workerId,
            machine,
          });
        }
      }
    }
  }

  #note(id: string, isRevoked: boolean): void {
    if (!isRevoked) this.#since.delete(id);
    else if (!this.#since.has(id)) {
      this.#since.set(id, this.#options.clock.elapsedMs);
    }
  }

  #check(
    what: string,
    { id, machine }: { readonly id: string; readonly machine: Machine },
  ): void {
    const { ledger, clock, isEachTold } = this.#options;
    const since = this.#since.get(id);
    if (since === undefined) return;
    // Who stood still between the check and the commit could not know better.
    const sinceMs = Math.max(since, machine.wokeAtMs);
    const lateMs = clock.elapsedMs - sinceMs;
    if (lateMs <= (isEachTold ? MAX_LATE_TOLD_MS : MAX_LATE_MS)) return;
    ledger.broken(`${what} ${lateMs} ms after that was forbidden`);
  }
}
