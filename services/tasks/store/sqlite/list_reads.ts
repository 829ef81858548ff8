/**
 * Pages of lists: streams merged, the work of a page bounded.
 *
 * @module
 */

import type { Task } from "../../domain/task.ts";
import type { TaskPage, TaskPosition, TaskQuery } from "../task_query.ts";
import { taskNumber } from "../task_id.ts";
import { isBoundedBySort } from "./list_conditions.ts";
import { listSources } from "./list_sources.ts";
import { comparePlaces, type ListPlace, ListStream } from "./list_stream.ts";
import type { Names } from "./names.ts";
import type { PiecewiseRead } from "./read_turns.ts";
import type { Reader } from "./reader.ts";
import {
  MAX_ANSWER_CHARS,
  payloadChars,
  type TaskReads,
} from "./task_reads.ts";

/** Most rows that a page looks at, beside the first look at each stream. */
const MAX_LOOKED_AT = 20_000;
/** Most tasks that are counted. */
const MAX_COUNTED = 10_000;
/** Rows that are looked at together when their filter has no index. */
const FILTERED_PIECE = 64;
const LEAST_PIECE = 8;
/** After so long a page is interrupted, so that others have their turn. */
const PIECE_MS = 2;
/** Most characters of payloads that are read in one piece. */
const MAX_PIECE_CHARS = 1_000_000;

/** What reading lists needs. */
export interface ListParts {
  /** The connection. */
  readonly reader: Reader;
  /** Numbers of tenants and workers. */
  readonly names: Names;
  /** Reads the tasks of a page. */
  readonly tasks: TaskReads;
  /** Tells how long reading has gone on. */
  readonly monotonicMs: () => number;
}

/** What a piece of a page asks for. */
type PieceQuery = Omit<TaskQuery, "after"> & {
  readonly after: TaskPosition | undefined;
};

/** What merging streams came to. */
interface Merged {
  readonly places: readonly ListPlace[];
  /** Where to go on; undefined when nothing is left. */
  readonly next: ListPlace | undefined;
}

/** Reads lists. */
export class ListReads {
  readonly #parts: ListParts;

  /** Reads from `parts`. */
  constructor(parts: ListParts) {
    this.#parts = parts;
  }

  /**
   * A page of a list, in pieces of some milliseconds. Each piece is of one state
   * of the database and goes on behind the place where the one before ended, so
   * they join as pages do: no task that stays where it is is left out.
   */
  *page(query: TaskQuery): PiecewiseRead<TaskPage> {
    const tasks = new Map<string, Task>();
    const room = { rows: MAX_LOOKED_AT, chars: MAX_ANSWER_CHARS };
    let after = query.after;
    do {
      const limit = query.limit - tasks.size;
      const piece = this.#piece({ ...query, limit, after }, room);
      for (const task of piece.tasks) {
        room.chars -= payloadChars(task);
        // One that moved on meanwhile is met again.
        if (!tasks.has(task.id)) tasks.set(task.id, task);
      }
      after = piece.next;
      yield;
    } while (
      after !== undefined && tasks.size < query.limit &&
      room.rows > 0 && room.chars > 0
    );
    return {
      tasks: [...tasks.values()],
      ...(after === undefined ? {} : { next: after }),
      ...(query.count === true ? { count: yield* this.#count(query) } : {}),
    };
  }

  /** Goes on with a page until it is full or has taken long enough. */
  #piece(
    query: PieceQuery,
    room: { rows: number; readonly chars: number },
  ): Pick<TaskPage, "tasks" | "next"> {
    return this.#parts.reader.snapshot(() => {
      const { places, next } = this.#merge(query, room);
      const tasks = this.#parts.tasks.numbered(
        places.map(({ n }) => n),
        Math.min(MAX_PIECE_CHARS, room.chars),
      );
      // Large payloads may have cut it.
      const last = tasks.length < places.length
        ? places[tasks.length - 1]
        : next;
      return {
        tasks,
        ...(last === undefined ? {} : { next: this.#positionOf(last) }),
      };
    });
  }

