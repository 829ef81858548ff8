/**
 * A queue of batches that are written in groups, one commit each. Tenants take
 * turns, so a tenant's batches need not wait for all that another tenant has
 * sent. The turns are those of one instance: others wait for the same disk, but
 * in queues of their own.
 *
 * @module
 */

import { FairQueue } from "./fair_queue.ts";
import { StoreBusyError } from "./store_failed.ts";

/** A batch that waits to be written. */
export interface QueuedBatch {
  /**
   * The tenant; batches of one tenant are written in the order in which they
   * came.
   */
  readonly tenant: string;
  /** How many transactions it has. */
  readonly transactions: number;
  /** How many rows it writes. */
  readonly rows: number;
  /** How many characters it takes in memory, approximately. */
  readonly chars: number;
  /**
   * Whether no other batch is in its group.
   *
   * @default {false}
   */
  readonly isAlone?: boolean;
}

/** The outcome of applying transactions. */
export interface Applied {
  /** The code of each transaction; empty when all of them were applied. */
  readonly codes: readonly number[];
  /** How many milliseconds everything but the commit took. */
  readonly workMs: number;
  /**
   * How many milliseconds the commit took, most of it independent of the
   * group's size.
   */
  readonly commitMs: number;
}

/** Options of {@linkcode CommitQueue}. */
interface CommitQueueOptions<Batch extends QueuedBatch> {
  /**
   * Writes a group in one commit and answers once it is durable, with the
   * results of all its transactions.
   */
  readonly write: (group: readonly Batch[]) => Promise<Applied>;
  /** Calls back at the end of the current turn of the event loop. */
  readonly atEndOfTurn: (callback: () => void) => void;
  /** Milliseconds of a clock that only goes forward. */
  readonly monotonicMs: () => number;
  /** The most rows of a group; a single batch may have more. */
  readonly maxGroupRows: number;
  /** The most characters of a group; a single batch may have more. */
  readonly maxGroupChars: number;
  /**
   * The number of waiting rows from which a group is sent while another is
   * still being written, so that the writer need not wait in between. At most
   * two groups are under way at a time.
   */
  readonly aheadRows: number;
  /**
   * The most rows that wait. A tenant may use at most as many of them as remain
   * free: half of all while it is alone, a third beside another such tenant.
   */
  readonly maxQueuedRows: number;
  /** The most characters that wait, shared between tenants in the same way. */
  readonly maxQueuedChars: number;
  /**
   * Called with the milliseconds that a batch waited until it was written.
   *
   * @default {() => {}}
   */
  readonly onWritten?: (batch: Batch, waitedMs: number) => void;
  /**
   * Called with each group after it was written, or its write failed.
   *
   * @default {() => {}}
   */
  readonly onGroup?: ((group: WrittenGroup) => void) | undefined;
  /**
   * Called when batches are refused because the queue is full.
   *
   * @default {() => {}}
   */
  readonly onRefused?: (() => void) | undefined;
}

/** A group after it was written, or its write failed. */
export interface WrittenGroup {
  /** How many rows it had. */
  readonly rows: number;
  /** Milliseconds from sending the group to its end. */
  readonly tookMs: number;
  /** Rows of all tenants that are not written yet. */
  readonly queuedRows: number;
  /** Whether the group is durable. */
  readonly isWritten: boolean;
}

/** A number of rows and characters. */
interface BatchSize {
  /** Rows. */
  readonly rows: number;
  /** Characters. */
  readonly chars: number;
}

interface Waiting<Batch> {
  readonly batch: Batch;
  readonly addedAtMs: number;
  readonly resolve: (codes: readonly number[]) => void;
  readonly reject: (error: unknown) => void;
}

const LEAST_RETRY_MS = 50;
const LONGEST_RETRY_MS = 5_000;

/**
 * The most groups under way: one that is being written and one that waits for
 * it.
 */
const MAX_UNDER_WAY = 2;
/** The rows that a tenant gets in each round of turns. */
const QUANTUM_ROWS = 100;
/**
 * The target time for writing a group, in milliseconds: while a single tenant
 * writes, and while several do.
 */
const GROUP_MS = { alone: 10, shared: 0.75 };
/**
 * While a group that takes longer than this many milliseconds is being written,
 * no other group is sent.
 */
const AHEAD_MS = { alone: 5, shared: 1 };
/**
 * How many milliseconds groups stay short after the tenant that writes has
 * changed.
 */
const SHARED_MS = 1_000;
/** Applying a group takes at least this many times as long as its commit. */
const WORK_PER_COMMIT = 2;
/** A group may have this many rows, however slow the disk is. */
const LEAST_GROUP_ROWS = 50;

