/**
 * A store as a process sees it that may die at any moment: answers take their
 * time, commits fail, and after the death nothing answers any more.
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
import type { SteppingClock } from "./stepping_clock.ts";

/** How often what goes wrong, each as a share of the commits. */
export interface StoreTrouble {
  /** The process dies before the commit is applied. */
  readonly crashBefore: number;
  /** The process dies after it was applied, before the answer. */
  readonly crashAfter: number;
  /** The commit is refused, since too much waits. */
  readonly busy: number;
  /** The commit fails and was not applied. */
  readonly failBefore: number;
  /** The commit fails, but was applied. */
  readonly failAfter: number;
}

/** Nothing goes wrong. */
export const NO_TROUBLE: StoreTrouble = {
  crashBefore: 0,
  crashAfter: 0,
  busy: 0,
  failBefore: 0,
  failAfter: 0,
};

/** Options of {@linkcode crashingStore}. */
export interface CrashingStoreOptions {
  /** The clock of the answers. */
  readonly clock: SteppingClock;
  /** Decides what goes wrong. */
  readonly random: SeededRandom;
  /** What goes wrong now. */
  readonly trouble: () => StoreTrouble;
  /** Whether the process is dead. */
  readonly isDead: () => boolean;
  /** Lets the process die. */
  readonly crash: () => void;
  /** Hears what was applied, whatever becomes of the answer. */
  readonly onApplied: (
    transactions: readonly Transaction[],
    results: readonly TransactionResult[],
  ) => void;
}

/** Longest time of an answer. */
const MAX_LATENCY_MS = 6;

/** Puts the troubles of a process in front of a store. */
export function crashingStore(
  inner: Store,
  options: CrashingStoreOptions,
): Store {
  const { clock, random, isDead } = options;

  async function alive(): Promise<void> {
    if (random.chance(0.2)) await clock.sleep(random.below(MAX_LATENCY_MS));
    // Nobody is there any more to whom anything could be answered.
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

  return new Proxy(inner, {
    get(target, name) {
      if (name === "commit") return commit;
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== "function") return value;
      return async (...args: unknown[]) => {
        await alive();
        const answer: unknown = await Reflect.apply(value, target, args);
        return answer;
      };
    },
  });
}

function failed(): Error {
  return new Error("Cannot commit: the store was made to fail");
}