  #merge(
    { after, ...query }: PieceQuery,
    room: { rows: number },
  ): Merged {
    const { limit, order } = query;
    const { monotonicMs } = this.#parts;
    const endMs = monotonicMs() + PIECE_MS;
    const streams = this.#streams(query, after);
    const piece = pieceOf(streams, limit);
    for (const { stream } of streams) room.rows -= stream.read(piece);
    const places: ListPlace[] = [];
    while (true) {
      for (const { stream } of streams) {
        while (
          isStarved(stream) && room.rows > 0 && monotonicMs() < endMs
        ) room.rows -= stream.read(piece);
      }
      if (streams.some(({ stream }) => isStarved(stream))) {
        return cutShort(places, { streams, limit, order });
      }
      const first = firstOf(streams, order);
      if (first?.head === undefined) return { places, next: undefined };
      if (places.length === limit) return { places, next: places.at(-1) };
      places.push(first.head);
      first.shift();
    }
  }

  *#count(
    query: TaskQuery,
  ): PiecewiseRead<{ value: number; isExact: boolean }> {
    const streams = this.#parts.reader.snapshot(() =>
      this.#streams(query, undefined)
    );
    let value = 0;
    let left = MAX_LOOKED_AT;
    for (const { stream, isFiltered } of streams) {
      if (!isFiltered) value += stream.count(MAX_COUNTED + 1 - value);
      while (isFiltered && !stream.isExhausted && value <= MAX_COUNTED) {
        if (left <= 0) return { value, isExact: false };
        const { looked, fitting } = stream.skip(FILTERED_PIECE);
        left -= looked;
        value += fitting;
        yield;
      }
      if (value > MAX_COUNTED) return { value: MAX_COUNTED, isExact: false };
      yield;
    }
    return { value, isExact: true };
  }

  #streams(
    query: Omit<TaskQuery, "after">,
    after: TaskPosition | undefined,
  ): readonly OpenStream[] {
    const { reader } = this.#parts;
    const isBounded = isBoundedBySort(query);
    const range = {
      order: query.order,
      ...(isBounded ? { fromMs: query.fromMs, toMs: query.toMs } : {}),
      after: after && { at: after.sortMs, n: taskNumber(after.id) ?? 0 },
    };
    return listSources(query, this.#parts).map((source) => ({
      stream: new ListStream(reader, { source, range }),
      isFiltered: source.conditions.length > 0,
    }));
  }

  #positionOf(place: ListPlace): TaskPosition {
    const { reader } = this.#parts;
    const id = reader.text("SELECT id FROM tasks WHERE n = ?", place.n) ?? "";
    return { sortMs: place.at, id };
  }
}

interface OpenStream {
  readonly stream: ListStream;
  readonly isFiltered: boolean;
}

/** How many rows of each stream are looked at together. */
function pieceOf(streams: readonly OpenStream[], limit: number): number {
  const isFiltered = streams.some((stream) => stream.isFiltered);
  const wanted = isFiltered ? FILTERED_PIECE : 2 * limit;
  const share = Math.ceil(wanted / Math.max(1, streams.length));
  // One more than the limit tells whether there is a next page.
  return Math.max(LEAST_PIECE, share, streams.length === 1 ? limit + 1 : 0);
}

function isStarved(stream: ListStream): boolean {
  return stream.head === undefined && !stream.isExhausted;
}

function firstOf(
  streams: readonly OpenStream[],
  order: "asc" | "desc",
): ListStream | undefined {
  let first: ListStream | undefined;
  for (const { stream } of streams) {
    const { head } = stream;
    if (head === undefined) continue;
    const best = first?.head;
    if (best === undefined || comparePlaces(head, best, order) < 0) {
      first = stream;
    }
  }
  return first;
}

/** Ends a page whose work is spent: everything up to a place is known. */
function cutShort(
  places: ListPlace[],
  options: {
    readonly streams: readonly OpenStream[];
    readonly limit: number;
    readonly order: "asc" | "desc";
  },
): Merged {
  const { streams, limit, order } = options;
  let bound: ListPlace | undefined;
  for (const { stream: { isExhausted, frontier } } of streams) {
    if (isExhausted || frontier === undefined) continue;
    if (bound === undefined || comparePlaces(frontier, bound, order) < 0) {
      bound = frontier;
    }
  }
  while (places.length < limit && bound !== undefined) {
    const first = firstOf(streams, order);
    if (first?.head === undefined) break;
    if (comparePlaces(first.head, bound, order) > 0) break;
    places.push(first.head);
    first.shift();
  }
  return { places, next: places.length === limit ? places.at(-1) : bound };
}
