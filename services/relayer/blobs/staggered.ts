/**
 * Asks one after the other without waiting for slow ones: the first good answer
 * ends all others.
 *
 * @module
 */

import type { Clock, Timer } from "../../shared/clock.ts";

/** Options of {@linkcode staggered}. */
export interface StaggeredOptions<Target, Answer> {
  /** Asks one; undefined is no good answer. Must not reject. */
  readonly ask: (
    target: Target,
    signal: AbortSignal,
  ) => Promise<Answer | undefined>;
  /** Milliseconds until the next one is asked though nobody has answered. */
  readonly afterMs: number;
  /** The time. */
  readonly clock: Clock;
  /** Ends everything. */
  readonly signal: AbortSignal;
}

/**
 * The first good answer; undefined when there is none. The next target is asked
 * when the last one was no good or is slow. When it settles nobody is asked any
 * more, and who was asked has been told so.
 *
 * @throws the signal's reason when it ends early
 */
export function staggered<Target, Answer>(
  targets: readonly Target[],
  options: StaggeredOptions<Target, Answer>,
): Promise<Answer | undefined> {
  const { ask, afterMs, clock, signal } = options;
  const { promise, resolve, reject } = Promise.withResolvers<
    Answer | undefined
  >();
  const losers = new AbortController();
  const ended = AbortSignal.any([signal, losers.signal]);
  let [next, open] = [0, 0];
  let timer: Timer | undefined;
  let isSettled = false;
  const settle = (end: () => void): void => {
    if (isSettled) return;
    isSettled = true;
    timer?.cancel();
    signal.removeEventListener("abort", onAbort);
    losers.abort();
    end();
  };
  const onAbort = (): void => settle(() => reject(signal.reason));
  const askNext = (): void => {
    timer?.cancel();
    if (isSettled) return;
    if (next >= targets.length) {
      if (open === 0) settle(() => resolve(undefined));
      return;
    }
    const target = targets[next++]!;
    open++;
    if (next < targets.length) timer = clock.setTimer(askNext, afterMs);
    ask(target, ended).then((answer) => {
      open--;
      if (answer === undefined) askNext();
      else settle(() => resolve(answer));
    });
  };
  if (signal.aborted) onAbort();
  else {
    signal.addEventListener("abort", onAbort, { once: true });
    askNext();
  }
  return promise;
}
