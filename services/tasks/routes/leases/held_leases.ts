/**
 * Remembers leases that were granted: the worker whose secrets are removed from
 * reports about the lease, and how many log lines the lease has.
 *
 * @module
 */

import { BoundedMap } from "../../../shared/bounded_map.ts";
import { describeError } from "../../../shared/settled.ts";
import { parseDraft } from "../../domain/history.ts";
import type { LeaseHolder } from "../../engine/leases.ts";
import type { Scrubber } from "../../secrets/scrub.ts";
import type { Store } from "../../store/store.ts";
import type { ApiParts } from "../api_parts.ts";

/** Most leases that are remembered. */
const MAX_LEASES = 20_000;

/** Most log lines of one attempt: history is to be read by people. */
export const MAX_ATTEMPT_LINES = 1_000;

/** Records of a history that are read in one page. */
const PAGE = 200;

/**
 * Remembers the workers of granted leases, so that the secrets their holders
 * may have been given are known without reading the task.
 */
export class LeaseScrubbers {
  readonly #parts: Pick<ApiParts, "engine" | "vault">;
  readonly #workers = new BoundedMap<string, string>({
    maxEntries: MAX_LEASES,
  });

  /** No lease is remembered yet. */
  constructor(parts: Pick<ApiParts, "engine" | "vault">) {
    this.#parts = parts;
  }

  /** Remembers the worker of a lease that was granted. */
  remember(leaseId: string, workerId: string): void {
    if (!this.#parts.vault.isAvailable) return;
    this.#workers.set(leaseId, workerId);
  }

  /**
   * Makes a function that finds the scrubber of the secrets of a lease's
   * worker. Use it for one call: each worker's secrets are opened once. It
   * finds no scrubber when the worker has no secrets or the lease does not
   * exist.
   */
  finder(): (holder: LeaseHolder) => Promise<Scrubber | undefined> {
    const opened = new Map<string, Promise<Scrubber | undefined>>();
    return async (holder) => {
      if (!this.#parts.vault.isAvailable) return undefined;
      const workerId = this.#workers.get(holder.leaseId) ??
        await this.#findWorkerId(holder);
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
      // A report counts even when the master key that opens the secrets is
      // gone.
      engine.parts.logger.warn(
        "Cannot remove secrets from a worker's output: they cannot be opened",
        { worker: workerId, error: describeError(error) },
      );
      return undefined;
    }
  }

  async #findWorkerId(
    { tenantId, taskId }: LeaseHolder,
  ): Promise<string | undefined> {
    if (taskId === undefined) return undefined;
    const task = await this.#parts.engine.parts.store.task(tenantId, taskId);
    return task?.workerId;
  }
}

/**
 * Counts the log lines of leases. The lines of a lease that is not remembered
 * are counted in the history, so that neither a restart nor other leases give
 * it more room.
 */
export class LogBudget {
  readonly #store: Pick<Store, "history">;
  readonly #tallies = new BoundedMap<string, LogTally>({
    maxEntries: MAX_LEASES,
  });

  /** No lease is remembered yet. */
  constructor(store: Pick<Store, "history">) {
    this.#store = store;
  }

  /**
   * The log lines of a lease so far. The lease is remembered when its holder
   * adds lines, so that senders who hold no lease cannot fill the memory with
   * ids.
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
      for (const { attempt, message = "" } of records.map(parseDraft)) {
        // A task has one attempt at a time, so this record and all older
        // ones are of earlier attempts.
        if (attempt !== leaseId) return lines;
        lines += message.split("\n").length;
      }
      afterSeq = nextAfterSeq;
    } while (afterSeq !== undefined && lines < MAX_ATTEMPT_LINES);
    return lines;
  }
}

/** The number of log lines of one lease. */
export class LogTally {
  readonly #shared: (tally: LogTally) => LogTally;
  #lines: number;

  /**
   * Starts with the lines in the history; `shared` returns the one tally in
   * which all reports about the lease are counted.
   */
  constructor(lines: number, shared: (tally: LogTally) => LogTally) {
    this.#lines = lines;
    this.#shared = shared;
  }

  /** The lines so far. */
  get lines(): number {
    return this.#shared(this).#lines;
  }

  /**
   * Reserves room for new lines. Returns false, and reserves nothing, when the
   * lease would have too many.
   */
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
