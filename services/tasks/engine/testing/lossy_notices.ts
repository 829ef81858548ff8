/**
 * What instances tell each other in a simulation: it is late, comes twice, and
 * may be lost.
 *
 * @module
 */

import type { SeededRandom } from "../../../../tests/support/seeded_random.ts";
import type { Notice } from "../../store/instances.ts";
import type { Store } from "../../store/store.ts";
import type { MachineClock } from "./machine_clock.ts";
import type { SteppingClock } from "../../../../tests/support/stepping_clock.ts";

/** What happens to notices. */
export interface NoticeTrouble {
  /** The share of notices that never arrive. */
  readonly lostShare: number;
  /** The share of notices that arrive twice. */
  readonly doubledShare: number;
  /** The longest delay, in milliseconds. */
  readonly maxDelayMs: number;
}

/** Options of {@linkcode lossyNotices}. */
export interface LossyNoticesOptions {
  /** The real time, by which notices travel. */
  readonly clock: SteppingClock;
  /** The clock of the machine that hears them. */
  readonly machine: MachineClock;
  /** Decides what happens. */
  readonly random: SeededRandom;
  /** What may happen now. */
  readonly trouble: () => NoticeTrouble;
  /** Gets the functions that hear notices. */
  readonly hearers: Set<(notice: Notice) => unknown>;
  /** Whether the instance cannot reach the others. */
  readonly isCut: () => boolean;
  /** Whether the process of the instance is dead. */
  readonly isDead: () => boolean;
}

/** The methods of a store by which notices pass, with these faults. */
export function lossyNotices(
  inner: Store,
  options: LossyNoticesOptions,
): Pick<Store, "tell" | "onNotice"> {
  const { clock, machine, random, isCut, isDead } = options;
  return {
    tell(notices) {
      if (!isDead() && !isCut()) inner.tell(notices);
    },
    onNotice(listen) {
      const hear = async (notice: Notice): Promise<void> => {
        await machine.awake();
        if (!isDead()) listen(notice);
      };
      options.hearers.add(hear);
      const stop = inner.onNotice((notice) => {
        if (isDead()) return stop();
        const { lostShare, doubledShare, maxDelayMs } = options.trouble();
        if (isCut() || random.chance(lostShare)) return;
        const times = random.chance(doubledShare) ? 2 : 1;
        for (let count = 0; count < times; count++) {
          clock.setTimer(() => void hear(notice), random.below(maxDelayMs + 1));
        }
      });
      return () => {
        options.hearers.delete(hear);
        stop();
      };
    },
  };
}
