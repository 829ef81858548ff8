/**
 * Lets requests that come together begin a few at a time. Many clients that are
 * answered together ask together again; were all of their requests begun in one
 * turn, they would wait for the disk in one crowd, in which nothing is computed,
 * and then be computed in one crowd, in which the disk does nothing.
 *
 * @module
 */

import { setImmediate } from "node:timers";

/** How many requests begin in one turn of the event loop. */
const DEFAULT_MAX_BEGUN = 16;

/** Options of {@linkcode PublicTurns}. */
export interface PublicTurnsOptions {
  /**
   * Most requests that begin in a turn.
   *
   * @default {16}
   */
  readonly maxBegun?: number;
  /**
   * Calls back in a later turn.
   *
   * @default setImmediate()
   */
  readonly inNextTurn?: (callback: () => void) => void;
}

/** Deals out turns. */
export class PublicTurns {
  readonly #maxBegun: number;
  readonly #inNextTurn: (callback: () => void) => void;
  readonly #waiting: (() => void)[] = [];
  #begun = 0;
  #isOpen = false;

  /** Nobody has begun. */
  constructor(options: PublicTurnsOptions = {}) {
    this.#maxBegun = options.maxBegun ?? DEFAULT_MAX_BEGUN;
    this.#inNextTurn = options.inNextTurn ??
      ((callback) => void setImmediate(callback));
  }

  /** Begins a request at once, or gives what it has to wait for. */
  begin(): Promise<void> | undefined {
    if (this.#isOpen) return undefined;
    if (this.#begun < this.#maxBegun) {
      this.#count();
      return undefined;
    }
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  /** Begins all that wait, and whatever comes from now on: the end is near. */
  release(): void {
    this.#isOpen = true;
    for (const resolve of this.#waiting.splice(0)) resolve();
  }

  /**
   * A turn is looked at when it is full only, so the last of them may be counted
   * with the next one: that costs nobody more than a turn.
   */
  #count(): void {
    this.#begun++;
    if (this.#begun < this.#maxBegun) return;
    // What these requests lead to, such as the start of a commit at the end of
    // the turn, comes before the next ones.
    this.#inNextTurn(() => this.#inNextTurn(() => this.#turn()));
  }

  #turn(): void {
    this.#begun = 0;
    for (const resolve of this.#waiting.splice(0, this.#maxBegun)) {
      this.#count();
      resolve();
    }
  }
}
