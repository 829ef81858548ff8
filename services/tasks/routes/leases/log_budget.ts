/**
 * How many log lines an attempt may add to the history of its task.
 *
 * @module
 */

import { BoundedMap } from "../../../shared/bounded_map.ts";
import { taskOfLease } from "../../engine/lease_id.ts";
import type { Store } from "../../store/store.ts";
import { draftOf } from "../tasks/history_view.ts";

/** Most log lines of one attempt: history is to be read by people. */
export const MAX_ATTEMPT_LINES = 1_000;

/** Most leases whose lines are remembered. */
const MAX_LEASES = 20_000;
/** Records that are read at once. */
const PAGE = 200;

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
  async tally(tenantId: string, leaseId: string): Promise<LogTally> {
    const known = this.#tallies.get(leaseId);
    if (known !== undefined) return known;
    const lines = await this.#countLines(tenantId, leaseId);
    return new LogTally(lines, (tally) => {
      const other = this.#tallies.get(leaseId);
      if (other === undefined) this.#tallies.set(leaseId, tally);
      return other ?? tally;
    });
  }

  async #countLines(tenantId: string, leaseId: string): Promise<number> {
    const taskId = taskOfLease(leaseId);
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
        ...(afterSeq === undefined ? {} : { afterSeq }),
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
   * Begins with the lines there are; `shared` gives the tally that all words of
   * the lease are counted in.
   */
  constructor(lines: number, shared: (tally: LogTally) => LogTally) {
    this.#lines = lines;
    this.#shared = shared;
  }

  /** Lines so far. */
  get lines(): number {
    return this.#shared(this).#lines;
  }

  /** Counts lines that its holder adds; false, and none, when they are too many. */
  take(lines: number): boolean {
    const tally = this.#shared(this);
    if (tally.#lines + lines > MAX_ATTEMPT_LINES) return false;
    tally.#lines += lines;
    return true;
  }

  /** Takes lines back that were not written. */
  giveBack(lines: number): void {
    this.#shared(this).#lines -= lines;
  }
}
