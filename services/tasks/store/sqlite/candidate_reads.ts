/**
 * Finds the tasks that a claim proposes: groups take turns, and within a group
 * the lowest rank is first.
 *
 * @module
 */

import { Buffer } from "node:buffer";
import type { Task } from "../../domain/task.ts";
import type { Claim, DueWorkersQuery, WorkerName } from "../queries.ts";
import { type Reader, readNumber, readText } from "./reader.ts";
import type { ReadParts } from "./task_reads.ts";

/**
 * The most groups without room that a claim skips. The next claim continues
 * after the last of them.
 */
const MAX_PASSED_GROUPS = 1_000;

/** A group whose turn it is. */
interface Turn {
  readonly group: string;
  /** The most tasks that may be taken from the group. */
  readonly room: number;
}

/** Finds tasks that workers may take. */
export class CandidateReads {
  readonly #parts: ReadParts;
  /**
   * Where the walk over a worker's groups stopped because it became too long,
   * by the number of the worker's queue.
   */
  readonly #walkEnds = new Map<number, string>();

  /** Takes the reader and what it needs. */
  constructor(parts: ReadParts) {
    this.#parts = parts;
  }

  /** The tasks that a claim may take. */
  candidates(claim: Claim): readonly Task[] {
    const { reader, interned, tasks } = this.#parts;
    const queueId = interned.queueId(claim.tenantId, claim.workerId);
    if (queueId === undefined || claim.limit <= 0) return [];
    return reader.snapshot(() => tasks.numbered(this.#numbers(claim, queueId)));
  }

  /** The workers with tasks that may be taken. */
  workers({ limit, after }: DueWorkersQuery): readonly WorkerName[] {
    const { reader, interned } = this.#parts;
    return reader.snapshot(() => {
      let queueId = after === undefined
        ? 0
        : interned.queueId(after.tenantId, after.workerId) ?? 0;
      const workers: WorkerName[] = [];
      while (workers.length < limit) {
        const row = reader.row(
          "SELECT lane FROM tasks INDEXED BY tasks_to_take " +
            "WHERE lane > ? AND rank IS NOT NULL ORDER BY lane LIMIT 1",
          queueId,
        );
        if (row === undefined) break;
        queueId = readNumber(row, "lane");
        const named = reader.row(
          "SELECT tenant, worker FROM lanes WHERE lane = ?",
          queueId,
        );
        if (named === undefined) continue;
        workers.push({
          tenantId: interned.tenantId(readNumber(named, "tenant")),
          workerId: readText(named, "worker"),
        });
      }
      return workers;
    });
  }

  #numbers(claim: Claim, queueId: number): readonly number[] {
    const { limit, jobs } = claim;
    const source = new GroupSource(this.#parts.reader, { queueId, jobs });
    const turns = this.#turns(claim, { queueId, source });
    if (turns.length === 0) return [];
    function readFirst(
      { group, room }: Turn,
      count: number,
    ): readonly number[] {
      return source.numbers(group, Math.min(room, count));
    }
    // Each group first gives its share; it gives more only if other groups have
    // less.
    const share = Math.ceil(limit / turns.length);
    let queues = turns.map((turn) => readFirst(turn, share));
    const found = queues.reduce((sum, queue) => sum + queue.length, 0);
    if (found < limit) {
      queues = turns.map((turn, index) => {
        const queue = queues[index] ?? [];
        return queue.length < share || turn.room <= share
          ? queue
          : readFirst(turn, limit);
      });
    }
    return inTurns(queues, limit);
  }

  /**
   * The groups with room in the order of their turns, at most as many as tasks
   * are wanted.
   */
  #turns(
    { limit, room, afterGroup }: Claim,
    { queueId, source }: {
      readonly queueId: number;
      readonly source: GroupSource;
    },
  ): readonly Turn[] {
    const start = this.#walkEnds.get(queueId) ?? afterGroup;
    this.#walkEnds.delete(queueId);
    const turns: Turn[] = [];
    let passed = 0;
    let hasWrapped = start === undefined;
    let group = start;
    while (turns.length < limit) {
      group = source.groupAfter(group);
      if (group === undefined) {
        if (hasWrapped) break;
        hasWrapped = true;
        continue;
      }
      if (
        hasWrapped && start !== undefined && isBefore(start, group)
      ) break;
      const left = group === "" ? Infinity : room?.(group) ?? Infinity;
      if (left > 0) turns.push({ group, room: left });
      else if (++passed >= MAX_PASSED_GROUPS) {
        this.#walkEnds.set(queueId, group);
        break;
      }
    }
    return turns;
  }
}

/** Takes the first of each queue, then the second of each, and so on. */
function inTurns(
  queues: readonly (readonly number[])[],
  limit: number,
): readonly number[] {
  const numbers: number[] = [];
  for (let round = 0; numbers.length < limit; round++) {
    const before = numbers.length;
    for (const queue of queues) {
      const n = queue[round];
      if (n !== undefined && numbers.length < limit) numbers.push(n);
    }
    if (numbers.length === before) break;
  }
  return numbers;
}

/** A part of a worker's queue that a single index orders by group and rank. */
interface QueuePart {
  readonly index: string;
  /** The SQL condition of the part's rows. */
  readonly where: string;
  readonly values: readonly (string | number)[];
}

/** The tasks of a worker that may be taken: all, or those of certain jobs. */
class GroupSource {
  readonly #reader: Reader;
  readonly #parts: readonly QueuePart[];

  constructor(
    reader: Reader,
    { queueId, jobs }: {
      readonly queueId: number;
      readonly jobs: readonly string[] | undefined;
    },
  ) {
    this.#reader = reader;
    this.#parts = jobs === undefined
      ? [{ index: "tasks_to_take", where: "lane = ?", values: [queueId] }]
      : [...new Set(jobs)].map((job) => ({
        index: "tasks_to_take_by_job",
        where: "lane = ? AND job = ?",
        values: [queueId, job],
      }));
  }

  /** The first group after another one, or the first of all. */
  groupAfter(group: string | undefined): string | undefined {
    let first: string | undefined;
    for (const { index, where, values } of this.#parts) {
      const found = this.#reader.text(
        `SELECT grp FROM tasks INDEXED BY ${index} WHERE ${where} ` +
          `AND grp ${group === undefined ? ">=" : ">"} ? ` +
          "AND rank IS NOT NULL ORDER BY grp LIMIT 1",
        ...values,
        group ?? "",
      );
      if (found === undefined) continue;
      if (first === undefined || isBefore(found, first)) first = found;
    }
    return first;
  }

  /** The numbers of a group's first tasks, in the order of their rank. */
  numbers(group: string, limit: number): readonly number[] {
    const found = this.#parts.flatMap(({ index, where, values }) =>
      this.#reader.rows(
        `SELECT n, rank FROM tasks INDEXED BY ${index} WHERE ${where} ` +
          "AND grp = ? AND rank IS NOT NULL ORDER BY rank, n LIMIT ?",
        ...values,
        group,
        limit,
      ).map((row) => ({
        n: readNumber(row, "n"),
        rank: readNumber(row, "rank"),
      }))
    );
    if (this.#parts.length > 1) {
      found.sort((left, right) => left.rank - right.rank || left.n - right.n);
    }
    return found.slice(0, limit).map(({ n }) => n);
  }
}

/** Compares texts as the database does: by their bytes in UTF-8. */
export function isBefore(left: string, right: string): boolean {
  return Buffer.compare(Buffer.from(left), Buffer.from(right)) < 0;
}
