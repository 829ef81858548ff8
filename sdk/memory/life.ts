/**
 * The life of a client, which any number of calls listen to. An `AbortSignal`
 * would do, but Node warns of a leak where more than ten calls wait at a time.
 *
 * @module
 */

/** Options of every call of a client. */
export interface CallOptions {
  /**
   * Ends the call: it rejects with the signal's reason. A request that was
   * sent may still take effect.
   *
   * @default the call ends by itself
   */
  readonly signal?: AbortSignal | undefined;
}

/** Tells when work has to end; an `AbortSignal` is one. */
export interface EndSignal {
  /** Whether it has to end. */
  readonly aborted: boolean;
  /** Why. */
  readonly reason: unknown;
  /** Calls the listener once when the work has to end. */
  addEventListener(
    type: "abort",
    listener: () => void,
    options?: { readonly once: boolean },
  ): void;
  /** Forgets a listener. */
  removeEventListener(type: "abort", listener: () => void): void;
}

/**
 * Throws the reason when the work has to end. Does what an `AbortSignal` does
 * with `throwIfAborted()`, which older versions of React Native lack.
 */
export function throwIfEnded(
  signal: Pick<EndSignal, "aborted" | "reason">,
): void {
  if (signal.aborted) throw signal.reason;
}

/** Ends once, and tells all who listen. */
export class Life implements EndSignal {
  readonly #listeners = new Set<() => void>();
  #aborted = false;
  #reason: unknown;

  /** Whether it has ended. */
  get aborted(): boolean {
    return this.#aborted;
  }

  /** Why it has ended; undefined before. */
  get reason(): unknown {
    return this.#reason;
  }

  /** Ends it; a second call does nothing. */
  abort(reason: unknown): void {
    if (this.#aborted) return;
    this.#aborted = true;
    this.#reason = reason;
    const listeners = [...this.#listeners];
    this.#listeners.clear();
    for (const listener of listeners) listener();
  }

  /** Calls the listener when it ends. */
  addEventListener(_: "abort", listener: () => void): void {
    if (!this.#aborted) this.#listeners.add(listener);
  }

  /** Forgets a listener. */
  removeEventListener(_: "abort", listener: () => void): void {
    this.#listeners.delete(listener);
  }
}

/** Returns a signal that ends with the first of two. */
export function combineSignals(first: EndSignal, second: EndSignal): EndSignal {
  const ended = (): EndSignal => first.aborted ? first : second;
  return {
    get aborted() {
      return first.aborted || second.aborted;
    },
    get reason() {
      return ended().reason;
    },
    addEventListener(type, listener) {
      for (const one of [first, second]) {
        one.addEventListener(type, listener, { once: true });
      }
    },
    removeEventListener(type, listener) {
      for (const one of [first, second]) {
        one.removeEventListener(type, listener);
      }
    },
  };
}
