/**
 * A store wrapper for simulations in which the process may die at any moment:
 * answers are delayed, commits fail, and after the death no call returns.
 *
 * @module
 */

import type { SeededRandom } from "../../../../tests/support/seeded_random.ts";
import type { Beat, BeatAnswer } from "../../../shared/members.ts";
import { StoreFailedError } from "../../../shared/store_failed.ts";
import type { Inbox } from "../../store/inbox.ts";
import type { Notice } from "../../store/instances.ts";
import {
  type ClaimScope,
  type ClaimView,
  type Store,
  StoreBusyError,
  type Transaction,
  type TransactionResult,
} from "../../store/store.ts";
import { lossyNotices, type NoticeTrouble } from "./lossy_notices.ts";
import type { MachineClock } from "./machine_clock.ts";
import type { SteppingClock } from "../../../../tests/support/stepping_clock.ts";

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

/** The way to the store and back. */
export interface StoreWay {
  /** The share of what is sent that takes some time. */
  readonly delayedShare: number;
  /** The longest time, in milliseconds. */
  readonly maxDelayMs: number;
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
  /** The real time, which delays what is sent. */
  readonly clock: SteppingClock;
  /** The clock of the machine, which may stand still. */
  readonly machine: MachineClock;
  /** Decides which faults happen. */
  readonly random: SeededRandom;
  /** The current rates of the faults. */
  readonly trouble: () => StoreTrouble;
  /** How long the way to the store is. */
  readonly way: StoreWay;
  /** What happens to notices now. */
  readonly noticeTrouble: () => NoticeTrouble;
  /** Gets the functions of the process that hear notices. */
  readonly hearers: Set<(notice: Notice) => unknown>;
  /** Whether the store cannot be reached. */
  readonly isCut: () => boolean;
  /** Whether the process is dead. */
  readonly isDead: () => boolean;
  /** Rejects when the process dies. */
  readonly death: Promise<never>;
  /** Kills the process. */
  readonly crash: () => void;
  /** Called with each commit that was applied, even if its answer is lost. */
  readonly onApplied: (
    transactions: readonly Transaction[],
    results: readonly TransactionResult[],
  ) => void;
  /** Called with each beat that was applied, even if its answer is lost. */
  readonly onBeat: (beat: Beat, answer: BeatAnswer) => void;
  /** Called when expired rows are about to be removed. */
  readonly onSweep: () => void;
  /** Called when something has failed. */
  readonly onTrouble: () => void;
}

/** After how long a call fails that does not reach the store, at least. */
const CUT_OFF_MS = 1_000;
/** After how long the store ends what holds its locks and does not go on. */
const MAX_HELD_MS = 5_000;

