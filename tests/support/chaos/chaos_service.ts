/**
 * The service that a crash test harms, with what it stands on: one process on a
 * data folder, or several on a database with standbys.
 *
 * @module
 */

import type { SeededRandom } from "../seeded_random.ts";

/** The service under test. */
export interface ChaosService<Process> {
  /**
   * Whether the service goes on answering, or does so again by itself, while it
   * is harmed.
   */
  readonly outlivesStrikes: boolean;
  /** A process that is not known to be harmed. */
  choose(random: SeededRandom): Process;
  /** Harms the service in the middle of load; returns what was done. */
  strike(random: SeededRandom): Promise<string>;
  /** Makes it whole again, after the load has ended. */
  heal(random: SeededRandom): Promise<void>;
  /** Ends the service in order; returns what went wrong. */
  stop(): Promise<readonly string[]>;
  /** Ends everything at once; a second call does nothing. */
  kill(): Promise<void>;
}

/** How long the load of a crash test lasts. */
export interface LoadTime {
  /** The shortest time, in milliseconds. */
  readonly ms: number;
  /** What the load has made so far. */
  readonly made: () => number;
  /** How much more the load has to make. */
  readonly least: number;
}

/** The longest that a busy machine may take for it, in milliseconds. */
const LONGEST_MS = 20_000;
const LOOK_EVERY_MS = 20;

/** Waits while the load goes on; longer on a machine that is busy. */
export async function loadFor(
  { ms, made, least }: LoadTime,
): Promise<void> {
  const before = made();
  const endMs = performance.now() + LONGEST_MS;
  await pause(ms);
  while (made() < before + least && performance.now() < endMs) {
    await pause(LOOK_EVERY_MS);
  }
}

/** Waits for some milliseconds. */
export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
