/**
 * A lock between threads, over memory that they share.
 *
 * @module
 */

const FREE = 0;
/** Set while threads may sleep until the lock is free. */
const AWAITED = 1 << 30;
/** Looks before a thread sleeps: about what it takes to touch some counters. */
const LOOKS = 200;

/** Makes the memory of a lock that is free. */
export function lockMemory(): SharedArrayBuffer {
  return new SharedArrayBuffer(4);
}

/**
 * Lets one thread at a time through. The lock is not recursive, and not fair: a
 * thread that comes at the right moment is before one that sleeps. What is done
 * between {@linkcode SharedLock.acquire} and {@linkcode SharedLock.release} is to
 * take microseconds, for other threads stand still meanwhile.
 */
export class SharedLock {
  readonly #word: Int32Array;
  readonly #owner: number;

  /** A thread's sight of the lock; each thread has a number of its own, from 0. */
  constructor(memory: SharedArrayBuffer, thread: number) {
    this.#word = new Int32Array(memory);
    this.#owner = thread + 1;
  }

  /** Waits until the lock is this thread's. */
  acquire(): void {
    const word = this.#word;
    if (Atomics.compareExchange(word, 0, FREE, this.#owner) === FREE) return;
    this.#wait();
  }

  /** Lets the next thread through. */
  release(): void {
    const word = this.#word;
    const before = Atomics.exchange(word, 0, FREE);
    if ((before & AWAITED) !== 0) Atomics.notify(word, 0, 1);
  }

  /** Whether this thread holds the lock, which one that has ended may still do. */
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
        // Others may sleep as well: the thread that gets the lock here wakes one.
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
