/**
 * Applies groups of transactions: says which statements they are, what must be
 * there before them, and why one is refused.
 *
 * @module
 */

import { violatedConstraint } from "../../../shared/postgres/failure.ts";
import {
  GroupApplier as SharedApplier,
  type GroupStatements,
} from "../../../shared/postgres/group_applier.ts";
import { type GroupLink, linked } from "../../../shared/postgres/group_link.ts";
import type { Pool } from "../../../shared/postgres/pool.ts";
import type { Statement } from "../../../shared/postgres/transaction.ts";
import { conflictCode, type ConflictReason } from "../result_codes.ts";
import type { WorkerName } from "../queries.ts";
import { groupStatement } from "./group_statement.ts";
import type { InternedNames } from "./interned_names.ts";
import { type LimitLocks, lockStatement, PLAN_LANE } from "./limit_locks.ts";
import type { PreparedTransaction, PreparedWrite } from "./prepared_write.ts";
import { singleStatement } from "./single_statement.ts";
import { asAlone, type Step, toSteps } from "./write_group.ts";

/** What numbers the names of transactions, and locks their tenants. */
interface Names {
  readonly names: InternedNames;
  readonly locks: LimitLocks;
}

/** Applies groups of transactions. */
export class GroupApplier extends SharedApplier<PreparedTransaction> {
  readonly #statements: TransactionStatements;

  /** Takes the connections to write over. */
  constructor(
    pool: Pool,
    { names, locks, hasSessions }: Names & {
      /**
       * Whether a connection to the pool is one to the server, and not to a
       * pooler.
       *
       * @default {true}
       */
      readonly hasSessions?: boolean;
    },
  ) {
    const statements = new TransactionStatements({ names, locks });
    super(pool, {
      statements,
      ...(hasSessions === undefined ? {} : { hasSessions }),
    });
    this.#statements = statements;
  }

  /**
   * Gives numbers to the tenants and workers of transactions, and rows to lock
   * to tenants with quotas.
   */
  intern(transactions: readonly PreparedTransaction[]): Promise<void> {
    return this.#statements.prepare(transactions);
  }
}

class TransactionStatements implements GroupStatements<PreparedTransaction> {
  readonly #names: InternedNames;
  readonly #locks: LimitLocks;

  constructor({ names, locks }: Names) {
    this.#names = names;
    this.#locks = locks;
  }

  async prepare(
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

  together(
    transactions: readonly PreparedTransaction[],
    link?: GroupLink,
  ): readonly Statement[] {
    const steps = toSteps(transactions);
    const locks = this.#lock(transactions);
    const [only] = steps;
    const isOne = locks.length === 0 && steps.length === 1 &&
      only?.kind === "group";
    if (link !== undefined && isOne) {
      return [groupStatement(only.writes, this.#names, link)];
    }
    const statements = steps.map((step) => this.#statement(step));
    return [
      ...locks,
      ...(link === undefined ? statements : linked(statements, link)),
    ];
  }

  parts(
    writes: PreparedTransaction,
  ): ReturnType<GroupStatements<PreparedTransaction>["parts"]> {
    const alone = writes.map(asAlone);
    return {
      all: this.together([alone]),
      each: alone.map((write) => this.together([[write]])),
    };
  }

  refusal(
    writes: PreparedTransaction,
    { part, error }: { readonly part: number; readonly error: unknown },
  ): number {
    const write = writes[part];
    return conflictCode(
      part,
      write === undefined ? "version" : findReason(write, error),
    );
  }

  /** Whether names of transactions have no numbers yet. */
  mustPrepare(transactions: readonly PreparedTransaction[]): boolean {
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

  #statement(step: Step): Statement {
    return step.kind === "group"
      ? groupStatement(step.writes, this.#names)
      : singleStatement(step.write, this.#names);
  }
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