/** Wraps a store so that the process suffers these faults. */
export function crashingStore(
  inner: Store,
  options: CrashingStoreOptions,
): Store {
  const { clock, machine, random, isCut, isDead } = options;

  /** Sends something to the store, or back. */
  async function send(): Promise<void> {
    const { delayedShare, maxDelayMs } = options.way;
    if (random.chance(delayedShare)) {
      await clock.sleep(random.below(maxDelayMs));
    }
    if (isCut()) {
      await clock.sleep(CUT_OFF_MS + random.below(2 * CUT_OFF_MS));
      await arrive();
      throw failed();
    }
    await arrive();
  }

  /** Goes on in the process, if it is alive, once it does not stand still. */
  async function arrive(): Promise<void> {
    if (machine.isStalled) await machine.awake();
    // The process that would get the answer is dead.
    if (isDead()) await new Promise<never>(() => {});
  }

  /** Does what has reached the store, or does not. */
  async function attempt<Answer>(
    act: () => Promise<Answer>,
  ): Promise<() => Promise<Answer>> {
    const trouble = options.trouble();
    let left = random.next();
    const happens = (share: number): boolean => {
      left -= share;
      return left < 0 && left >= -share;
    };
    const fail = (error: Error): Error => {
      options.onTrouble();
      return error;
    };
    if (happens(trouble.crashBefore)) {
      options.crash();
      await options.death;
    }
    if (happens(trouble.busy)) throw fail(new StoreBusyError(100));
    if (happens(trouble.failBefore)) throw fail(failed());
    const answer = await act();
    if (happens(trouble.crashAfter)) options.crash();
    const isLost = happens(trouble.failAfter);
    return async () => {
      await send();
      if (isLost) throw fail(failed());
      return answer;
    };
  }

  function apply(
    transactions: readonly Transaction[],
  ): Promise<() => Promise<readonly TransactionResult[]>> {
    return attempt(async () => {
      const results = await inner.commit(transactions);
      options.onApplied(transactions, results);
      return results;
    });
  }

  /** Waits for what holds locks of the store, which the store ends some time. */
  async function holding<T>(work: () => Promise<T>): Promise<T> {
    const timeOut = Promise.withResolvers<never>();
    const timer = clock.setTimer(() => timeOut.reject(failed()), MAX_HELD_MS);
    try {
      return await Promise.race([work(), options.death, timeOut.promise]);
    } finally {
      timer.cancel();
    }
  }

  async function commit(
    transactions: readonly Transaction[],
  ): Promise<readonly TransactionResult[]> {
    await send();
    const answer = await orDeath(apply(transactions));
    return await answer();
  }

  async function claim(
    scope: ClaimScope,
    decide: (view: ClaimView) => Promise<readonly Transaction[]>,
  ): Promise<readonly TransactionResult[]> {
    await send();
    let answer = (): Promise<readonly TransactionResult[]> =>
      Promise.resolve([]);
    await orDeath(inner.claim(scope, async (view) => {
      const transactions = await holding(() =>
        decide({
          candidates: overNetwork(view.candidates),
          running: overNetwork(view.running),
          runningGroups: overNetwork(view.runningGroups),
          starts: overNetwork(view.starts),
        })
      );
      // The commit is written here, so that it is noted in its order.
      answer = await apply(transactions);
      return [];
    }));
    return await answer();
  }

  async function beat(beat: Beat): Promise<BeatAnswer> {
    await send();
    const answer = await inner.beat(beat);
    options.onBeat(beat, answer);
    await send();
    return answer;
  }

  function sweep(nowMs: number, limit: number): Promise<number> {
    options.onSweep();
    return overNetwork(inner.sweep)(nowMs, limit);
  }

  /** After the death of the process nothing goes on in it. */
  async function orDeath<T>(work: Promise<T>): Promise<T> {
    try {
      return await work;
    } catch (error) {
      await arrive();
      throw error;
    }
  }

  function overNetwork<Args extends unknown[], T>(
    method: (...args: Args) => Promise<T>,
  ): (...args: Args) => Promise<T> {
    return async (...args) => {
      await send();
      const answer = await method(...args);
      if (random.chance(0.2)) await send();
      else await arrive();
      return answer;
    };
  }

  function overInbox(inbox: Inbox): Inbox {
    return {
      async take(handle, except) {
        await send();
        const look = await orDeath(inbox.take(
          (requests) =>
            holding(async () => {
              await send();
              await handle(requests);
            }),
          except,
        ));
        await send();
        return look;
      },
      async refuse(refusals) {
        await send();
        const answer = await orDeath(attempt(() => inbox.refuse(refusals)));
        return await answer();
      },
      refused: overNetwork((query) => inbox.refused(query)),
      erase: overNetwork((tenantId) => inbox.erase(tenantId)),
    };
  }

  const replaced: Partial<Store> = {
    ...inner.inbox === undefined ? {} : { inbox: overInbox(inner.inbox) },
    commit,
    claim,
    beat,
    sweep,
    mayEndLeases: () => inner.mayEndLeases(),
    ...lossyNotices(inner, { ...options, trouble: options.noticeTrouble }),
  };
  return new Proxy(inner, {
    get(target, name) {
      const own: unknown = Reflect.get(replaced, name);
      if (own !== undefined) return own;
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== "function") return value;
      return overNetwork((...args: unknown[]): Promise<unknown> =>
        Reflect.apply(value, target, args)
      );
    },
  });
}

function failed(): Error {
  return new StoreFailedError("Cannot commit: the store was made to fail");
}
