/**
 * What pull workers do: wait for tasks, keep their leases, and say how it went.
 *
 * @module
 */

import type { Clock, Timer } from "../../shared/clock.ts";
import { type Soon, soon } from "../../shared/settled.ts";
import type { Task } from "../domain/task.ts";
import type { LeaseProof, TaskEvent } from "../domain/task_event.ts";
import type {
  ConflictReason,
  EventOutcome,
  EventRequest,
  Settled,
  TaskChanges,
} from "./changes.ts";
import type { Demand, Grant } from "./claim_demand.ts";
import type { Claims } from "./claims.ts";
import { sha256 } from "../store/digest.ts";
import { taskOfLease } from "./lease_id.ts";
import type { Write } from "../store/store.ts";
import type { Liveness } from "./liveness.ts";
import { RecentTasks } from "./recent_tasks.ts";

/** A worker's wish for tasks. */
export interface LeaseWish {
  /** The tenant. */
  readonly tenantId: string;
  /** The worker's id. */
  readonly workerId: string;
  /** Most tasks. */
  readonly max: number;
  /** How long to wait for the first one; the store is asked once in any case. */
  readonly waitMs: number;
  /** Only tasks of these jobs; all when absent. */
  readonly jobs?: readonly string[];
  /** How long the leases last; the worker's time when absent. */
  readonly leaseMs?: number;
  /** The worker's name for its process. */
  readonly instance?: string;
  /**
   * Tells whether whoever waits may still be given tasks; when it may not, it
   * goes home with none.
   * @default it may
   */
  readonly mayHave?: () => Soon<boolean>;
  /** Calls back when nobody waits for the answer any more. */
  readonly onGone?: (callback: () => void) => void;
}

/** Who holds a lease, or says so. */
export interface LeaseHolder {
  /** The tenant. */
  readonly tenantId: string;
  /** The lease's id. */
  readonly leaseId: string;
  /** The lease's token. */
  readonly token: string;
}

/** What a lease's holder says. */
export interface LeaseWord extends LeaseHolder {
  /** What is said, given the proof of the lease. */
  readonly event: (lease: LeaseProof, task: Task) => TaskEvent;
  /** What is written along with it; see {@linkcode EventRequest}. */
  readonly along?: (outcome: Settled) => readonly Write[];
}

/** What came of it. */
export type LeaseOutcome =
  | { readonly kind: "ok"; readonly task: Task; readonly isRepeated: boolean }
  /** The lease is not, or no longer, theirs. */
  | {
    readonly kind: "lease_gone";
    readonly reason: string;
    /** Whether it was theirs and its task was canceled. */
    readonly isCanceled: boolean;
  }
  /** There is no such lease. */
  | { readonly kind: "missing" }
  | { readonly kind: "conflict"; readonly reason: ConflictReason };

/** Options of {@linkcode Leases}. */
export interface LeasesOptions {
  /** Hands out tasks. */
  readonly claims: Claims;
  /** Changes tasks. */
  readonly changes: TaskChanges;
  /** Knows when workers were seen. */
  readonly liveness: Liveness;
  /** The time. */
  readonly clock: Clock;
}

/** The leases of pull workers. */
export class Leases {
  readonly #options: LeasesOptions;
  readonly #waiting = new Set<() => void>();
  /** Tasks that were handed out lately, to spare reading them at their end. */
  readonly #recent = new RecentTasks();
  #isStopped = false;

  /** Leases over claims and changes. */
  constructor(options: LeasesOptions) {
    this.#options = options;
    options.changes.onChange((_previous, next) => {
      if (next !== undefined) this.#recent.update(next);
    });
  }

