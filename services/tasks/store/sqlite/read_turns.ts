/**
 * Turns of reads on the thread that serves, so that long ones hold up no others.
 *
 * They are not the turns of requests (`FairTurns`), in which work that has begun
 * goes on before other work of its tenant: a page that looks at 20,000 rows would
 * hold up all short reads of its tenant. Here the reads of a tenant share its turn,
 * and a read that takes no time is answered at once.
 *
 * @module
 */

import { StoreFailedError } from "../../../shared/store_failed_error.ts";
import { storeErrorOf } from "../../../shared/sqlite/sqlite_error.ts";

/**
 * A read in pieces. Between them it holds nothing open: each is of the state that
 * the database is in by then.
 */
export type PiecewiseRead<Answer> = Generator<void, Answer>;

/** A read that is short, but one of many. */
// deno-lint-ignore require-yield -- it has no pieces
export function* inOnePiece<Answer>(read: () => Answer): PiecewiseRead<Answer> {
  return read();
}

/** Options of {@linkcode ReadTurns}. */
interface ReadTurnsOptions {
  /** Milliseconds since any instant. */
  readonly monotonicMs: () => number;
  /**
   * Calls back after requests that have arrived by then, unless it is canceled. A
   * timer does, `setImmediate` does not: while one immediate callback follows the
   * other, the runtime seldom looks whether anything has arrived.
   *
   * @default a timer of no time
   */
  readonly inNextTurn?: (callback: () => void) => () => void;
  /**
   * How long all reads together may go on in a turn of the event loop; the piece
   * that goes beyond it is the last.
   *
   * @default {3}
   */
  readonly turnMs?: number;
}

interface Waiting {
  /** Does a piece; returns whether it was the last one. */
  readonly step: () => boolean;
  /** Cancels the read. */
  readonly abandon: () => void;
}

/**
 * Lets reads have turns. One that takes no time is answered at once. When those of
 * a turn of the event loop have taken long enough, the others wait for the next
 * one, in which tenants have a piece each in turns, and so have the reads of one.
 */
export class ReadTurns {
  readonly #options: ReadTurnsOptions;
  /** What waits, by tenant; those whose turn is next come first. */
  readonly #waiting = new Map<string, Waiting[]>();
  /** What has been spent of the turn of the event loop. */
  #spentMs = 0;
  #cancelTurn: (() => void) | undefined;
  #isClosed = false;

  /** Turns with nothing waiting. */
  constructor(options: ReadTurnsOptions) {
    this.#options = options;
  }

  /**
   * Does a read on behalf of a tenant.
   *
   * @throws {StoreFailedError} when the store is closed before it ends
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
          reject(storeErrorOf(error));
          return true;
        }
      },
      abandon() {
        reject(closedError());
        // It closes what it has opened.
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

  /** Ends: what waits fails. */
  close(): void {
    this.#isClosed = true;
    this.#cancelTurn?.();
    this.#cancelTurn = undefined;
    const waiting = [...this.#waiting.values()].flat();
    this.#waiting.clear();
    for (const { abandon } of waiting) abandon();
  }

  /** Does pieces while there is time; returns whether the read is at its end. */
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
      // Another tenant is next, and of this one another read.
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
