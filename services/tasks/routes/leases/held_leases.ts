/**
 * Remembers leases that were handed out: the worker whose secrets are removed
 * from the reports of their holders, and how many log lines these have added.
 *
 * @module
 */

import { BoundedMap } from "../../../shared/bounded_map.ts";
import { describeError } from "../../../shared/settled.ts";
import { draftOf } from "../../domain/history.ts";
import type { LeaseHolder } from "../../engine/leases.ts";
import type { Scrubber } from "../../secrets/scrub.ts";
import type { Store } from "../../store/store.ts";
import type { ApiParts } from "../api_parts.ts";

/** Most leases that are remembered. */
const MAX_LEASES = 20_000;

/** Most log lines of one attempt: history is to be read by people. */
export const MAX_ATTEMPT_LINES = 1_000;

/** Records of a history that are read at once. */
const PAGE = 200;

/**
 * Remembers whose leases were handed out, so that nothing has to be read to know
 * which secrets their holders may have been given.
 */
export class LeaseScrubbers {
  readonly #parts: Pick<ApiParts, "engine" | "vault">;
  readonly #workers = new BoundedMap<string, string>({
    maxEntries: MAX_LEASES,
  });

  /** Remembers nothing yet. */
  constructor(parts: Pick<ApiParts, "engine" | "vault">) {
    this.#parts = parts;
  }

  /** Remembers the worker that was given a lease. */
  remember(leaseId: string, workerId: string): void {
    if (!this.#parts.vault.isAvailable) return;
    this.#workers.set(leaseId, workerId);
  }

  /**
   * What finds, during one call, the scrubber of the secrets of a lease's worker;
   * each worker's secrets are opened once. It finds none where there are no
   * secrets, or no such lease.
   */
  finder(): (holder: LeaseHolder) => Promise<Scrubber | undefined> {
    const opened = new Map<string, Promise<Scrubber | undefined>>();
    return async (holder) => {
      if (!this.#parts.vault.isAvailable) return undefined;
      const workerId = this.#workers.get(holder.leaseId) ??
        await this.#workerOf(holder);
      if (workerId === undefined) return undefined;
      let scrubber = opened.get(workerId);
      if (scrubber === undefined) {
        scrubber = this.#ofWorker(holder.tenantId, workerId);
        opened.set(workerId, scrubber);
      }
      return await scrubber;
    };
  }

  /** The scrubber of a worker's secrets; undefined when it has none. */
  async #ofWorker(
    tenantId: string,
    workerId: string,
  ): Promise<Scrubber | undefined> {
    const { vault, engine } = this.#parts;
    try {
      return (await vault.open(tenantId, workerId)).scrubber;
    } catch (error) {
      // Work that was done counts, whatever has become of the master key.
      engine.parts.logger.warn(
        "Cannot take secrets out of what a worker says: they cannot be opened",
        { worker: workerId, error: describeError(error) },
      );
      return undefined;
    }
  }

  async #workerOf(
    { tenantId, taskId }: LeaseHolder,
  ): Promise<string | undefined> {
    if (taskId === undefined) return undefined;
    const task = await this.#parts.engine.parts.store.task(tenantId, taskId);
    return task?.workerId;
  }
}

/**
 * Counts the log lines of leases. What is not remembered is counted in the
 * history, so that neither a restart nor other leases make room.
 */
export class LogBudget {
  readonly #store: Pick<Store, "history">;
  readonly #tallies = new BoundedMap<string, LogTally>({
    maxEntries: MAX_LEASES,
  });

  /** A budget that remembers nothing yet. */
  constructor(store: Pick<Store, "history">) {
    this.#store = store;
  }

  /**
   * The lines of a lease so far. It is remembered when its holder adds to it, so
   * that those who hold no lease cannot fill the memory with names.
   *
   * @throws {Error} when the store cannot be read
   */
  async tally(holder: LeaseHolder): Promise<LogTally> {
    const { leaseId } = holder;
    const known = this.#tallies.get(leaseId);
    if (known !== undefined) return known;
    const lines = await this.#countLines(holder);
    return new LogTally(lines, (tally) => {
      const other = this.#tallies.get(leaseId);
      if (other === undefined) this.#tallies.set(leaseId, tally);
      return other ?? tally;
    });
  }

  async #countLines(
    { tenantId, leaseId, taskId }: LeaseHolder,
  ): Promise<number> {
    if (taskId === undefined) return 0;
    let lines = 0;
    let afterSeq: number | undefined;
    do {
      const { records, nextAfterSeq } = await this.#store.history({
        tenantId,
        taskId,
        types: ["log"],
        order: "desc",
        limit: PAGE,
        afterSeq,
      });
      for (const { attempt, message = "" } of records.map(draftOf)) {
        // A task has one attempt at a time, so the others are earlier ones.
        if (attempt !== leaseId) return lines;
        lines += message.split("\n").length;
      }
      afterSeq = nextAfterSeq;
    } while (afterSeq !== undefined && lines < MAX_ATTEMPT_LINES);
    return lines;
  }
}

/** The log lines of one lease. */
export class LogTally {
  readonly #shared: (tally: LogTally) => LogTally;
  #lines: number;

  /**
   * Starts with the lines there are; `shared` returns the tally that all reports
   * of the lease are counted in.
   */
  constructor(lines: number, shared: (tally: LogTally) => LogTally) {
    this.#lines = lines;
    this.#shared = shared;
  }

  /** Lines so far. */
  get lines(): number {
    return this.#shared(this).#lines;
  }

  /** Reserves room for lines of its holder; false, and none, when they are too many. */
  reserve(lines: number): boolean {
    const tally = this.#shared(this);
    if (tally.#lines + lines > MAX_ATTEMPT_LINES) return false;
    tally.#lines += lines;
    return true;
  }

  /** Releases the room of lines that were not written. */
  release(lines: number): void {
    this.#shared(this).#lines -= lines;
  }
}
