/**
 * The work of commands: what goes wrong is printed, and long work tells how far
 * it is.
 *
 * @module
 */

import type { Clock } from "./clock.ts";
import type { CommandIo } from "./command_line.ts";
import { describeError } from "./settled.ts";

/** The time between two messages about progress, in milliseconds. */
const PROGRESS_MS = 5_000;

/** Makes a listener that tells every few seconds how far the work is. */
export function progressTeller<Progress>(
  { io, clock }: {
    /** Where the messages go. */
    readonly io: Pick<CommandIo, "err">;
    /** Times the messages. */
    readonly clock: Pick<Clock, "nowMs">;
  },
  formatProgress: (progress: Progress) => string,
): (progress: Progress) => void {
  let toldAtMs = clock.nowMs();
  return (progress) => {
    const nowMs = clock.nowMs();
    if (nowMs - toldAtMs < PROGRESS_MS) return;
    toldAtMs = nowMs;
    io.err(formatProgress(progress));
  };
}

/**
 * Runs the work of a command. An error is printed and makes the exit code 1.
 */
export async function attempt(
  io: Pick<CommandIo, "err">,
  work: () => Promise<number> | number,
): Promise<number> {
  try {
    return await work();
  } catch (error) {
    io.err(describeError(error));
    return 1;
  }
}
