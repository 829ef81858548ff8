/**
 * Applies groups of writes, each as a whole or not at all.
 *
 * A group is first written as if nothing in it were refused, by a few
 * statements in one round trip. If something is refused, all of that is undone. The
 * writes are then applied one by one: each sees what those before it did, and the
 * refused part is known.
 *
 * @module
 */

import { StoreFailedError } from "../store_failed.ts";
import {
  mayRunAgain,
  sqlState,
  storeFailure,
  violatedConstraint,
} from "./failure.ts";
import type { GroupLink } from "./group_link.ts";
import type { Pool } from "./pool.ts";
import type { Statement, Transaction } from "./transaction.ts";

/** How the writes of a store become statements. */
export interface GroupStatements<Write> {
  /**
   * Whether something must be done before there are statements.
   *
   * @default nothing
   */
  mustPrepare?(writes: readonly Write[]): boolean;
  /** Does it. */
  prepare?(writes: readonly Write[]): Promise<void>;
  /**
   * The statements of writes. One fails, by `demand()` or a constraint, where a
   * write is refused.
   *
   * @param link is kept by the statements, if it is given
   */
  together(writes: readonly Write[], link?: GroupLink): readonly Statement[];
  /**
   * The statements of a write by itself, by the parts of which the first one
   * that is refused is looked for.
   */
  parts(write: Write): {
    /** All of them. */
    readonly all: readonly Statement[];
    /** Those of each part. */
    readonly each: readonly (readonly Statement[])[];
  };
  /** The code, other than 0, of a write of which a part was refused. */
  refusal(write: Write, of: { part: number; error: unknown }): number;
  /**
   * Statements before writes that are applied one by one, which lock in an order
   * that rules out deadlocks.
   */
  lock?(writes: readonly Write[]): readonly Statement[];
}

/** The code of a write that was applied. */
export const DONE = 0;
/** The code of `demand()`, which says that a write did nothing. */
const REFUSED = "TC001";
/** How often a group is tried again after a deadlock with another one. */
const MAX_TRIES = 5;
/**
 * The most writes of a database transaction that are applied one by one: each is
 * a transaction within it, of which the server handles few well.
 */
const MAX_NESTED = 40;

/** Applies groups of writes. */
export class GroupApplier<Write> {
  readonly #pool: Pool;
  readonly #statements: GroupStatements<Write>;
  readonly #hasSessions: boolean;
  /** Settles when all that was given so far has been applied or refused. */
  #underWay: Promise<void> | undefined;
  #lastNumber = 0;

  /** Takes the connections to write over. */
  constructor(
    pool: Pool,
    { statements, hasSessions = true }: {
      readonly statements: GroupStatements<Write>;
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
    this.#statements = statements;
    this.#hasSessions = hasSessions;
  }

  /**
   * Applies writes after all those that were given before. Where the pool has
   * one connection, to the server itself, they are sent while those are under
   * way, and are applied only if those were.
   *
   * @returns the code of each: {@linkcode DONE} or that of its refusal; an empty
   * list when all were applied
   * @throws {StoreFailedError} when the store fails; whether they were applied
   * is unknown
   */
  async apply(writes: readonly Write[]): Promise<readonly number[]> {
    const before = this.#underWay;
    const number = ++this.#lastNumber;
    const after = before === undefined ? undefined : number - 1;
    const applying = this.#hasSessions
      ? this.#apply(writes, { link: { number, after }, before })
      : this.#applyAfter(before, writes);
    const settled: Promise<void> = applying.then(() => {}, () => {}).then(
      () => {
        if (this.#underWay === settled) this.#underWay = undefined;
      },
    );
    this.#underWay = settled;
    return await applying;
  }

  /**
   * Applies writes within an open transaction of the database, one by one.
   *
   * @returns their codes
   */
  async applyWithin(
    open: Transaction,
    writes: readonly Write[],
  ): Promise<readonly number[]> {
    const codes: number[] = [];
    for (const write of writes) codes.push(await this.#applyOne(open, write));
    return codes;
  }

  /**
   * Applies writes and ends an open transaction of the database with them, in
   * one round trip.
   *
   * @returns false when one is refused; then all of it is undone
   */
  async commitTogether(
    open: Transaction,
    writes: readonly Write[],
  ): Promise<boolean> {
    try {
      await open.commit(this.#statements.together(writes));
      return true;
    } catch (error) {
      if (isRefusal(error)) return false;
      throw toFailure(error);
    }
  }

  /**
   * Applies writes within an open transaction of the database, all in one round
   * trip unless one is refused.
   *
   * @returns their codes
   */
  async applyTogether(
    open: Transaction,
    writes: readonly Write[],
  ): Promise<readonly number[]> {
    const statements = this.#statements.together(writes);
    if (await isDone(open, statements)) return writes.map(() => DONE);
    return await this.applyWithin(open, writes);
  }

  async #applyAfter(
    before: Promise<void> | undefined,
    writes: readonly Write[],
  ): Promise<readonly number[]> {
    await before;
    return await this.#apply(writes, { link: undefined, before: undefined });
  }

  async #apply(
    writes: readonly Write[],
    { link, before }: {
      readonly link: GroupLink | undefined;
      readonly before: Promise<void> | undefined;
    },
  ): Promise<readonly number[]> {
    try {
      if (this.#statements.mustPrepare?.(writes) === true) {
        await before;
        await this.#statements.prepare?.(writes);
      }
      if (await this.#tryAll(writes, link)) return [];
      if (before !== undefined) {
        // It may only have come before its turn.
        await before;
        const alone = link && { ...link, after: undefined };
        if (await this.#tryAll(writes, alone)) return [];
      }
      const codes: number[] = [];
      for (let from = 0; from < writes.length; from += MAX_NESTED) {
        const some = writes.slice(from, from + MAX_NESTED);
        codes.push(...await this.#applySome(some));
      }
      return codes;
    } catch (error) {
      throw toFailure(error);
    }
  }

  /** Writes everything in one round trip; returns false if it was refused. */
  async #tryAll(
    writes: readonly Write[],
    link: GroupLink | undefined,
  ): Promise<boolean> {
    const statements = this.#statements.together(writes, link);
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

  async #applySome(writes: readonly Write[]): Promise<readonly number[]> {
    for (let tries = 1;; tries++) {
      try {
        return await this.#pool.transaction(async (open) => {
          for (const lock of this.#statements.lock?.(writes) ?? []) {
            await open.query(lock.sql, lock.parameters);
          }
          return await this.applyWithin(open, writes);
        });
      } catch (error) {
        if (!mayRunAgain(error) || tries === MAX_TRIES) throw error;
      }
    }
  }

  async #applyOne(open: Transaction, write: Write): Promise<number> {
    const { all, each } = this.#statements.parts(write);
    if (await isDone(open, all)) return DONE;
    // The part that is refused is now looked for.
    await open.query("SAVEPOINT alone");
    for (const [part, statements] of each.entries()) {
      for (const { sql, parameters } of statements) {
        try {
          await open.query(sql, parameters);
        } catch (error) {
          if (!isRefusal(error)) throw error;
          await open.query("ROLLBACK TO SAVEPOINT alone");
          return this.#statements.refusal(write, { part, error });
        }
      }
    }
    // The row in the way has gone meanwhile.
    await open.query("RELEASE SAVEPOINT alone");
    return DONE;
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

/** Every error of writing is one of the store. */
function toFailure(error: unknown): unknown {
  return error instanceof StoreFailedError || error instanceof TypeError
    ? error
    : storeFailure(error);
}
