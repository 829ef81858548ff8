/**
 * The probabilities and fault rates of a simulation run.
 *
 * @module
 */

import type { SeededRandom } from "../../../../tests/support/seeded_random.ts";
import { NO_TROUBLE, type StoreTrouble } from "./crashing_store.ts";

/** The probabilities and fault rates of a simulation run. */
export interface SimulationProfile {
  /** Whether no faults happen, so that each run has to happen exactly once. */
  readonly isCalm: boolean;
  /**
   * Whether neither the process nor the store fails, so that a task that a
   * worker is working on is given to no other worker. Workers may still be
   * lost, and the clock may be set.
   */
  readonly isReliable: boolean;
  /** The fault rates of commits. */
  readonly trouble: StoreTrouble;
  /** The share of attempts whose worker dies silently. */
  readonly vanishShare: number;
  /**
   * The share of attempts that take longer than their lease, without a
   * heartbeat.
   */
  readonly sluggishShare: number;
  /** The share of attempts that fail. */
  readonly failShare: number;
  /** The share of attempts that are released. */
  readonly releaseShare: number;
  /** The share of the owner's actions before which the clock is set. */
  readonly stepShare: number;
  /** How many actions the owner performs. */
  readonly deeds: number;
}

/**
 * Draws the profile of a run. Every third run has no faults, and in every sixth
 * only the clock and the workers cause faults.
 */
export function drawProfile(random: SeededRandom): SimulationProfile {
  const mood = random.next();
  const isCalm = mood < 0.33;
  const isReliable = mood < 0.5;
  const common = {
    isCalm,
    isReliable,
    failShare: random.pick([0.05, 0.15, 0.4]),
    releaseShare: random.pick([0, 0.05, 0.1]),
    deeds: random.pick([60, 120, 200]),
  };
  if (isCalm) {
    return {
      ...common,
      trouble: NO_TROUBLE,
      vanishShare: 0,
      sluggishShare: 0,
      stepShare: 0,
    };
  }
  if (isReliable) {
    return {
      ...common,
      trouble: NO_TROUBLE,
      vanishShare: random.pick([0, 0.1]),
      sluggishShare: 0,
      stepShare: random.pick([0.05, 0.2]),
    };
  }
  const crash = random.pick([0, 0.002, 0.01, 0.03]);
  const fault = random.pick([0, 0, 0.01, 0.05]);
  return {
    ...common,
    trouble: {
      crashBefore: crash,
      crashAfter: crash,
      busy: fault,
      failBefore: fault / 2,
      failAfter: fault / 2,
    },
    vanishShare: random.pick([0, 0.05, 0.15]),
    sluggishShare: random.pick([0, 0.05]),
    stepShare: random.pick([0, 0, 0.02, 0.08]),
  };
}
