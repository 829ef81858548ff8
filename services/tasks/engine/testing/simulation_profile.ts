/**
 * The probabilities and fault rates of a simulation run.
 *
 * @module
 */

import type { SeededRandom } from "../../../../tests/support/seeded_random.ts";
import {
  NO_TROUBLE,
  type StoreTrouble,
  type StoreWay,
} from "./crashing_store.ts";
import type { NoticeTrouble } from "./lossy_notices.ts";

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

/** What can happen to a machine and the process on it. */
export type Mishap =
  /** The process dies. */
  | "crash"
  /** The process is stopped in order, and started again. */
  | "restart"
  /** The machine stands still for a while. */
  | "stall"
  /** The machine does not reach the store for a while. */
  | "cut"
  /** The machine's clock is set. */
  | "step";

/** The instances of a run, and what happens to them. */
export interface FleetProfile {
  /** How many machines run an instance. */
  readonly engines: number;
  /** How far the clock of a machine may be off, in milliseconds. */
  readonly maxSkewMs: number;
  /** How long the way to the store is. */
  readonly way: StoreWay;
  /** What happens to notices between instances. */
  readonly notices: NoticeTrouble;
  /** What happens to machines, each as likely as the others. */
  readonly mishaps: readonly Mishap[];
  /** The longest time between two mishaps of a machine, in milliseconds. */
  readonly maxPeaceMs: number;
}

/** One machine that has the store for itself, as with a store in a file. */
export const ALONE: FleetProfile = {
  engines: 1,
  maxSkewMs: 0,
  way: { delayedShare: 0.2, maxDelayMs: 6 },
  notices: { lostShare: 0, doubledShare: 0, maxDelayMs: 0 },
  mishaps: [],
  maxPeaceMs: Infinity,
};

/**
 * Draws what happens to several instances. Without faults, they are still
 * started anew one after the other, and their clocks differ.
 */
export function drawFleet(
  random: SeededRandom,
  { engines, isReliable, isCalm }: {
    readonly engines: number;
    readonly isReliable: boolean;
    readonly isCalm: boolean;
  },
): FleetProfile {
  return {
    engines,
    maxSkewMs: 60_000,
    way: random.pick([
      { delayedShare: 0.2, maxDelayMs: 6 },
      { delayedShare: 0.8, maxDelayMs: 40 },
    ]),
    notices: {
      lostShare: isCalm ? 0 : random.pick([0, 0.05, 0.3, 1]),
      doubledShare: random.pick([0, 0.2]),
      maxDelayMs: random.pick([20, 200, isCalm ? 500 : 3_000]),
    },
    mishaps: isReliable ? ["restart", "step"] : random.pick([
      ["crash"],
      ["stall", "cut"],
      ["crash", "restart", "stall", "cut", "step"],
    ]),
    maxPeaceMs: random.pick([60_000, 180_000]),
  };
}
