/**
 * The tasks that may be taken from a worker, group by group.
 *
 * @module
 */

import { numberOf, type Reader } from "./reader.ts";

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
