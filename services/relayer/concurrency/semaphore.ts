/**
 * Semaphores: limits on how much work runs at the same time, in all, for one
 * key, or for one blob.
 *
 * @module
 */

import { FairQueue } from "../../shared/fair_queue.ts";

/** Options of {@linkcode Semaphore.run}. */
interface SemaphoreRunOptions {
  /**
   * Ends the wait for a place. Work that has begun is not ended by it and has
   * to listen to the signal itself.
   *
   * @default the wait has no end
   */
  readonly signal?: AbortSignal | undefined;
  /**
   * Names the owner of the work. Keys whose work waits take turns.
   *
   * @default the empty key, shared by all work that names no owner
   */
  readonly key?: string;
}

/**
 * Runs a limited number of works at the same time. The others wait, those of
 * one key in the order they came.
 */
export class Semaphore {
  #free: number;
  readonly #waiting = new FairQueue<() => void>({ quantum: 1 });

  /**
   * A semaphore that runs `places` works at a time.
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
   * Waits for a place, then runs the work.
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

  /** Hands the place over to the next waiting work, or frees it. */
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

/**
 * A semaphore with a limit in all and one for each key, so that no key takes
 * all places, however much work it has.
 */
export class KeyedSemaphore {
  readonly #all: Semaphore;
  readonly #placesPerKey: number;
  readonly #keys = new Map<
    string,
    { readonly semaphore: Semaphore; users: number }
  >();

  /**
   * A semaphore that runs `places` works at a time, at most `placesPerKey` of
   * them for one key.
   *
   * @throws {RangeError} when there is no place
   */
  constructor(places: number, placesPerKey: number) {
    this.#all = new Semaphore(places);
    this.#placesPerKey = placesPerKey;
  }

  /**
   * Waits until there is a place for the key and in all, then runs the work.
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

const NEVER = new AbortController().signal;

/**
 * Runs works for the same blob one after the other, so that storing it and
 * removing it do not overlap.
 */
export class BlobLocks {
  /** The latest work of each blob, which the next one has to wait for. */
  readonly #last = new Map<string, Promise<unknown>>();

  /**
   * Runs work when all earlier work for the same blob has ended.
   *
   * @param work is given a signal that is aborted when it has to end; here never
   */
  async run<Result>(
    blobId: string,
    work: (held: AbortSignal) => Promise<Result>,
  ): Promise<Result> {
    const before = this.#last.get(blobId);
    const mine = before === undefined
      ? work(NEVER)
      : before.then(() => work(NEVER));
    // The next work waits for the end of this one, be it success or failure.
    const ended = mine.then(() => {}, () => {});
    this.#last.set(blobId, ended);
    try {
      return await mine;
    } finally {
      if (this.#last.get(blobId) === ended) this.#last.delete(blobId);
    }
  }
}
