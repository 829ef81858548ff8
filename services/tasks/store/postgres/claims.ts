/**
 * Claims: tasks are looked for and started in one transaction, which locks them
 * so that other instances pass them over, and, where the worker has limits,
 * keeps others from counting within them.
 *
 * @module
 */

import { storeFailure } from "../../../shared/postgres/failure.ts";
import type { Pool } from "../../../shared/postgres/pool.ts";
import type { Runner } from "../../../shared/postgres/session.ts";
import type { Transaction as OpenTransaction } from "../../../shared/postgres/transaction.ts";
import { StoreFailedError } from "../../../shared/store_failed.ts";
import type { Task } from "../../domain/task.ts";
import { APPLIED, decodeResult } from "../result_codes.ts";
import type {
  ClaimScope,
  ClaimView,
  Transaction,
  TransactionResult,
} from "../store.ts";
import type { CandidateReads } from "./candidate_reads.ts";
import type { GroupApplier } from "./group_applier.ts";
import type { InternedNames } from "./interned_names.ts";
import type { KnownTasks } from "./known_tasks.ts";
import {
  type LimitLocks,
  type LimitRow,
  lockStatement,
  SHARED_LANE,
} from "./limit_locks.ts";
import { type PreparedTransaction, prepareWrite } from "./prepared_write.ts";
import { RecordReads } from "./record_reads.ts";
import { TaskReads } from "./task_reads.ts";

/** Options of {@linkcode Claims}. */
export interface ClaimsOptions {
  /** Connections for claims alone, each of which has one for its time. */
  readonly pool: Pool;
  /** Writes what was decided. */
  readonly applier: GroupApplier;
  /** Finds tasks. */
  readonly candidates: CandidateReads;
  /** The numbers of names. */
  readonly names: InternedNames;
  /** Makes the rows that are locked. */
  readonly locks: LimitLocks;
  /** The tasks that were read. */
  readonly known: KnownTasks;
  /** Called with the transactions that were applied. */
  readonly onApplied: (transactions: readonly PreparedTransaction[]) => void;
  /** Called with tasks that were shown and not started. */
  readonly onLeft: (tasks: readonly Task[]) => void;
}

type Decide = (view: ClaimView) => Promise<readonly Transaction[]>;

/** Claims tasks. */
export class Claims {
  readonly #options: ClaimsOptions;
  readonly #underWay = new Set<Promise<unknown>>();

  /** Takes what claims need. */
  constructor(options: ClaimsOptions) {
    this.#options = options;
  }

  /** Claims tasks; see {@linkcode Store.claim}. */
  async claim(
    scope: ClaimScope,
    decide: Decide,
  ): Promise<readonly TransactionResult[]> {
    const claiming = this.#claim(scope, decide);
    this.#underWay.add(claiming);
    try {
      return await claiming;
    } finally {
      this.#underWay.delete(claiming);
    }
  }

  /** Resolves when no claim is under way. */
  async idle(): Promise<void> {
    while (this.#underWay.size > 0) await Promise.allSettled(this.#underWay);
  }

  async #claim(
    scope: ClaimScope,
    decide: Decide,
  ): Promise<readonly TransactionResult[]> {
    const { pool, locks, onApplied, onLeft } = this.#options;
    const rows = await this.#rowsOf(scope);
    await locks.demand(rows);
    const shown = new Map<string, Task>();
    let prepared: readonly PreparedTransaction[] = [];
    try {
      const codes = await pool.transaction(async (open) => {
        const locked = lock(open, rows);
        const transactions = await decide(this.#view(open, shown));
        await locked;
        prepared = transactions.map(({ writes }) =>
          writes.map((write) => prepareWrite(write, this.#options.known))
        );
        return await this.#apply(open, prepared, rows.length > 0);
      });
      // The locks are gone, so nothing is held while this waits.
      const final = codes ?? await this.#options.applier.apply(prepared);
      const results = prepared.map((_, index) =>
        decodeResult(final[index] ?? APPLIED)
      );
      const applied = prepared.filter((_, index) =>
        results[index]?.kind === "ok"
      );
      for (const writes of applied) {
        for (const write of writes) if ("id" in write) shown.delete(write.id);
      }
      onApplied(applied);
      return results;
    } finally {
      onLeft([...shown.values()]);
    }
  }

  /**
   * Applies what was decided.
   *
   * @returns the codes; undefined when everything was undone and has to be
   * applied again, as versions alone decide where there are no limits
   */
  async #apply(
    open: OpenTransaction,
    prepared: readonly PreparedTransaction[],
    isLimited: boolean,
  ): Promise<readonly number[] | undefined> {
    const { applier } = this.#options;
    if (prepared.length === 0) return [];
    try {
      await applier.intern(prepared);
      if (isLimited) return await applier.applyTogether(open, prepared);
      return await applier.commitTogether(open, prepared) ? [] : undefined;
    } catch (error) {
      if (error instanceof StoreFailedError) throw error;
      throw storeFailure(error);
    }
  }

  /** The rows that keep others from counting within the same limits. */
  async #rowsOf(
    { tenantId, workerId, limits }: ClaimScope,
  ): Promise<readonly LimitRow[]> {
    if (limits === "none") return [];
    const { names } = this.#options;
    const tenant = await names.tenant(tenantId);
    const lane = await names.lane(tenantId, workerId);
    if (tenant === undefined || lane === undefined) return [];
    return limits === "tenant"
      ? [{ tenant, lane: SHARED_LANE }, { tenant, lane }]
      : [{ tenant, lane }];
  }

  #view(open: Runner, shown: Map<string, Task>): ClaimView {
    const { candidates, names, known } = this.#options;
    const tasks = new TaskReads({ runner: open, known }, names);
    const records = new RecordReads(open);
    return {
      candidates: async (claim) => {
        const found = await candidates.locked(claim, open);
        for (const task of found) shown.set(task.id, task);
        return found;
      },
      running: (...of) => tasks.running(...of),
      runningGroups: (tenantId) => tasks.runningGroups(tenantId),
      starts: (query) => records.starts(query),
    };
  }
}

/** Locks rows; not waited for, as what is asked next comes after it. */
function lock(
  open: OpenTransaction,
  rows: readonly LimitRow[],
): Promise<unknown> {
  if (rows.length === 0) return Promise.resolve();
  const { sql, parameters } = lockStatement(rows);
  const locked = open.query(sql, parameters);
  locked.catch(() => {});
  return locked;
}
