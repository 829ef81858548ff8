/**
 * Makes the runtime look at its sockets.
 *
 * @module
 */

import { setImmediate } from "node:timers";

/** More than the 61 rounds after which the runtime polls its sockets. */
const ROUNDS_FOR_LOOK = 64;

/**
 * Calls back when the event loop has polled its sockets. While it has something
 * to do in every round it polls them only after 61 rounds, however long these
 * take; so these here are empty, which takes less than a tenth of a
 * millisecond.
 */
export function afterLook(callback: () => void): void {
  let left = ROUNDS_FOR_LOOK;
  const next = (): void => {
    if (left-- === 0) callback();
    else setImmediate(next);
  };
  next();
}
