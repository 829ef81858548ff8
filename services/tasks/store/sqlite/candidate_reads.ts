/**
 * Proposals for claims: groups take turns, the first tasks of each first.
 *
 * @module
 */

import type { Task } from "../../domain/task.ts";
import type { Claim, WorkerPosition } from "../store.ts";
import type { Names } from "./interned_ids.ts";
import { numberOf, type Reader, textOf } from "./reader.ts";
import type { TaskReads } from "./task_reads.ts";

/**
 * Most groups without room that a claim walks over, beside those that the claim
 * names as full. The next claim goes on where it ended.
 */
const MAX_PASSED_GROUPS = 1_000;

/** What finding candidates needs. */
export interface CandidateParts {
  /** The connection. */
  readonly reader: Reader;
  /** Numbers of tenants and workers. */
  readonly names: Names;
  /** Reads the tasks that are proposed. */
  readonly tasks: TaskReads;
}

/** A group in turn. */
interface Turn {
  readonly group: string;
  /** Most tasks that may be taken of it. */
  readonly room: number;
}

/** Finds tasks that may be taken. */
export class CandidateReads {
  readonly #parts: CandidateParts;
  /** Where the walk over a worker's groups ended for being too long. */
  readonly #walkEnds = new Map<number, string>();

  /** Reads from `parts`. */
  constructor(parts: CandidateParts) {
    this.#parts = parts;
  }

  /** What each claim may take; no task is proposed twice. */
  candidates(claims: readonly Claim[]): readonly (readonly Task[])[] {
    return this.#parts.reader.snapshot(() => {
      const taken = new Map<number, Set<number>>();
      return claims.map((claim) => {
        const lane = this.#parts.names.lane(claim.tenantId, claim.workerId);
        if (lane === undefined || claim.limit <= 0) return [];
        const before = taken.get(lane) ?? new Set();
        taken.set(lane, before);
        const numbers = this.#numbers(claim, { lane, taken: before });
        for (const n of numbers) before.add(n);
        return this.#parts.tasks.numbered(numbers);
      });
    });
  }

  /** Workers that have tasks which may be taken. */
  workers(
    limit: number,
    after: WorkerPosition | undefined,
  ): readonly WorkerPosition[] {
    const { reader, names } = this.#parts;
    return reader.snapshot(() => {
      let lane = after === undefined
        ? 0
        : names.lane(after.tenantId, after.workerId) ?? 0;
      const workers: WorkerPosition[] = [];
      while (workers.length < limit) {
        const row = reader.row(
          "SELECT lane FROM tasks INDEXED BY tasks_to_take " +
            "WHERE lane > ? AND rank IS NOT NULL ORDER BY lane LIMIT 1",
          lane,
        );
        if (row === undefined) break;
        lane = numberOf(row, "lane");
        const named = reader.row(
          "SELECT tenant, worker FROM lanes WHERE lane = ?",
          lane,
        );
        if (named === undefined) continue;
        workers.push({
          tenantId: names.tenantId(numberOf(named, "tenant")),
          workerId: textOf(named, "worker"),
        });
      }
      return workers;
    });
  }

  #numbers(
    claim: Claim,
    options: { readonly lane: number; readonly taken: ReadonlySet<number> },
  ): readonly number[] {
    const { lane, taken } = options;
    const { limit, jobs } = claim;
    const source = groupSource(this.#parts.reader, { lane, jobs });
    const turns = this.#turns(claim, {
      lane,
      source,
      wanted: limit + taken.size,
    });
    if (turns.length === 0) return [];
    function firstOf({ group, room }: Turn, count: number): readonly number[] {
      return source.numbers(group, Math.min(room, count) + taken.size)
        .filter((n) => !taken.has(n))
        .slice(0, Math.min(room, count));
    }
    // Each gives its share first; only when some have less, the others give more.
    const share = Math.ceil(limit / turns.length);
    let queues = turns.map((turn) => firstOf(turn, share));
    const found = queues.reduce((sum, queue) => sum + queue.length, 0);
    if (found < limit) {
      queues = turns.map((turn, index) => {
        const queue = queues[index] ?? [];
        return queue.length < share || turn.room <= share
          ? queue
          : firstOf(turn, limit);
      });
    }
    return inTurns(queues, limit);
  }

  /** The groups with room, up to as many as are wanted, in the order of turns. */
  #turns(
    claim: Claim,
    options: {
      readonly lane: number;
      readonly source: GroupSource;
      readonly wanted: number;
    },
  ): readonly Turn[] {
    const { lane, source, wanted } = options;
    const { fullGroups, room } = claim;
    const start = this.#walkEnds.get(lane) ?? claim.afterGroup;
    this.#walkEnds.delete(lane);
    const turns: Turn[] = [];
    let passed = -(fullGroups?.size ?? 0);
    let hasWrapped = start === undefined;
    let group = start;
    while (turns.length < wanted) {
      group = source.groupAfter(group);
      if (group === undefined) {
        if (hasWrapped) break;
        hasWrapped = true;
        continue;
      }
      if (
        hasWrapped && start !== undefined && isBefore(start, group)
      ) break;
      const left = group === ""
        ? Infinity
        : fullGroups?.has(group) === true
        ? 0
        : room?.(group) ?? Infinity;
      if (left > 0) turns.push({ group, room: left });
      else if (++passed >= MAX_PASSED_GROUPS) {
        this.#walkEnds.set(lane, group);
        break;
      }
    }
    return turns;
  }
}

