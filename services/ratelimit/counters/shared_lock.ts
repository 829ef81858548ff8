/**
 * A lock between threads, in memory that they share.
 *
 * @module
 */

const FREE = 0;
/** Bit that is set while threads may sleep until the lock is free. */
const AWAITED = 1 << 30;
/**
 * Looks at the lock before a thread sleeps; they take about as long as it takes
 * to touch some counters.
 */
const LOOKS = 200;

/** Allocates the memory of a lock, which is free at first. */
export function lockMemory(): SharedArrayBuffer {
  return new SharedArrayBuffer(4);
}

/**
 * Lets one thread at a time through. The lock is not recursive, and not fair: a
 * thread that comes at the right moment overtakes one that sleeps. The work
 * between {@linkcode SharedLock.acquire} and {@linkcode SharedLock.release}
 * must take microseconds only, for other threads stand still meanwhile.
 */
export class SharedLock {
  readonly #word: Int32Array;
  readonly #owner: number;

  /**
   * Makes a thread's view of the lock; each thread has its own number, from 0.
   */
  constructor(memory: SharedArrayBuffer, thread: number) {
    this.#word = new Int32Array(memory);
    this.#owner = thread + 1;
  }

  /** Waits until this thread holds the lock. */
  acquire(): void {
    const word = this.#word;
    if (Atomics.compareExchange(word, 0, FREE, this.#owner) === FREE) return;
    this.#wait();
  }

  /** Frees the lock, and wakes one of the threads that sleep. */
  release(): void {
    const word = this.#word;
    const before = Atomics.exchange(word, 0, FREE);
    if ((before & AWAITED) !== 0) Atomics.notify(word, 0, 1);
  }

  /**
   * True when this thread holds the lock; a thread that has ended may still
   * hold it.
   */
  get isHeld(): boolean {
    return (Atomics.load(this.#word, 0) & ~AWAITED) === this.#owner;
  }

  #wait(): void {
    const word = this.#word;
    for (let look = 0; look < LOOKS; look++) {
      if (
        Atomics.load(word, 0) === FREE &&
        Atomics.compareExchange(word, 0, FREE, this.#owner) === FREE
      ) return;
    }
    for (;;) {
      const held = Atomics.load(word, 0);
      if (held === FREE) {
        // Other threads may sleep as well: with the bit set, this thread wakes
        // one of them when it frees the lock.
        const own = this.#owner | AWAITED;
        if (Atomics.compareExchange(word, 0, FREE, own) === FREE) return;
        continue;
      }
      const awaited = held | AWAITED;
      if (
        held === awaited ||
        Atomics.compareExchange(word, 0, held, awaited) === held
      ) Atomics.wait(word, 0, awaited);
    }
  }
}