  /**
   * Leases tasks; waits for the first one.
   *
   * @throws {Error} when the store failed at the last look, so that there may be
   * tasks that could not be claimed
   */
  async lease(wish: LeaseWish): Promise<readonly Grant[]> {
    const { claims, clock, liveness } = this.#options;
    const { tenantId, workerId, max, waitMs } = wish;
    liveness.seen({ tenantId, workerId }, {
      ...(wish.instance === undefined ? {} : { instance: wish.instance }),
      nowMs: clock.nowMs(),
    });
    const answered = Promise.withResolvers<readonly Grant[]>();
    let isOpen = true;
    const close = (grants: readonly Grant[]): void => {
      isOpen = false;
      answered.resolve(grants);
    };
    const { mayHave } = wish;
    const demand: Demand = {
      max: () => isOpen ? max : 0,
      ...(wish.jobs === undefined ? {} : { jobs: wish.jobs }),
      ...(wish.leaseMs === undefined ? {} : { leaseMs: wish.leaseMs }),
      ...(wish.instance === undefined ? {} : { instance: wish.instance }),
      ...(mayHave === undefined ? {} : {
        askAgain: () =>
          soon(mayHave(), (may) => {
            if (!may) close([]);
          }),
      }),
      isPush: false,
      actorId: workerId,
      isLasting: false,
      take: (grants) => {
        if (!isOpen) return false;
        close(grants);
        return true;
      },
    };
    const giveUp = (): void => close([]);
    // What is being claimed is waited for: it would only have to be given back.
    const end = (): void => {
      void claims.lastLook({ tenantId, workerId }, demand).then((failure) => {
        if (failure === undefined || !isOpen) return giveUp();
        isOpen = false;
        answered.reject(failure.error);
      });
    };
    let timer: Timer | undefined;
    wish.onGone?.(giveUp);
    this.#waiting.add(giveUp);
    try {
      if (!claims.add({ tenantId, workerId }, demand)) return [];
      if (waitMs > 0 && !this.#isStopped) timer = clock.setTimer(end, waitMs);
      else end();
      const grants = await answered.promise;
      for (const { task } of grants) this.#recent.add(task);
      return grants;
    } finally {
      timer?.cancel();
      this.#waiting.delete(giveUp);
      claims.remove({ tenantId, workerId }, demand);
    }
  }

  /** Lets all who wait go home with nothing, as the server stops; nobody waits from now on. */
  stop(): void {
    this.#isStopped = true;
    for (const giveUp of [...this.#waiting]) giveUp();
  }

  /**
   * Whether somebody holds a lease, as far as is known without reading. A lease
   * that is not known may be held all the same.
   */
  isHeldBy({ tenantId, leaseId, token }: LeaseHolder): boolean {
    const task = this.#recent.get(taskOfLease(leaseId) ?? "");
    return task?.tenantId === tenantId && task.attempt?.id === leaseId &&
      task.attempt.tokenHash === sha256(token);
  }

  /** Hears what the holder of a lease says. */
  async say(word: LeaseWord): Promise<LeaseOutcome> {
    const [outcome] = await this.sayAll([word]);
    return outcome ?? { kind: "missing" };
  }

  /** Hears what the holders of different leases say, in one commit. */
  async sayAll(
    words: readonly LeaseWord[],
  ): Promise<readonly LeaseOutcome[]> {
    const known = words.map(({ leaseId }) => taskOfLease(leaseId));
    const requests = words.flatMap((word, index): EventRequest[] => {
      const id = known[index];
      return id === undefined ? [] : [this.#request(word, id)];
    });
    const outcomes = await this.#options.changes.applyAll(requests);
    let next = 0;
    return words.map((word, index) => {
      if (known[index] === undefined) return { kind: "missing" };
      return outcomeOf(outcomes[next++], word);
    });
  }

  #request(word: LeaseWord, id: string): EventRequest {
    const { tenantId, leaseId, token, event, along } = word;
    const proof: LeaseProof = { id: leaseId, tokenHash: sha256(token) };
    const recent = this.#recent.get(id);
    return {
      tenantId,
      id,
      event: (task) => event(proof, task),
      actor: (task) => ({ type: "worker", id: task.workerId }),
      ...(recent?.tenantId === tenantId ? { known: recent } : {}),
      ...(along === undefined ? {} : { along }),
    };
  }
}

function outcomeOf(
  outcome: EventOutcome | undefined,
  { leaseId, token }: LeaseWord,
): LeaseOutcome {
  switch (outcome?.kind) {
    case "changed":
      return { kind: "ok", task: outcome.task, isRepeated: false };
    case "unchanged":
      return { kind: "ok", task: outcome.task, isRepeated: true };
    case "refused": {
      const { settled } = outcome.task;
      return {
        kind: "lease_gone",
        reason: outcome.reason,
        isCanceled: settled?.id === leaseId &&
          settled.outcome === "canceled" &&
          settled.tokenHash === sha256(token),
      };
    }
    case "conflict":
      return outcome;
    case "purged":
    case "missing":
    case undefined:
      return { kind: "missing" };
  }
}
