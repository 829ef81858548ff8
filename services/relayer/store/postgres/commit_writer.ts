/**
 * Writes commits: they wait in queues, from which they are written in groups.
 * Each owner belongs to one queue, so that the order of an owner's commits is
 * kept.
 *
 * @module
 */

import { setImmediate } from "node:timers";
import { CommitQueue } from "../../../shared/commit_queue.ts";
import {
  DONE,
  GroupApplier,
  type GroupStatements,
} from "../../../shared/postgres/group_applier.ts";
import { type GroupLink, linked } from "../../../shared/postgres/group_link.ts";
import type { Pool } from "../../../shared/postgres/pool.ts";
import type { Statement } from "../../../shared/postgres/transaction.ts";
import { type Change, type CommitOutcome, estimateBytes } from "../changes.ts";
import {
  type ChangeOf,
  REMOVAL_ROWS,
  type Step,
  type Steps,
  toSteps,
} from "./commit_steps.ts";
import { groupStatement, lockStatement } from "./group_statement.ts";
import { singleStatement } from "./single_statement.ts";

/** Options of {@linkcode CommitWriter}. */
interface CommitWriterOptions {
  /** A connection each, over which groups are written. */
  readonly pools: readonly Pool[];
  /** Whether they are connections to the server itself, not to a pooler. */
  readonly hasSessions: boolean;
  /** The time of rows, in milliseconds since the epoch. */
  readonly nowMs: () => number;
  /**
   * Throws where a group would wait for a standby in vain: it may have waited
   * for the one before it.
   *
   * @default every group is written
   */
  readonly demandDurable?: (() => void) | undefined;
  /** Most changes that wait to be written. */
  readonly maxQueuedRows: number;
  /** Most bytes that wait to be written. */
  readonly maxQueuedBytes: number;
}

/** A commit that waits. */
interface WaitingCommit {
  /** The owner, or what stands for one. */
  readonly tenant: string;
  readonly transactions: 1;
  readonly rows: number;
  readonly chars: number;
  readonly changes: readonly Change[];
  /** The namespace of which some rows are removed, if that is all it does. */
  readonly bite: ChangeOf<"remove_namespace"> | undefined;
  /** Whether it is a bite, which has a group for itself. */
  readonly isAlone: boolean;
}

const MAX_GROUP_ROWS = 5_000;
const MAX_GROUP_BYTES = 8_000_000;
/** A small group waits for the one under way, as each waits for the disk. */
const AHEAD_ROWS = 150;
/**
 * How long the server works for a change, as was measured. The rest of a group's
 * time is the wait for the disk, a standby and the network, however many changes
 * it has.
 */
const ROW_MS = 0.03;
/** The code of a bite after which rows are left. */
const LEFT = -1;

/** Writes commits through queues. */
export class CommitWriter {
  readonly #queues: readonly CommitQueue<WaitingCommit>[];

  /** Starts with empty queues. */
  constructor(options: CommitWriterOptions) {
    const { pools, hasSessions, nowMs } = options;
    const statements = new CommitStatements(nowMs);
    this.#queues = pools.map((pool) => {
      const applier = new GroupApplier(pool, { statements, hasSessions });
      return new CommitQueue<WaitingCommit>({
        write: async (group) => {
          options.demandDurable?.();
          return await write(group, { applier, pool });
        },
        atEndOfTurn: (callback) => void setImmediate(callback),
        monotonicMs: () => performance.now(),
        maxGroupRows: MAX_GROUP_ROWS,
        maxGroupChars: MAX_GROUP_BYTES,
        aheadRows: AHEAD_ROWS,
        maxQueuedRows: options.maxQueuedRows / pools.length,
        maxQueuedChars: options.maxQueuedBytes / pools.length,
      });
    });
  }

  /**
   * Applies changes and answers once they are durable; see
   * {@linkcode RelayerStore.commit}. All commits take the same steps from their
   * group to the caller, so that those of an owner settle in their order.
   */
  async commit(changes: readonly Change[]): Promise<CommitOutcome> {
    if (changes.length === 0) return { kind: "ok" };
    const waiting = toWaiting(changes);
    const queue = this.#queueOf(waiting.tenant);
    for (;;) {
      const [codes = []] = await queue.add([waiting]);
      const [code = DONE] = codes;
      if (code === LEFT) continue;
      return code === DONE
        ? { kind: "ok" }
        : { kind: "conflict", change: code - 1 };
    }
  }

  /** Resolves when no commit waits and no group is being written. */
  async idle(): Promise<void> {
    await Promise.all(this.#queues.map((queue) => queue.idle()));
  }

  #queueOf(tenant: string): CommitQueue<WaitingCommit> {
    let hash = 0;
    for (let index = 0; index < tenant.length; index++) {
      hash = (hash * 31 + tenant.charCodeAt(index)) >>> 0;
    }
    return this.#queues[hash % this.#queues.length]!;
  }
}

