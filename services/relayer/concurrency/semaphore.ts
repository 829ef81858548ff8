/**
 * Bounds on what happens at a time: so many at once, so many for one key, one for one
 * blob.
 *
 * @module
 */

import { FairQueue } from "../../shared/fair_queue.ts";

/** Options of {@linkcode Semaphore.run}. */
interface SemaphoreRunOptions {
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
export class Semaphore {
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
    options: SemaphoreRunOptions = {},
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

  /** Hands the place over to the next that waits. */
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

  #wait({ signal, key = "" }: SemaphoreRunOptions): Promise<void> {
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

/** A gate where no key takes all places, however much is done for it. */
export class KeyedSemaphore {
  readonly #all: Semaphore;
  readonly #placesPerKey: number;
  readonly #keys = new Map<
    string,
    { readonly semaphore: Semaphore; users: number }
  >();

  /**
   * A gate that lets in `places` at a time, `placesPerKey` of them for one key.
   *
   * @throws {RangeError} when there is no place
   */
  constructor(places: number, placesPerKey: number) {
    this.#all = new Semaphore(places);
    this.#placesPerKey = placesPerKey;
  }

  /**
   * Does it when there is a place for the key.
   *
   * @throws what the work throws, and the signal's reason when it ends the wait
   */
  async run<Result>(
    work: () => Promise<Result>,
    options: SemaphoreRunOptions & { readonly key: string },
  ): Promise<Result> {
    const { key, signal } = options;
    const own = this.#keys.get(key) ??
      { semaphore: new Semaphore(this.#placesPerKey), users: 0 };
    this.#keys.set(key, own);
    own.users++;
    try {
      return await own.semaphore.run(() => this.#all.run(work, options), {
        signal,
      });
    } finally {
      if (--own.users === 0) this.#keys.delete(key);
    }
  }
}

/** Keeps those apart who store and remove the same blob. */
export class BlobLocks {
  /** What has to end first, by blob. */
  readonly #last = new Map<string, Promise<unknown>>();

  /** Runs work when all earlier work for the same blob has ended. */
  async run<Result>(
    blobId: string,
    work: () => Promise<Result>,
  ): Promise<Result> {
    const before = this.#last.get(blobId);
    const mine = before === undefined ? work() : before.then(work);
    // Who comes next waits for the end, whichever it is.
    const ended = mine.then(() => {}, () => {});
    this.#last.set(blobId, ended);
    try {
      return await mine;
    } finally {
      if (this.#last.get(blobId) === ended) this.#last.delete(blobId);
    }
  }
}
