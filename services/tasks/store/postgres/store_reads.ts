/**
 * The readers of the store on PostgreSQL, and what they learn from writes and
 * notices.
 *
 * @module
 */

import type { Runner } from "../../../shared/postgres/session.ts";
import type { StoreTime } from "../../../shared/postgres/store_time.ts";
import { computePlacement } from "../../domain/placement.ts";
import type { Task } from "../../domain/task.ts";
import type { Notice } from "../instances.ts";
import { CandidateReads } from "./candidate_reads.ts";
import { DueFloors, type FloorMisses } from "./due_floors.ts";
import { EventReads } from "./event_log.ts";
import { HistoryReads } from "./history_reads.ts";
import type { InternedNames } from "./interned_names.ts";
import { KeptReads } from "./kept_reads.ts";
import type { KnownTasks } from "./known_tasks.ts";
import { ListReads } from "./list_reads.ts";
import type { PreparedTransaction } from "./prepared_write.ts";
import { RecordReads } from "./record_reads.ts";
import { StatusReads } from "./status_reads.ts";
import { TaskReads } from "./task_reads.ts";
import { WakingReads } from "./waking_reads.ts";

/** All readers over one pool. */
export class StoreReads {
  /** Tasks by their ids and keys. */
  readonly tasks: TaskReads;
  /** Tasks that wake. */
  readonly waking: WakingReads;
  /** Tasks that may be started. */
  readonly candidates: CandidateReads;
  /** Pages of tasks. */
  readonly lists: ListReads;
  /** Counts, and scans of all tasks. */
  readonly statuses: StatusReads;
  /** Histories of tasks. */
  readonly histories: HistoryReads;
  /** Records, answers, usage and the audit log. */
  readonly records: RecordReads;
  /** Events. */
  readonly events: EventReads;
  /** What is counted as tasks change. */
  readonly kept: KeptReads;
  readonly #names: InternedNames;
  readonly #known: KnownTasks;
  readonly #floors: DueFloors;

  /** Opens the readers with empty floors. */
  constructor(
    runner: Runner,
    { names, known, clock }: {
      readonly names: InternedNames;
      readonly known: KnownTasks;
      readonly clock: StoreTime;
    },
  ) {
    const parts = { runner, known };
    this.#names = names;
    this.#known = known;
    this.#floors = new DueFloors(() => clock.monotonicMs());
    this.tasks = new TaskReads(parts, names);
    this.waking = new WakingReads(parts, clock);
    this.candidates = new CandidateReads(parts, {
      names,
      floors: this.#floors,
    });
    this.lists = new ListReads(parts, names);
    this.statuses = new StatusReads(parts, names);
    this.histories = new HistoryReads(runner);
    this.records = new RecordReads(runner);
    this.events = new EventReads(runner);
    this.kept = new KeptReads(parts, names);
  }

  /** Lowers the floors to what was written. */
  noteWritten(transactions: readonly PreparedTransaction[]): void {
    for (const writes of transactions) {
      for (const write of writes) {
        if (!("state" in write)) continue;
        const { rank, wakeAtMs, tenantId, workerId, job, group } = write;
        // New tasks are mostly read before they are changed.
        if (write.kind !== "create") this.#known.note(write.next);
        if (wakeAtMs !== undefined) this.waking.lower(wakeAtMs);
        if (rank === undefined) continue;
        const lane = this.#names.laneNumber(tenantId, workerId);
        this.#floors.lower(lane, { job, group, rank });
      }
    }
  }

  /** Lowers the floors to tasks that were shown and not started. */
  noteLeft(tasks: readonly Task[]): void {
    for (const task of tasks) {
      const { rank } = computePlacement(task);
      if (rank === undefined) continue;
      const { job, group } = task;
      const lane = this.#names.laneNumber(task.tenantId, task.workerId);
      this.#floors.lower(lane, { job, group, rank });
    }
  }

  /** Lowers the floors to what another instance has written. */
  noteHeard(notice: Notice): void {
    if (notice.kind === "wake") this.waking.lower(notice.atMs);
    if (notice.kind !== "due" || notice.task === undefined) return;
    // A worker that was never asked for has no floors.
    const lane = this.#names.peekLane(notice);
    if (lane !== undefined) this.#floors.lower(lane, notice.task);
  }

  /** Gives, once each, what looks have found below floors. */
  takeFloorMisses(): FloorMisses {
    return this.#floors.takeMisses();
  }

  /** Forgets all floors, as notices may have been lost. */
  noteGap(): void {
    this.#floors.clear();
    this.waking.clear();
  }
}
