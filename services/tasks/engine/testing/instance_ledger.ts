/**
 * Checks in a simulation what several instances do to each other's attempts: a
 * lease ends by the store's time alone, a call only with its instance, and when
 * an instance has died, others soon end its calls.
 *
 * @module
 */

import {
  type Beat,
  type BeatAnswer,
  DEAD_AFTER_MS,
  FENCED_AFTER_MS,
} from "../../../shared/members.ts";
import { type HistoryType, parseDraft } from "../../domain/history.ts";
import type { Attempt, Task } from "../../domain/task.ts";
import type {
  Transaction,
  TransactionResult,
  Write,
} from "../../store/store.ts";
import type { SimulationLedger } from "./simulation_ledger.ts";
import type { SteppingClock } from "../../../../tests/support/stepping_clock.ts";

/** After how long the calls of a dead instance have ended, in milliseconds. */
const TAKEN_OVER_MS = 12_000;
/**
 * The same after the start of the instance that has the store for itself, in
 * milliseconds.
 */
const RECOVERED_MS = 3_000;
/**
 * How long an instance that stood still may take to notice that it counted as
 * dead, in milliseconds.
 */
const NOTICING_MS = 1_000;

/** The process of an instance, as far as it is checked. */
interface Instance {
  /** Whether its process has ended. */
  readonly isDead: boolean;
  /** The machine that it runs on. */
  readonly machine: { readonly clock: { readonly wokeAtMs: number } };
}

/** A call of a push worker that goes on. */
interface OpenCall {
  readonly attemptId: string;
  readonly instance: Instance;
  /** When it ends by itself, in milliseconds of real passed time. */
  readonly untilMs: number;
}

/** Options of {@linkcode InstanceLedger}. */
export interface InstanceLedgerOptions {
  /** Records broken promises, and knows the tasks before a commit. */
  readonly ledger: SimulationLedger;
  /** The real time, which is that of the store. */
  readonly clock: SteppingClock;
  /** Whether there are several instances, with the store's own time. */
  readonly hasOwnTime: boolean;
}

/** Tracks and checks attempts by the instances that hold them. */
export class InstanceLedger {
  /** The last answer to each instance, and when it was given. */
  readonly answers = new Map<
    string,
    { readonly beat: Beat; readonly answer: BeatAnswer; readonly atMs: number }
  >();
  readonly #options: InstanceLedgerOptions;
  /** The instances by id; one that counted as dead has several. */
  readonly #instances = new Map<string, Instance>();
  readonly #calls = new Map<string, Set<OpenCall>>();
  /** Since when instances do not have the duty to sweep, by id. */
  readonly #withoutSweep = new Map<string, number>();
  /** Until when something is broken, in milliseconds of real passed time. */
  #brokenUntilMs = -Infinity;

  /** Starts without any instance. */
  constructor(options: InstanceLedgerOptions) {
    this.#options = options;
  }

  /** Notes an id that an instance takes, which no other one has. */
  joins(id: string, instance: Instance): void {
    if (this.#instances.has(id)) {
      this.#options.ledger.broken(`${id} is the id of two instances`);
    }
    this.#instances.set(id, instance);
  }

  /** The ids that an instance has taken. */
  idsOf(instance: Instance): readonly string[] {
    return [...this.#instances].flatMap(([id, one]) =>
      one === instance ? [id] : []
    );
  }

  /** Notes a beat that has reached the store. */
  beats(beat: Beat, answer: BeatAnswer): void {
    const atMs = this.#options.clock.elapsedMs;
    this.answers.set(beat.id, { beat, answer, atMs });
    const isHolder = answer.kind === "member" &&
      answer.duties.some(({ name, holder }) =>
        name === "sweep" && holder === beat.id
      );
    if (isHolder) this.#withoutSweep.delete(beat.id);
    else if (!this.#withoutSweep.has(beat.id)) {
      this.#withoutSweep.set(beat.id, atMs);
    }
  }

  /** Checks that an instance that sweeps has the duty, or had it until now. */
  sweeps(instance: Instance): void {
    const { ledger, clock } = this.#options;
    const id = this.idsOf(instance).at(-1) ?? "";
    const sinceMs = this.#withoutSweep.get(id) ?? Infinity;
    if (clock.elapsedMs - sinceMs <= FENCED_AFTER_MS) return;
    ledger.broken(`${id} sweeps, which is the duty of another one`);
  }

  /** Notes that something is broken, for as long as given. */
  noteTrouble(forMs: number): void {
    const untilMs = this.#options.clock.elapsedMs + forMs;
    this.#brokenUntilMs = Math.max(this.#brokenUntilMs, untilMs);
  }