function toWaiting(changes: readonly Change[]): WaitingCommit {
  const [first] = changes;
  const bite = changes.length === 1 && first?.kind === "remove_namespace"
    ? first
    : undefined;
  return {
    tenant: findTenant(changes),
    transactions: 1,
    rows: bite === undefined ? changes.length : REMOVAL_ROWS,
    chars: estimateBytes(changes),
    changes,
    bite,
    isAlone: bite !== undefined,
  };
}

function findTenant(changes: readonly Change[]): string {
  for (const change of changes) {
    const owner = findOwner(change);
    if (owner !== undefined) return owner;
  }
  // Those without an owner have no order; nonces are spread.
  const [first] = changes;
  return first?.kind === "nonce" ? first.nonce : first?.kind ?? "";
}

/** The owner whose rows a change is about; undefined where it has none. */
function findOwner(change: Change): string | undefined {
  switch (change.kind) {
    case "new_job":
      return change.job.owner;
    case "claim_key":
      return change.claim.owner;
    case "new_memory":
      return change.memory.owner;
    case "nonce":
    case "rate":
    case "snapshot_part":
      return undefined;
    default:
      return change.owner;
  }
}

async function write(
  group: readonly WaitingCommit[],
  { applier, pool }: {
    readonly applier: GroupApplier<WaitingCommit>;
    readonly pool: Pool;
  },
): Promise<{ codes: readonly number[]; workMs: number; commitMs: number }> {
  let rows = 0;
  for (const commit of group) rows += commit.rows;
  const startedMs = performance.now();
  let codes = await applier.apply(group);
  const bite = group[0]?.bite;
  if (bite !== undefined && await hasRows(pool, bite)) codes = [LEFT];
  const tookMs = performance.now() - startedMs;
  const workMs = Math.min(tookMs, rows * ROW_MS);
  return { codes, workMs, commitMs: tookMs - workMs };
}

async function hasRows(
  pool: Pool,
  { owner, namespace }: ChangeOf<"remove_namespace">,
): Promise<boolean> {
  const rows = await pool.query(
    "SELECT 1 FROM memories WHERE owner = $1::text " +
      "AND namespace = $2::text LIMIT 1",
    [owner, namespace],
  );
  return rows.length > 0;
}

/** How commits become statements. */
class CommitStatements implements GroupStatements<WaitingCommit> {
  readonly #nowMs: () => number;

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  together(
    commits: readonly WaitingCommit[],
    link?: GroupLink,
  ): readonly Statement[] {
    const isBite = commits[0]?.bite !== undefined;
    const plan = toSteps(commits.flatMap(({ changes }) => changes), { isBite });
    const [only] = plan.steps;
    const isOne = plan.owners.size === 0 && plan.steps.length === 1 &&
      only?.kind === "group";
    if (link !== undefined && isOne) {
      return [groupStatement(only.changes, { nowMs: this.#nowMs() }, link)];
    }
    const statements = this.#statements(plan, isBite);
    return link === undefined ? statements : linked(statements, link);
  }

  parts(
    commit: WaitingCommit,
  ): ReturnType<GroupStatements<WaitingCommit>["parts"]> {
    return {
      all: this.together([commit]),
      // All numbers are taken before the first change is tried: here nothing is
      // kept, whatever is found.
      each: commit.changes.map((change) => this.#statements(toSteps([change]))),
    };
  }

  refusal(_: WaitingCommit, { part }: { readonly part: number }): number {
    return part + 1;
  }

  lock(commits: readonly WaitingCommit[]): readonly Statement[] {
    const { owners } = toSteps(commits.flatMap(({ changes }) => changes));
    return owners.size === 0
      ? []
      : [this.#lock(new Map([...owners.keys()].map((key) => [key, 0])))];
  }

  #statements(
    { owners, steps }: Steps,
    isBite = false,
  ): readonly Statement[] {
    return [
      ...(owners.size === 0 ? [] : [this.#lock(owners)]),
      ...steps.map((step) => this.#statement(step, isBite)),
    ];
  }

  #lock(owners: Steps["owners"]): Statement {
    return lockStatement(owners, { nowMs: this.#nowMs() });
  }

  #statement(step: Step, isBite: boolean): Statement {
    const nowMs = this.#nowMs();
    return step.kind === "group"
      ? groupStatement(step.changes, { nowMs })
      : singleStatement(step, {
        nowMs,
        maxRows: isBite ? REMOVAL_ROWS : undefined,
      });
  }
}
