/**
 * Signals of callers, which any number of calls listen to by one listener: Node
 * 20 warns of a leak where an `AbortSignal` has more than ten.
 *
 * @module
 */

import type { EndSignal } from "./life.ts";

/** The callers' signals of one client. */
export class CallerSignals {
  readonly #known = new WeakMap<AbortSignal, EndSignal>();

  /** Returns what the calls listen to, the same for each call with a signal. */
  of(signal: AbortSignal): EndSignal {
    const known = this.#known.get(signal) ?? shared(signal);
    this.#known.set(signal, known);
    return known;
  }

  /** The signals of a call, none or one. */
  toList(signal: AbortSignal | undefined): readonly EndSignal[] {
    return signal === undefined ? [] : [this.of(signal)];
  }
}

/** Listens to the signal only while calls listen to the result. */
function shared(signal: AbortSignal): EndSignal {
  const listeners = new Set<() => void>();
  const end = (): void => {
    const ended = [...listeners];
    listeners.clear();
    for (const listener of ended) listener();
  };
  return {
    get aborted() {
      return signal.aborted;
    },
    get reason() {
      // Older versions of React Native keep no reason.
      return signal.reason ??
        Object.assign(new Error("The call was aborted"), {
          name: "AbortError",
        });
    },
    addEventListener(_, listener) {
      if (signal.aborted) return;
      if (listeners.size === 0) signal.addEventListener("abort", end);
      listeners.add(listener);
    },
    removeEventListener(_, listener) {
      listeners.delete(listener);
      if (listeners.size === 0) signal.removeEventListener("abort", end);
    },
  };
}