  /**
   * Notes that an instance dies. When nothing else breaks, one of the others
   * has ended its calls soon.
   */
  dies(instance: Instance, others: readonly Instance[]): void {
    const wasBroken = this.#brokenUntilMs >= this.#options.clock.elapsedMs;
    this.noteTrouble(0);
    if (!this.#options.hasOwnTime || wasBroken) return;
    this.#expectEnds(TAKEN_OVER_MS, {
      by: others,
      isLeft: (caller) => caller === instance,
    });
  }

  /** Notes that an instance has started, which ends the calls before it. */
  starts(instance: Instance): void {
    if (this.#options.hasOwnTime) return;
    this.#expectEnds(RECOVERED_MS, {
      by: [instance],
      isLeft: (caller) => caller !== instance,
    });
  }

  #expectEnds(
    withinMs: number,
    { by, isLeft }: {
      readonly by: readonly Instance[];
      readonly isLeft: (caller: Instance | undefined) => boolean;
    },
  ): void {
    const { ledger, clock } = this.#options;
    const sinceMs = clock.elapsedMs;
    const left = [...ledger.tasks.values()].flatMap(({ id, attempt }) =>
      attempt?.bootId !== undefined &&
        isLeft(this.#instances.get(attempt.bootId))
        ? [{ taskId: id, attemptId: attempt.id }]
        : []
    );
    if (left.length === 0) return;
    clock.setTimer(() => {
      if (this.#brokenUntilMs > sinceMs || by.every((one) => one.isDead)) {
        return;
      }
      for (const { taskId, attemptId } of left) {
        const { attempt } = ledger.tasks.get(taskId) ?? {};
        // A call that was accepted goes on without the instance.
        if (attempt?.id !== attemptId || attempt.bootId === undefined) continue;
        ledger.broken(
          `${attemptId} still waits for ${attempt.bootId}, which has died`,
        );
      }
    }, withinMs);
  }

  /**
   * Notes that an instance makes a call.
   *
   * @returns a function that notes its end
   */
  calls(
    instance: Instance,
    { taskId, attemptId, timeoutMs }: {
      readonly taskId: string;
      readonly attemptId: string;
      readonly timeoutMs: number;
    },
  ): () => void {
    const { ledger, clock: { elapsedMs }, hasOwnTime } = this.#options;
    const open = this.#calls.get(taskId) ?? new Set();
    this.#calls.set(taskId, open);
    for (const other of hasOwnTime ? open : []) {
      const { isDead, machine: { clock: { wokeAtMs } } } = other.instance;
      const isOver = isDead || other.untilMs <= elapsedMs ||
        wokeAtMs + NOTICING_MS > elapsedMs ||
        ledger.canceledAttempts.has(other.attemptId);
      if (isOver) continue;
      ledger.broken(
        `${attemptId} is called while ${other.attemptId} goes on`,
      );
    }
    const call = { attemptId, instance, untilMs: elapsedMs + timeoutMs };
    open.add(call);
    return () => void open.delete(call);
  }

  /** Checks a commit that was applied, before the ledger knows it. */
  applied(
    transactions: readonly Transaction[],
    results: readonly TransactionResult[],
  ): void {
    if (!this.#options.hasOwnTime) return;
    for (const [index, { writes }] of transactions.entries()) {
      const result = results[index];
      if (result?.kind !== "ok") {
        const isTaken = result?.reason === "version";
        if (isTaken) this.#checkId(writes[result.write]);
        continue;
      }
      for (const write of writes) {
        if (write.kind !== "task" || write.next === undefined) continue;
        const previous = this.#options.ledger.tasks.get(write.id);
        for (const { type } of write.history.map(parseDraft)) {
          if (type === "started") this.#checkStart(previous, write.next);
          if (previous?.attempt !== undefined) {
            this.#checkEnd(previous.attempt, type);
          }
        }
        this.#checkTimes(previous?.attempt, write.next.attempt);
      }
    }
  }

  /** No task is refused because there is another one with its id. */
  #checkId(refused: Write | undefined): void {
    if (refused?.kind !== "task" || refused.expectedVersion !== 0) return;
    this.#options.ledger.broken(`the id ${refused.id} was given twice`);
  }

  #checkStart(previous: Task | undefined, { id, attempt }: Task): void {
    const { ledger, clock } = this.#options;
    const earlyMs = (previous?.dateMs ?? Infinity) - clock.nowMs();
    if (earlyMs > 0) ledger.broken(`${id} was started ${earlyMs} ms early`);
    const aheadMs = (attempt?.startedAtMs ?? 0) - clock.nowMs();
    if (aheadMs > 0) ledger.broken(`${id} started ${aheadMs} ms in the future`);
  }

  #checkEnd(attempt: Attempt, type: HistoryType): void {
    const { ledger, clock } = this.#options;
    const nowMs = clock.nowMs();
    const { id, expiresAtMs, deadlineMs, bootId } = attempt;
    if (type === "timed_out" && nowMs < deadlineMs) {
      ledger.broken(`${id} timed out ${deadlineMs - nowMs} ms early`);
    }
    if (type !== "lost" || nowMs >= Math.min(expiresAtMs, deadlineMs)) return;
    if (bootId === undefined) {
      ledger.broken(`${id} was lost ${expiresAtMs - nowMs} ms early`);
    } else if (!this.#mayBeDead(bootId)) {
      ledger.broken(`${id} was ended, and ${bootId} is alive`);
    }
  }

  /** The times of an attempt are those of the store, and nobody moves them. */
  #checkTimes(before: Attempt | undefined, next: Attempt | undefined): void {
    if (before === undefined || before.id !== next?.id) return;
    if (before.startedAtMs === next.startedAtMs) return;
    const byMs = next.startedAtMs - before.startedAtMs;
    this.#options.ledger.broken(`${next.id} was shifted by ${byMs} ms`);
  }

  #mayBeDead(id: string): boolean {
    if (this.#instances.get(id)?.isDead !== false) return true;
    const last = this.answers.get(id);
    return last?.answer.kind === "expired" || last !== undefined &&
        this.#options.clock.elapsedMs - last.atMs > DEAD_AFTER_MS;
  }
}
