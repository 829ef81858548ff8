/**
 * A queue of batches that are written in groups, in which tenants take turns: the
 * batches of one tenant do not wait for all that another tenant has sent.
 *
 * @module
 */

import { FairQueue } from "../../../shared/fair_queue.ts";
import { StoreBusyError } from "../store.ts";
import type { Applied } from "./thread_messages.ts";

/** A batch that waits to be written. */
export interface QueuedBatch {
  /** The tenant; batches of one tenant are written in the order they came. */
  readonly tenant: string;
  /** How many transactions it has. */
  readonly transactions: number;
  /** How many rows it writes. */
  readonly rows: number;
  /** About how many characters of memory it takes. */
  readonly chars: number;
}

/** Options of {@linkcode CommitQueue}. */
interface CommitQueueOptions<Batch extends QueuedBatch> {
  /**
   * Writes a group in one commit and answers once it is durable, with the
   * results of all its transactions.
   */
  readonly write: (group: readonly Batch[]) => Promise<Applied>;
  /** Calls back at the end of the turn of the event loop. */
  readonly atEndOfTurn: (callback: () => void) => void;
  /** Milliseconds of a clock that only goes forward. */
  readonly monotonicMs: () => number;
  /** Most rows of a group; one batch may have more. */
  readonly maxGroupRows: number;
  /** Most characters of a group; one batch may have more. */
  readonly maxGroupChars: number;
  /**
   * Rows from which a group is written while another one still is, so that the
   * writer need not wait between them; at most two are written at a time.
   */
  readonly aheadRows: number;
  /**
   * Most rows that wait. A tenant may have at most as many of them as are free: half
   * of all while it is alone, a third beside another such tenant.
   */
  readonly maxQueuedRows: number;
  /** Most characters that wait, which are shared in the same way. */
  readonly maxQueuedChars: number;
  /**
   * Called with the milliseconds that a batch waited until it was written.
   *
   * @default {() => {}}
   */
  readonly onWritten?: (batch: Batch, waitedMs: number) => void;
  /**
   * Called with each group that was written, or was not.
   *
   * @default {() => {}}
   */
  readonly onGroup?: ((group: WrittenGroup) => void) | undefined;
  /**
   * Called when batches are refused, as too much waits.
   *
   * @default {() => {}}
   */
  readonly onRefused?: (() => void) | undefined;
}

/** A group that was written, or was not. */
export interface WrittenGroup {
  /** How many rows it had. */
  readonly rows: number;
  /** Milliseconds from its sending to its end. */
  readonly tookMs: number;
  /** Rows that are not written yet. */
  readonly queuedRows: number;
  /** Whether it is on disk. */
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

/** One group that is written and one that waits for it. */
const MAX_UNDER_WAY = 2;
/** Rows that a tenant gets in each round of the tenants. */
const QUANTUM_ROWS = 100;
/** How long writing a group is to take, for one tenant and while several write. */
const GROUP_MS = { alone: 10, shared: 0.75 };
/** Behind a group that takes longer than this no other group is sent. */
const AHEAD_MS = { alone: 5, shared: 1 };
/** For how long groups stay short after the tenant that writes has changed. */
const SHARED_MS = 1_000;
/** A group's work takes at least this many times as long as its commit. */
const WORK_PER_COMMIT = 2;
/** A group may have this many rows, however slow the disk is. */
const LEAST_GROUP_ROWS = 50;

/**
 * Groups commits without a timer: the first one is sent at the end of the turn with
 * all batches of that turn, or at once while several tenants write; those that come
 * while a group is written form the next. Tenants take turns by the rows that they
 * write.
 */
export class CommitQueue<Batch extends QueuedBatch> {
  readonly #options: CommitQueueOptions<Batch>;
  readonly #waiting = new FairQueue<Waiting<Batch>>({ quantum: QUANTUM_ROWS });
  /** Rows and characters that are not written yet, by tenant. */
  readonly #tenants = new Map<string, QueuedTenant>();
  #queuedRows = 0;
  #queuedChars = 0;
  /** Groups that are being written. */
  #underWay = 0;
  #rowsUnderWay = 0;
  /** Rows that are in no such group. */
  #waitingRows = 0;
  #isTurnEndAwaited = false;
  /** Rows that were written recently, and how long that took without the commits. */
  readonly #work = { rows: 10, ms: 1 };
  #commitMs = 0;
  #lastTenant: string | undefined;
  #sharedUntilMs = -Infinity;
  #whenIdle: (() => void)[] = [];

  /** An empty queue. */
  constructor(options: CommitQueueOptions<Batch>) {
    this.#options = options;
  }

  /**
   * Puts batches at the end of the queue and answers with the results of their
   * transactions, for each batch; none means that all of them were applied.
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
    this.demandRoom({ rows, chars }, tenantOf(batches));
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
      // The end of the turn may be far, behind the requests of other tenants.
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
   * Refuses batches for which there is no room. A batch larger than the queue fits
   * when nothing else waits.
   *
   * @param tenant Whose share is used; batches of several tenants use no share.
   * @throws {StoreBusyError} when too much waits
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

  /** Resolves when nothing waits and nothing is under way. */
  idle(): Promise<void> {
    if (this.isIdle) return Promise.resolve();
    return new Promise((resolve) => this.#whenIdle.push(resolve));
  }

  /** Whether nothing waits and nothing is under way. */
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

  /** Whether a group may be sent. Small ones wait: each costs a wait for the disk. */
  #mayStart(): boolean {
    if (this.#waiting.length === 0) return false;
    return this.#underWay === 0 ||
      this.#underWay < MAX_UNDER_WAY &&
        this.#waitingRows >= this.#options.aheadRows &&
        this.#rowsUnderWay <= this.#rowsIn(AHEAD_MS);
  }

  /** About how many rows are written in the time given. */
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
      if (group.length > 0 && (rows > maxRows || chars > maxGroupChars)) break;
      group.push(next.item);
      this.#waiting.remove(next);
      this.#waiting.charge(batch.tenant, batch.rows);
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
      // Sums, so that groups of a few rows say little about large ones.
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

/** How much a tenant has in the queue. */
interface QueuedTenant {
  rows: number;
  chars: number;
}

/** The tenant of all batches, if they are of one. */
function tenantOf(batches: readonly QueuedBatch[]): string | undefined {
  const [first] = batches;
  return batches.every(({ tenant }) => tenant === first?.tenant)
    ? first?.tenant
    : undefined;
}

/** Waits for all, also when one fails, so that nothing is under way afterwards. */
async function allOf<Value>(
  answers: readonly Promise<Value>[],
): Promise<readonly Value[]> {
  const settled = await Promise.allSettled(answers);
  return settled.map((one) => {
    if (one.status === "rejected") throw one.reason;
    return one.value;
  });
}
