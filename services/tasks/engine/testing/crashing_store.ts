/**
 * A store wrapper for simulations in which the process may die at any moment:
 * answers are delayed, commits fail, and after the death no call returns.
 *
 * @module
 */

import type {
  Store,
  Transaction,
  TransactionResult,
} from "../../store/store.ts";
import { StoreBusyError } from "../../store/store.ts";
import type { SeededRandom } from "../../../../tests/support/seeded_random.ts";
import { claimByCommit } from "./intercepted_store.ts";
import type { SteppingClock } from "./stepping_clock.ts";

/** How often each fault happens, as a share of the commits. */
export interface StoreTrouble {
  /** The process dies before the commit is applied. */
  readonly crashBefore: number;
  /** The process dies after it was applied, before the answer. */
  readonly crashAfter: number;
  /** The store refuses the commit because its queue is full. */
  readonly busy: number;
  /** The commit fails and was not applied. */
  readonly failBefore: number;
  /** The commit fails, but was applied. */
  readonly failAfter: number;
}

/** No faults happen. */
export const NO_TROUBLE: StoreTrouble = {
  crashBefore: 0,
  crashAfter: 0,
  busy: 0,
  failBefore: 0,
  failAfter: 0,
};

/** Options of {@linkcode crashingStore}. */
export interface CrashingStoreOptions {
  /** The clock that delays answers. */
  readonly clock: SteppingClock;
  /** Decides which faults happen. */
  readonly random: SeededRandom;
  /** The current rates of the faults. */
  readonly trouble: () => StoreTrouble;
  /** Whether the process is dead. */
  readonly isDead: () => boolean;
  /** Kills the process. */
  readonly crash: () => void;
  /** Called with each commit that was applied, even if its answer is lost. */
  readonly onApplied: (
    transactions: readonly Transaction[],
    results: readonly TransactionResult[],
  ) => void;
}

/** The longest delay of an answer, in milliseconds. */
const MAX_LATENCY_MS = 6;

/** Wraps a store so that the process suffers these faults. */
export function crashingStore(
  inner: Store,
  options: CrashingStoreOptions,
): Store {
  const { clock, random, isDead } = options;

  async function alive(): Promise<void> {
    if (random.chance(0.2)) await clock.sleep(random.below(MAX_LATENCY_MS));
    // The process that would get the answer is dead.
    if (isDead()) await new Promise<never>(() => {});
  }

  async function commit(
    transactions: readonly Transaction[],
  ): Promise<readonly TransactionResult[]> {
    await alive();
    const trouble = options.trouble();
    let left = random.next();
    const happens = (share: number): boolean => {
      left -= share;
      return left < 0 && left >= -share;
    };
    if (happens(trouble.crashBefore)) {
      options.crash();
      await alive();
    }
    if (happens(trouble.busy)) throw new StoreBusyError(100);
    if (happens(trouble.failBefore)) throw failed();
    const results = await inner.commit(transactions);
    options.onApplied(transactions, results);
    if (happens(trouble.crashAfter)) options.crash();
    await alive();
    if (happens(trouble.failAfter)) throw failed();
    return results;
  }

  const crashing = new Proxy(inner, {
    get(target, name) {
      if (name === "commit") return commit;
      if (name === "claim") return claimByCommit(crashing);
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== "function") return value;
      return async (...args: unknown[]) => {
        await alive();
        const answer: unknown = await Reflect.apply(value, target, args);
        return answer;
      };
    },
  });
  return crashing;
}

function failed(): Error {
  return new Error("Cannot commit: the store was made to fail");
}