/** One of each queue, then another one of each. */
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

/** Finds groups and their tasks. */
export interface GroupSource {
  /** The first group behind another one, or the first of all. */
  groupAfter(group: string | undefined): string | undefined;
  /** The numbers of a group's first tasks by rank. */
  numbers(group: string, limit: number): readonly number[];
}

/** Options of {@linkcode groupSource}. */
export interface GroupSourceOptions {
  /** The worker's number. */
  readonly lane: number;
  /** Only tasks of these jobs. */
  readonly jobs?: readonly string[] | undefined;
}

/** The groups of a worker that have tasks which may be taken. */
export function groupSource(
  reader: Reader,
  options: GroupSourceOptions,
): GroupSource {
  const { lane, jobs } = options;
  return jobs === undefined
    ? new WholeSource(reader, lane)
    : new JobSource(reader, { lane, jobs: [...new Set(jobs)] });
}

class WholeSource implements GroupSource {
  readonly #reader: Reader;
  readonly #lane: number;

  constructor(reader: Reader, lane: number) {
    this.#reader = reader;
    this.#lane = lane;
  }

  groupAfter(group: string | undefined): string | undefined {
    return this.#reader.text(
      "SELECT grp FROM tasks INDEXED BY tasks_to_take " +
        `WHERE lane = ? AND grp ${group === undefined ? ">=" : ">"} ? ` +
        "AND rank IS NOT NULL ORDER BY grp LIMIT 1",
      this.#lane,
      group ?? "",
    );
  }

  numbers(group: string, limit: number): readonly number[] {
    return this.#reader.rows(
      "SELECT n FROM tasks INDEXED BY tasks_to_take " +
        "WHERE lane = ? AND grp = ? AND rank IS NOT NULL " +
        "ORDER BY rank, n LIMIT ?",
      this.#lane,
      group,
      limit,
    ).map((row) => numberOf(row, "n"));
  }
}

class JobSource implements GroupSource {
  readonly #reader: Reader;
  readonly #lane: number;
  readonly #jobs: readonly string[];

  constructor(
    reader: Reader,
    options: { readonly lane: number; readonly jobs: readonly string[] },
  ) {
    this.#reader = reader;
    this.#lane = options.lane;
    this.#jobs = options.jobs;
  }

  groupAfter(group: string | undefined): string | undefined {
    let first: string | undefined;
    for (const job of this.#jobs) {
      const found = this.#reader.text(
        "SELECT grp FROM tasks INDEXED BY tasks_to_take_by_job " +
          "WHERE lane = ? AND job = ? " +
          `AND grp ${group === undefined ? ">=" : ">"} ? ` +
          "AND rank IS NOT NULL ORDER BY grp LIMIT 1",
        this.#lane,
        job,
        group ?? "",
      );
      if (found === undefined) continue;
      if (first === undefined || isBefore(found, first)) first = found;
    }
    return first;
  }

  numbers(group: string, limit: number): readonly number[] {
    const places = this.#jobs.flatMap((job) =>
      this.#reader.rows(
        "SELECT n, rank FROM tasks INDEXED BY tasks_to_take_by_job " +
          "WHERE lane = ? AND job = ? AND grp = ? AND rank IS NOT NULL " +
          "ORDER BY rank, n LIMIT ?",
        this.#lane,
        job,
        group,
        limit,
      ).map((row) => ({ n: numberOf(row, "n"), rank: numberOf(row, "rank") }))
    );
    return places
      .sort((left, right) => left.rank - right.rank || left.n - right.n)
      .slice(0, limit)
      .map(({ n }) => n);
  }
}

const encoder = new TextEncoder();

/** Compares as the database does: byte by byte of UTF-8. */
export function isBefore(left: string, right: string): boolean {
  const [a, b] = [encoder.encode(left), encoder.encode(right)];
  for (let index = 0; index < a.length && index < b.length; index++) {
    const [x = 0, y = 0] = [a[index], b[index]];
    if (x !== y) return x < y;
  }
  return a.length < b.length;
}
