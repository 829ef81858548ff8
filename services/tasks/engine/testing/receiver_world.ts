/**
 * What the server of a push worker knows of the simulation that it is in.
 *
 * @module
 */

import type { SeededRandom } from "../../../../tests/support/seeded_random.ts";
import type { Engine } from "../engine.ts";
import type { LeaseLedger } from "./lease_ledger.ts";
import type { SimulationLedger } from "./simulation_ledger.ts";
import type { SimulationProfile } from "./simulation_profile.ts";
import type { SteppingClock } from "./stepping_clock.ts";

/** The process that makes a call. */
export interface CallingProcess {
  /** Whether it is over. */
  readonly isDead: boolean;
}

/** The world of a receiver. */
export interface ReceiverWorld {
  /** The time. */
  readonly clock: SteppingClock;
  /** Decides everything. */
  readonly random: SeededRandom;
  /** What the run is like. */
  readonly profile: SimulationProfile;
  /** Whether nothing goes wrong any more. */
  readonly isHealed: boolean;
  /** Hears of broken promises, and knows what was canceled. */
  readonly ledger: SimulationLedger;
  /** Sees who works at what. */
  readonly leases: LeaseLedger;
  /** Notes that somebody works at an attempt, whose name is task and fence. */
  noteAttempt(name: string): void;
  /**
   * Asks whichever process runs until there is an answer; undefined when that
   * was in vain.
   */
  insist<T>(ask: (engine: Engine) => Promise<T>): Promise<T | undefined>;
}
