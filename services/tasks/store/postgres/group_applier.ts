/**
 * Applies groups of transactions, each as a whole or not at all.
 *
 * A group is first written as if nothing in it were refused, by a few
 * statements in one round trip. Where something is, all of that is undone, and
 * the transactions are applied one by one, so that each sees what those before
 * it did, and the write that is refused is known.
 *
 * @module
 */

import {
  mayRunAgain,
  sqlState,
  storeFailure,
  violatedConstraint,
} from "../../../shared/postgres/failure.ts";
import type { Pool } from "../../../shared/postgres/pool.ts";
import type {
  Statement,
  Transaction,
} from "../../../shared/postgres/transaction.ts";
import { StoreFailedError } from "../../../shared/store_failed.ts";
import { APPLIED, conflictCode, type ConflictReason } from "../result_codes.ts";
import type { WorkerName } from "../queries.ts";
import {
  demandStatement,
  type GroupLink,
  groupStatement,
  linkStatement,
} from "./group_statement.ts";
import type { InternedNames } from "./interned_names.ts";
import { type LimitLocks, lockStatement, PLAN_LANE } from "./limit_locks.ts";
import type { PreparedTransaction, PreparedWrite } from "./prepared_write.ts";
import { singleStatement } from "./single_statement.ts";
import { asAlone, type Step, toSteps } from "./write_group.ts";

/** The code of `demand()`, which says that a write did nothing. */
const REFUSED = "TC001";
/** How often a group is tried again after a deadlock with another one. */
const MAX_TRIES = 5;
/**
 * The most transactions of a database transaction that are applied one by one:
 * each is a transaction within it, of which the server handles few well.
 */
const MAX_NESTED = 40;

/** Applies groups of transactions. */
export class GroupApplier {
  readonly #pool: Pool;
  readonly #names: InternedNames;
  readonly #locks: LimitLocks;
  readonly #hasSessions: boolean;
  /** Settles when all that was given so far has been applied or refused. */
  #underWay: Promise<void> | undefined;
  #lastNumber = 0;

  /** Takes the connections to write over. */
  constructor(
    pool: Pool,
    { names, locks, hasSessions = true }: {
      readonly names: InternedNames;
      readonly locks: LimitLocks;
      /**
       * Whether a connection to the pool is one to the server. A pooler may
       * give each transaction another one, with the setting of another
       * instance, so that a group cannot tell that it follows the one before.
       *
       * @default {true}
       */
      readonly hasSessions?: boolean;
    },
  ) {
    this.#pool = pool;
    this.#names = names;
    this.#locks = locks;
    this.#hasSessions = hasSessions;
  }

