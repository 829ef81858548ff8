/**
 * Commits that come together go to the disk together.
 *
 * @module
 */

import { StoreBusyError } from "../store.ts";

/** What waits to be written. */
export interface QueuedBatch {
  /** How many units it has. */
  readonly units: number;
  /** How many rows it is about. */
  readonly rows: number;
  /** About how much memory it takes. */
  readonly chars: number;
}

/** Options of {@linkcode CommitQueue}. */
export interface CommitQueueOptions<Batch extends QueuedBatch> {
  /**
   * Writes a group in one transaction and answers, once it is durable, with the
   * results of all its units; none means that all were applied.
   */
  readonly write: (group: readonly Batch[]) => Promise<readonly number[]>;
  /** Calls back at the end of the turn, when what came with it has come. */
  readonly atEndOfTurn: (callback: () => void) => void;
  /** Milliseconds of a clock that only goes forward. */
  readonly monotonicMs: () => number;
  /** Most rows of a group; one batch may have more. */
  readonly maxGroupRows: number;
  /** Most characters of a group; one batch may have more. */
  readonly maxGroupChars: number;
  /**
   * Rows from which a group goes though another one is under way, so that the
   * writer need not wait between them; none goes while two are.
   */
  readonly aheadRows: number;
  /** Most rows that wait. */
  readonly maxQueuedRows: number;
  /** Most characters that wait. */
  readonly maxQueuedChars: number;
}

interface Waiting<Batch> {
  readonly batch: Batch;
  readonly resolve: (codes: readonly number[]) => void;
  readonly reject: (error: unknown) => void;
}

const LEAST_RETRY_MS = 50;
const LONGEST_RETRY_MS = 5_000;

/** One that is written and one that waits for it. */
const MAX_UNDER_WAY = 2;

/**
 * Groups commits without a timer: the first one goes at the end of the turn with
 * all that came in it; what comes while a group is written forms the next one.
 */
export class CommitQueue<Batch extends QueuedBatch> {
  readonly #options: CommitQueueOptions<Batch>;
  #waiting: Waiting<Batch>[] = [];
  #queuedRows = 0;
  #queuedChars = 0;
  /** Groups that are being written. */
  #underWay = 0;
  /** Rows that are in none of them. */
  #waitingRows = 0;
  #isTurnEndAwaited = false;
  #endedMs = -Infinity;
  #rowsPerMs = 10;
  #whenIdle: (() => void)[] = [];

  /** An empty queue. */
  constructor(options: CommitQueueOptions<Batch>) {
    this.#options = options;
  }

  /**
   * Puts batches at the end of the queue and answers with the results of their
   * units, for each batch; none means that all of them were applied.
   *
   * @throws {StoreBusyError} when too much waits; none was put there
   */
  async add(
    batches: readonly Batch[],
  ): Promise<readonly (readonly number[])[]> {
    let [rows, chars] = [0, 0];
    for (const batch of batches) {
      rows += batch.rows;
      chars += batch.chars;
    }
    this.demandRoom({ rows, chars });
    this.#queuedRows += rows;
    this.#waitingRows += rows;
    this.#queuedChars += chars;
    const answers = batches.map((batch) =>
      new Promise<readonly number[]>((resolve, reject) => {
        this.#waiting.push({ batch, resolve, reject });
      })
    );
    if (!this.#isTurnEndAwaited && this.#mayStart()) {
      this.#isTurnEndAwaited = true;
      this.#options.atEndOfTurn(() => {
        this.#isTurnEndAwaited = false;
        this.#startGroups();
      });
    }
    const [first] = answers;
    return first !== undefined && answers.length === 1
      ? [await first]
      : await allOf(answers);
  }

  /**
   * Refuses what there is no room for. What is larger than the queue fits when
   * nothing else waits.
   *
   * @throws {StoreBusyError} when too much waits
   */
  demandRoom(size: { readonly rows: number; readonly chars: number }): void {
    const { maxQueuedRows, maxQueuedChars } = this.#options;
    const isFull = this.#queuedRows + size.rows > maxQueuedRows ||
      this.#queuedChars + size.chars > maxQueuedChars;
    if (!isFull || this.#queuedRows === 0) return;
    const ms = Math.ceil(this.#queuedRows / this.#rowsPerMs);
    throw new StoreBusyError(
      Math.min(LONGEST_RETRY_MS, Math.max(LEAST_RETRY_MS, ms)),
    );
  }

  /** Resolves when nothing waits and nothing is under way. */
  idle(): Promise<void> {
    if (this.#isIdle()) return Promise.resolve();
    return new Promise((resolve) => this.#whenIdle.push(resolve));
  }

  #isIdle(): boolean {
    return this.#underWay === 0 && this.#waiting.length === 0;
  }

  /** Small groups wait: each costs a wait for the disk of its own. */
  #mayStart(): boolean {
    return this.#waiting.length > 0 && (this.#underWay === 0 ||
      this.#underWay < MAX_UNDER_WAY &&
        this.#waitingRows >= this.#options.aheadRows);
  }

  #startGroups(): void {
    while (this.#mayStart()) void this.#writeGroup(this.#nextGroup());
    if (!this.#isIdle()) return;
    for (const resolve of this.#whenIdle.splice(0)) resolve();
  }

  #nextGroup(): readonly Waiting<Batch>[] {
    const { maxGroupRows, maxGroupChars } = this.#options;
    let [rows, chars, count] = [0, 0, 0];
    for (const { batch } of this.#waiting) {
      rows += batch.rows;
      chars += batch.chars;
      if (count > 0 && (rows > maxGroupRows || chars > maxGroupChars)) break;
      count++;
    }
    return this.#waiting.splice(0, count);
  }

  async #writeGroup(group: readonly Waiting<Batch>[]): Promise<void> {
    const startedMs = this.#options.monotonicMs();
    const batches = group.map(({ batch }) => batch);
    let rows = 0;
    for (const batch of batches) rows += batch.rows;
    this.#waitingRows -= rows;
    this.#underWay++;
    try {
      const codes = await this.#options.write(batches);
      let from = 0;
      for (const { batch, resolve } of group) {
        resolve(codes.slice(from, from + batch.units));
        from += batch.units;
      }
    } catch (error) {
      for (const { reject } of group) reject(error);
    }
    for (const batch of batches) this.#queuedChars -= batch.chars;
    this.#queuedRows -= rows;
    // Without the wait for the group before it.
    const endedMs = this.#options.monotonicMs();
    const tookMs = endedMs - Math.max(startedMs, this.#endedMs);
    this.#endedMs = endedMs;
    this.#rowsPerMs = 0.8 * this.#rowsPerMs +
      0.2 * (rows / Math.max(1, tookMs));
    this.#underWay--;
    this.#startGroups();
  }
}

/** Waits for all, also when one fails: what is refused must be over. */
async function allOf<Value>(
  answers: readonly Promise<Value>[],
): Promise<readonly Value[]> {
  const settled = await Promise.allSettled(answers);
  return settled.map((one) => {
    if (one.status === "rejected") throw one.reason;
    return one.value;
  });
}