/**
 * Groups commits without a timer. The first group is sent at the end of the
 * event loop's turn with all batches of that turn, or at once while several
 * tenants write; batches that come while a group is written form the next one.
 * Tenants take turns, weighted by the rows that they write.
 */
export class CommitQueue<Batch extends QueuedBatch> {
  readonly #options: CommitQueueOptions<Batch>;
  readonly #waiting = new FairQueue<Waiting<Batch>>({ quantum: QUANTUM_ROWS });
  /** Rows and characters that are not written yet, by tenant. */
  readonly #tenants = new Map<string, QueuedTenant>();
  #queuedRows = 0;
  #queuedChars = 0;
  /** How many groups are being written. */
  #underWay = 0;
  #rowsUnderWay = 0;
  /** Rows that are not in a group yet. */
  #waitingRows = 0;
  #isTurnEndAwaited = false;
  /**
   * Rows that were written recently, and how many milliseconds that took
   * without the commits.
   */
  readonly #work = { rows: 10, ms: 1 };
  #commitMs = 0;
  #lastTenant: string | undefined;
  #sharedUntilMs = -Infinity;
  #whenIdle: (() => void)[] = [];

  /** Creates an empty queue. */
  constructor(options: CommitQueueOptions<Batch>) {
    this.#options = options;
  }