  /**
   * Applies transactions after all those that were given before. Where the pool
   * has one connection, to the server itself, they are sent while those are under
   * way, and are applied only if those were.
   *
   * @returns the code of each: {@linkcode APPLIED} or a
   * {@linkcode conflictCode}; an empty list when all were applied
   * @throws {StoreFailedError} when the store fails; whether they were applied
   * is unknown
   */
  async apply(
    transactions: readonly PreparedTransaction[],
  ): Promise<readonly number[]> {
    const before = this.#underWay;
    const number = ++this.#lastNumber;
    const after = before === undefined ? undefined : number - 1;
    const applying = this.#hasSessions
      ? this.#apply(transactions, { link: { number, after }, before })
      : this.#applyAfter(before, transactions);
    const settled: Promise<void> = applying.then(() => {}, () => {}).then(
      () => {
        if (this.#underWay === settled) this.#underWay = undefined;
      },
    );
    this.#underWay = settled;
    return await applying;
  }

  async #applyAfter(
    before: Promise<void> | undefined,
    transactions: readonly PreparedTransaction[],
  ): Promise<readonly number[]> {
    await before;
    return await this.#apply(transactions, {
      link: undefined,
      before: undefined,
    });
  }

  async #apply(
    transactions: readonly PreparedTransaction[],
    { link, before }: {
      readonly link: GroupLink | undefined;
      readonly before: Promise<void> | undefined;
    },
  ): Promise<readonly number[]> {
    try {
      if (this.#mustIntern(transactions)) {
        await before;
        await this.intern(transactions);
      }
      if (await this.#tryAll(transactions, link)) return [];
      if (before !== undefined) {
        // It may only have come before its turn.
        await before;
        const alone = link && { ...link, after: undefined };
        if (await this.#tryAll(transactions, alone)) return [];
      }
      const codes: number[] = [];
      for (let from = 0; from < transactions.length; from += MAX_NESTED) {
        const some = transactions.slice(from, from + MAX_NESTED);
        codes.push(...await this.#applySome(some));
      }
      return codes;
    } catch (error) {
      throw toFailure(error);
    }
  }

  /**
   * Gives numbers to the tenants and workers of transactions, and rows to lock
   * to tenants with quotas.
   */
  async intern(
    transactions: readonly PreparedTransaction[],
  ): Promise<void> {
    const tenants = new Set<string>();
    const workers: WorkerName[] = [];
    for (const writes of transactions) {
      for (const write of writes) {
        tenants.add(write.tenantId);
        if ("workerId" in write) workers.push(write);
      }
    }
    await this.#names.internAll(tenants, workers);
    const limited = this.#limitedTenants(transactions);
    if (limited.length > 0) {
      await this.#locks.demand(
        limited.map((tenant) => ({ tenant, lane: PLAN_LANE })),
      );
    }
  }

  /** Whether names of transactions have no numbers yet. */
  #mustIntern(transactions: readonly PreparedTransaction[]): boolean {
    return transactions.some((writes) =>
      writes.some((write) =>
        write.kind === "quota" || !this.#names.knows(write.tenantId) ||
        "workerId" in write &&
          !this.#names.knows(write.tenantId, write.workerId)
      )
    );
  }

  /** Locks the tenants with quotas, in an order that rules out deadlocks. */
  #lock(transactions: readonly PreparedTransaction[]): readonly Statement[] {
    const tenants = this.#limitedTenants(transactions);
    if (tenants.length === 0) return [];
    return [
      lockStatement(tenants.map((tenant) => ({ tenant, lane: PLAN_LANE }))),
    ];
  }

  #limitedTenants(
    transactions: readonly PreparedTransaction[],
  ): readonly number[] {
    const tenants = new Set<number>();
    for (const writes of transactions) {
      for (const write of writes) {
        if (write.kind !== "quota") continue;
        tenants.add(this.#names.tenantNumber(write.tenantId));
      }
    }
    return [...tenants];
  }

  /**
   * Applies transactions within an open transaction of the database, one by
   * one.
   *
   * @returns their codes
   */
  async applyWithin(
    open: Transaction,
    transactions: readonly PreparedTransaction[],
  ): Promise<readonly number[]> {
    const codes: number[] = [];
    for (const writes of transactions) {
      codes.push(await this.#applyOne(open, writes));
    }
    return codes;
  }

  /**
   * Applies transactions and ends an open transaction of the database with them,
   * in one round trip.
   *
   * @returns false when one is refused; then all of it is undone
   */
  async commitTogether(
    open: Transaction,
    transactions: readonly PreparedTransaction[],
  ): Promise<boolean> {
    try {
      await open.commit(this.#statements(transactions));
      return true;
    } catch (error) {
      if (isRefusal(error)) return false;
      throw toFailure(error);
    }
  }

  /**
   * Applies transactions within an open transaction of the database, all in one
   * round trip unless one is refused.
   *
   * @returns their codes
   */
  async applyTogether(
    open: Transaction,
    transactions: readonly PreparedTransaction[],
  ): Promise<readonly number[]> {
    const statements = this.#statements(transactions);
    if (await isDone(open, statements)) {
      return transactions.map(() => APPLIED);
    }
    return await this.applyWithin(open, transactions);
  }

  /** Writes everything in one round trip; returns false if it was refused. */
  async #tryAll(
    transactions: readonly PreparedTransaction[],
    link: GroupLink | undefined,
  ): Promise<boolean> {
    const statements = this.#linked(transactions, link);
    if (statements.length === 0) return true;
    for (let tries = 1;; tries++) {
      try {
        const [first] = statements;
        if (statements.length === 1 && first !== undefined) {
          await this.#pool.query(first.sql, first.parameters);
        } else {
          await this.#pool.batch(statements);
        }
        return true;
      } catch (error) {
        if (isRefusal(error)) return false;
        if (!mayRunAgain(error) || tries === MAX_TRIES) throw error;
      }
    }
  }

  async #applySome(
    transactions: readonly PreparedTransaction[],
  ): Promise<readonly number[]> {
    for (let tries = 1;; tries++) {
      try {
        return await this.#pool.transaction((open) =>
          this.applyWithin(open, transactions)
        );
      } catch (error) {
        if (!mayRunAgain(error) || tries === MAX_TRIES) throw error;
      }
    }
  }

  async #applyOne(
    open: Transaction,
    writes: PreparedTransaction,
  ): Promise<number> {
    const alone = writes.map(asAlone);
    if (await isDone(open, this.#statements([alone]))) return APPLIED;
    // The write that is refused is now looked for.
    await open.query("SAVEPOINT alone");
    for (const [index, write] of alone.entries()) {
      for (const { sql, parameters } of this.#statements([[write]])) {
        try {
          await open.query(sql, parameters);
        } catch (error) {
          if (!isRefusal(error)) throw error;
          await open.query("ROLLBACK TO SAVEPOINT alone");
          return conflictCode(index, findReason(write, error));
        }
      }
    }
    // The row in the way has gone meanwhile.
    await open.query("RELEASE SAVEPOINT alone");
    return APPLIED;
  }

  /** The statements of transactions, of which the last one has the link. */
  #linked(
    transactions: readonly PreparedTransaction[],
    link: GroupLink | undefined,
  ): readonly Statement[] {
    if (link === undefined) return this.#statements(transactions);
    const steps = toSteps(transactions);
    const [only] = steps;
    const locks = this.#lock(transactions);
    if (locks.length === 0 && steps.length === 1 && only?.kind === "group") {
      return [groupStatement(only.writes, this.#names, link)];
    }
    return [
      ...locks,
      ...(link.after === undefined ? [] : [demandStatement(link.after)]),
      ...steps.map((step) => this.#statement(step)),
      linkStatement(link),
    ];
  }

  #statements(
    transactions: readonly PreparedTransaction[],
  ): readonly Statement[] {
    return [
      ...this.#lock(transactions),
      ...toSteps(transactions).map((step) => this.#statement(step)),
    ];
  }

  #statement(step: Step): Statement {
    return step.kind === "group"
      ? groupStatement(step.writes, this.#names)
      : singleStatement(step.write, this.#names);
  }
}

/**
 * Runs statements within an open transaction in one round trip; when one is
 * refused, undoes them and returns false.
 */
async function isDone(
  open: Transaction,
  statements: readonly Statement[],
): Promise<boolean> {
  if (statements.length === 0) return true;
  const outcomes = await Promise.allSettled([
    open.query("SAVEPOINT tried"),
    ...statements.map(({ sql, parameters }) => open.query(sql, parameters)),
  ]);
  const failed = outcomes.find((one) => one.status === "rejected");
  if (failed === undefined) {
    // Not waited for: whatever comes next follows it.
    open.query("RELEASE SAVEPOINT tried").catch(() => {});
    return true;
  }
  if (!isRefusal(failed.reason)) throw failed.reason;
  await open.query("ROLLBACK TO SAVEPOINT tried");
  return false;
}

function isRefusal(error: unknown): boolean {
  return sqlState(error) === REFUSED ||
    violatedConstraint(error) !== undefined;
}

/** Why a write by itself was refused. */
function findReason(write: PreparedWrite, error: unknown): ConflictReason {
  switch (violatedConstraint(error)) {
    case "live_keys":
      return "key";
    case "record_aliases":
      return "alias";
  }
  switch (write.kind) {
    case "require":
    case "request":
      return "missing";
    case "idempotency":
      return "idempotency";
    case "quota":
      return "quota";
    default:
      return "version";
  }
}

/** Every error of writing is one of the store. */
function toFailure(error: unknown): unknown {
  return error instanceof StoreFailedError || error instanceof TypeError
    ? error
    : storeFailure(error);
}
