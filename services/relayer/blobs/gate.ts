/**
 * Lets a bounded number of things happen at a time.
 *
 * @module
 */

import { FairQueue } from "../../shared/fair_queue.ts";

/** Options of {@linkcode Gate.run}. */
export interface GateRunOptions {
  /**
   * Ends the wait for a place; what was begun has to listen itself.
   *
   * @default none
   */
  readonly signal?: AbortSignal | undefined;
  /**
   * Who it is done for. Those who wait are let in by turns.
   *
   * @default no owner
   */
  readonly key?: string;
}

/** Lets in; the others wait, those of one key in the order they came. */
export class Gate {
  #free: number;
  readonly #waiting = new FairQueue<() => void>({ quantum: 1 });

  /**
   * A gate that lets in `places` at a time.
   *
   * @throws {RangeError} when there is no place
   */
  constructor(places: number) {
    if (!(places >= 1)) {
      throw new RangeError(`Cannot make a gate: "${places}" places, not 1`);
    }
    this.#free = places;
  }

  /**
   * Does it when there is a place.
   *
   * @throws what the work throws, and the signal's reason when it ends the wait
   */
  async run<Result>(
    work: () => Promise<Result>,
    options: GateRunOptions = {},
  ): Promise<Result> {
    options.signal?.throwIfAborted();
    if (this.#free > 0) this.#free--;
    else await this.#wait(options);
    try {
      return await work();
    } finally {
      this.#pass();
    }
  }

  /** Whoever is let in has the place of the one that leaves. */
  #pass(): void {
    const next = this.#waiting.shift();
    if (next === undefined) {
      this.#waiting.forgetDebts();
      this.#free++;
      return;
    }
    this.#waiting.charge(next.key, 1);
    next.item();
  }

  #wait({ signal, key = "" }: GateRunOptions): Promise<void> {
    return new Promise((resolve, reject) => {
      const place = this.#waiting.add(key, () => {
        signal?.removeEventListener("abort", leave);
        resolve();
      });
      const leave = (): void => {
        this.#waiting.remove(place);
        reject(signal?.reason);
      };
      signal?.addEventListener("abort", leave, { once: true });
    });
  }
}

/** Options of {@linkcode KeyedGate}. */
interface KeyedGateOptions {
  /** How many things happen at a time. */
  readonly places: number;
  /** How many of them for one key. */
  readonly placesPerKey: number;
}

/** A gate where no key takes all places, however much is done for it. */
export class KeyedGate {
  readonly #all: Gate;
  readonly #placesPerKey: number;
  readonly #keys = new Map<string, { readonly gate: Gate; users: number }>();

  /**
   * A gate with no call under way.
   *
   * @throws {RangeError} when there is no place
   */
  constructor({ places, placesPerKey }: KeyedGateOptions) {
    this.#all = new Gate(places);
    this.#placesPerKey = placesPerKey;
  }

  /**
   * Does it when there is a place for the key.
   *
   * @throws what the work throws, and the signal's reason when it ends the wait
   */
  async run<Result>(
    work: () => Promise<Result>,
    options: GateRunOptions & { readonly key: string },
  ): Promise<Result> {
    const { key, signal } = options;
    const own = this.#keys.get(key) ??
      { gate: new Gate(this.#placesPerKey), users: 0 };
    this.#keys.set(key, own);
    own.users++;
    try {
      return await own.gate.run(() => this.#all.run(work, options), { signal });
    } finally {
      if (--own.users === 0) this.#keys.delete(key);
    }
  }
}