  /**
   * Appends batches to the queue and returns the results of their transactions,
   * for each batch; an empty list means that all of its transactions were
   * applied.
   *
   * @throws {StoreBusyError} when the queue is full; no batch was appended
   */
  async add(
    batches: readonly Batch[],
  ): Promise<readonly (readonly number[])[]> {
    let [rows, chars] = [0, 0];
    for (const batch of batches) {
      rows += batch.rows;
      chars += batch.chars;
    }
    this.demandRoom({ rows, chars }, findTenant(batches));
    this.#queuedRows += rows;
    this.#waitingRows += rows;
    this.#queuedChars += chars;
    const addedAtMs = this.#options.monotonicMs();
    for (const { tenant } of batches) this.#noteTenant(tenant, addedAtMs);
    const answers = batches.map((batch) =>
      new Promise<readonly number[]>((resolve, reject) => {
        const tenant = this.#tenant(batch.tenant);
        tenant.rows += batch.rows;
        tenant.chars += batch.chars;
        const waiting = { batch, addedAtMs, resolve, reject };
        this.#waiting.add(batch.tenant, waiting);
      })
    );
    if (this.#underWay === 0 && this.#isShared) {
      // The end of the turn may be far away, after the requests of other
      // tenants.
      queueMicrotask(() => this.#startGroups());
    } else if (!this.#isTurnEndAwaited && this.#mayStart()) {
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
   * Throws when the queue has no room for batches. A batch larger than the
   * queue is accepted when nothing else waits.
   *
   * @param tenant the tenant whose share is used; batches of several tenants
   * use no share
   * @throws {StoreBusyError} when the queue is full
   */
  demandRoom(size: BatchSize, tenant?: string): void {
    const { maxQueuedRows, maxQueuedChars } = this.#options;
    const own = tenant === undefined ? undefined : this.#tenants.get(tenant);
    const rows = size.rows + (own?.rows ?? 0);
    const chars = size.chars + (own?.chars ?? 0);
    const isFull = rows > maxQueuedRows - this.#queuedRows ||
      chars > maxQueuedChars - this.#queuedChars;
    if (!isFull || this.#queuedRows === 0) return;
    this.#options.onRefused?.();
    const ms = Math.ceil(this.#queuedRows / this.#rowsPerMs());
    throw new StoreBusyError(
      Math.min(LONGEST_RETRY_MS, Math.max(LEAST_RETRY_MS, ms)),
    );
  }

  /** Resolves when no batch waits and no group is being written. */
  idle(): Promise<void> {
    if (this.isIdle) return Promise.resolve();
    return new Promise((resolve) => this.#whenIdle.push(resolve));
  }

  /** Rows that are not written yet. */
  get queuedRows(): number {
    return this.#queuedRows;
  }

  /** Whether no batch waits and no group is being written. */
  get isIdle(): boolean {
    return this.#underWay === 0 && this.#waiting.length === 0;
  }

  #noteTenant(tenant: string, nowMs: number): void {
    if (tenant === this.#lastTenant) return;
    if (this.#lastTenant !== undefined) {
      this.#sharedUntilMs = nowMs + SHARED_MS;
    }
    this.#lastTenant = tenant;
  }

  get #isShared(): boolean {
    return this.#waiting.keys > 1 ||
      this.#options.monotonicMs() < this.#sharedUntilMs;
  }

  #tenant(id: string): QueuedTenant {
    let tenant = this.#tenants.get(id);
    if (tenant === undefined) {
      tenant = { rows: 0, chars: 0 };
      this.#tenants.set(id, tenant);
    }
    return tenant;
  }

  /**
   * Whether a group may be sent. Small groups wait, since each costs a wait for
   * the disk.
   */
  #mayStart(): boolean {
    if (this.#waiting.length === 0) return false;
    return this.#underWay === 0 ||
      this.#underWay < MAX_UNDER_WAY &&
        this.#waitingRows >= this.#options.aheadRows &&
        this.#rowsUnderWay <= this.#rowsIn(AHEAD_MS);
  }

  /** How many rows are written in the given time, approximately. */
  #rowsIn({ alone, shared }: typeof GROUP_MS): number {
    const ms = Math.max(
      this.#isShared ? shared : alone,
      WORK_PER_COMMIT * this.#commitMs,
    );
    return Math.max(LEAST_GROUP_ROWS, this.#rowsPerMs() * ms);
  }

  #rowsPerMs(): number {
    const { rows, ms } = this.#work;
    return rows / Math.max(0.01, ms);
  }

  #startGroups(): void {
    while (this.#mayStart()) void this.#writeGroup(this.#nextGroup());
    if (!this.isIdle) return;
    this.#waiting.forgetDebts();
    for (const resolve of this.#whenIdle.splice(0)) resolve();
  }

  #nextGroup(): readonly Waiting<Batch>[] {
    const { maxGroupChars } = this.#options;
    const maxRows = Math.min(
      this.#options.maxGroupRows,
      this.#rowsIn(GROUP_MS),
    );
    const group: Waiting<Batch>[] = [];
    let [rows, chars] = [0, 0];
    for (
      let next = this.#waiting.peek();
      next !== undefined;
      next = this.#waiting.peek()
    ) {
      const { batch } = next.item;
      rows += batch.rows;
      chars += batch.chars;
      const fits = rows <= maxRows && chars <= maxGroupChars && !batch.isAlone;
      if (group.length > 0 && !fits) break;
      group.push(next.item);
      this.#waiting.remove(next);
      this.#waiting.charge(batch.tenant, batch.rows);
      if (batch.isAlone) break;
    }
    return group;
  }

  async #writeGroup(group: readonly Waiting<Batch>[]): Promise<void> {
    const batches = group.map(({ batch }) => batch);
    let rows = 0;
    for (const batch of batches) rows += batch.rows;
    this.#waitingRows -= rows;
    this.#rowsUnderWay += rows;
    this.#underWay++;
    const sentMs = this.#options.monotonicMs();
    let isWritten = false;
    try {
      const { codes, workMs, commitMs } = await this.#options.write(batches);
      isWritten = true;
      this.#commitMs += 0.2 * (commitMs - this.#commitMs);
      // The sums are weighted, so that groups of a few rows say little about
      // large ones.
      this.#work.rows = 0.8 * this.#work.rows + rows;
      this.#work.ms = 0.8 * this.#work.ms + workMs;
      let from = 0;
      for (const { batch, resolve } of group) {
        resolve(codes.slice(from, from + batch.transactions));
        from += batch.transactions;
      }
    } catch (error) {
      for (const { reject } of group) reject(error);
    }
    this.#queuedRows -= rows;
    this.#rowsUnderWay -= rows;
    for (const batch of batches) this.#release(batch);
    const endedMs = this.#options.monotonicMs();
    this.#underWay--;
    this.#options.onGroup?.({
      ...{ rows, isWritten },
      tookMs: endedMs - sentMs,
      queuedRows: this.#queuedRows,
    });
    for (const { batch, addedAtMs } of group) {
      this.#options.onWritten?.(batch, endedMs - addedAtMs);
    }
    this.#startGroups();
  }

  #release({ tenant, rows, chars }: Batch): void {
    this.#queuedChars -= chars;
    const queued = this.#tenant(tenant);
    queued.rows -= rows;
    queued.chars -= chars;
    if (queued.rows === 0) this.#tenants.delete(tenant);
  }
}

/** How much of the queue a tenant uses. */
interface QueuedTenant {
  rows: number;
  chars: number;
}

/** The tenant of all batches; undefined when they are of several. */
function findTenant(batches: readonly QueuedBatch[]): string | undefined {
  const [first] = batches;
  return batches.every(({ tenant }) => tenant === first?.tenant)
    ? first?.tenant
    : undefined;
}

/**
 * Waits for all answers even when one fails, so that no write is under way
 * afterwards.
 */
async function allOf<Value>(
  answers: readonly Promise<Value>[],
): Promise<readonly Value[]> {
  const settled = await Promise.allSettled(answers);
  return settled.map((one) => {
    if (one.status === "rejected") throw one.reason;
    return one.value;
  });
}
