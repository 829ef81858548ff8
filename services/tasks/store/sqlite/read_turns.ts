/**
 * Schedules reads on the thread that serves requests, so that long reads do not
 * hold up others.
 *
 * These are not the turns of requests (`FairTurns`), in which work that has
 * begun goes on before other work of its tenant: a page that reads 20,000 rows
 * would hold up all short reads of its tenant. Here the reads of a tenant share
 * its turn, and a fast read is answered at once.
 *
 * @module
 */

import { toStoreError } from "../../../shared/sqlite/sqlite_error.ts";
import { StoreFailedError } from "../../../shared/store_failed.ts";

/**
 * A read in pieces. Between pieces it holds nothing open: each sees the state
 * that the database has by then.
 */
export type PiecewiseRead<Answer> = Generator<void, Answer>;

/** A short read, as a read with a single piece. */
// deno-lint-ignore require-yield -- it has no pieces
export function* inOnePiece<Answer>(read: () => Answer): PiecewiseRead<Answer> {
  return read();
}

/** Options of {@linkcode ReadTurns}. */
interface ReadTurnsOptions {
  /** Milliseconds since any instant. */
  readonly monotonicMs: () => number;
  /**
   * Calls back after the requests that have arrived by then, and returns a
   * function that cancels this. A timer does so, `setImmediate` does not: while
   * one immediate callback follows the other, the runtime seldom checks for new
   * requests.
   *
   * @default a timer of 0 ms
   */
  readonly inNextTurn?: (callback: () => void) => () => void;
  /**
   * How many milliseconds all reads together may take in a turn of the event
   * loop; the piece that exceeds it is the last.
   *
   * @default {3}
   */
  readonly turnMs?: number;
}

interface Waiting {
  /** Runs a piece; returns whether it was the last one. */
  readonly step: () => boolean;
  /** Cancels the read. */
  readonly abandon: () => void;
}

/**
 * Runs reads in turns. A fast read is answered at once. When the reads of a
 * turn of the event loop have taken long enough, the others wait for the next
 * turn, in which tenants alternate after each piece, and so do the reads of a
 * tenant.
 */
export class ReadTurns {
  readonly #options: ReadTurnsOptions;
  /** Waiting reads by tenant; the tenant whose turn is next comes first. */
  readonly #waiting = new Map<string, Waiting[]>();
  /** Milliseconds used of the current turn of the event loop. */
  #spentMs = 0;
  #cancelTurn: (() => void) | undefined;
  #isClosed = false;

  /** Starts with no reads waiting. */
  constructor(options: ReadTurnsOptions) {
    this.#options = options;
  }

  /**
   * Runs a read on behalf of a tenant.
   *
   * @throws {StoreFailedError} when the store is closed before the read ends
   */
  run<Answer>(
    tenantId: string,
    read: PiecewiseRead<Answer>,
  ): Promise<Answer> {
    const { promise, resolve, reject } = Promise.withResolvers<Answer>();
    const waiting: Waiting = {
      step: () => {
        try {
          const piece = read.next();
          if (piece.done === true) resolve(piece.value);
          return piece.done === true;
        } catch (error) {
          reject(toStoreError(error));
          return true;
        }
      },
      abandon() {
        reject(closedError());
        // This lets the read close what it has opened.
        read.return(undefined as never);
      },
    };
    if (this.#isClosed) waiting.abandon();
    else if (this.#waiting.size > 0 || !this.#goOn(waiting)) {
      const others = this.#waiting.get(tenantId);
      if (others === undefined) this.#waiting.set(tenantId, [waiting]);
      else others.push(waiting);
      this.#askTurn();
    }
    return promise;
  }

  /** Closes; all waiting reads fail. */
  close(): void {
    this.#isClosed = true;
    this.#cancelTurn?.();
    this.#cancelTurn = undefined;
    const waiting = [...this.#waiting.values()].flat();
    this.#waiting.clear();
    for (const { abandon } of waiting) abandon();
  }

  /**
   * Runs pieces of a read while there is time; returns whether the read has
   * ended.
   */
  #goOn(waiting: Waiting): boolean {
    while (this.#hasTime()) {
      if (this.#spend(waiting)) return true;
    }
    return false;
  }

  #spend({ step }: Waiting): boolean {
    const { monotonicMs } = this.#options;
    const beginMs = monotonicMs();
    const isDone = step();
    this.#spentMs += monotonicMs() - beginMs;
    this.#askTurn();
    return isDone;
  }

  #hasTime(): boolean {
    return this.#spentMs < (this.#options.turnMs ?? 3);
  }

  #askTurn(): void {
    if (this.#cancelTurn !== undefined || this.#isClosed) return;
    const { inNextTurn = byTimer } = this.#options;
    this.#cancelTurn = inNextTurn(() => {
      this.#cancelTurn = undefined;
      this.#spentMs = 0;
      this.#takeTurn();
    });
  }

  #takeTurn(): void {
    while (this.#hasTime()) {
      const [next] = this.#waiting;
      if (next === undefined) return;
      const [tenantId, reads] = next;
      const read = reads.shift();
      if (read !== undefined && !this.#spend(read)) reads.push(read);
      // The next turn is another tenant's, and this tenant's next turn is
      // another read's.
      this.#waiting.delete(tenantId);
      if (reads.length > 0) this.#waiting.set(tenantId, reads);
    }
    if (this.#waiting.size > 0) this.#askTurn();
  }
}

function byTimer(callback: () => void): () => void {
  const timer = setTimeout(callback, 0);
  return () => clearTimeout(timer);
}

function closedError(): Error {
  return new StoreFailedError("Cannot read: the store is closed");
}
