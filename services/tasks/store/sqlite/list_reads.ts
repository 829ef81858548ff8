/**
 * Reads pages of lists by merging ordered streams, with a limit on the work of
 * a page.
 *
 * @module
 */

import type { Task } from "../../domain/task.ts";
import type { TaskPage, TaskPosition, TaskQuery } from "../queries.ts";
import { leastTaskId, taskNumber } from "../task_id.ts";
import { MAX_COUNTED, MAX_LOOKED_AT, sortWindow } from "../list_query.ts";
import { listSources } from "./list_sources.ts";
import {
  comparePlaces,
  type ListPlace,
  ListStream,
  type StreamRange,
} from "./list_stream.ts";
import type { PiecewiseRead } from "./read_turns.ts";
import {
  MAX_ANSWER_CHARS,
  payloadChars,
  type ReadParts,
} from "./task_reads.ts";

/** How many rows are read together when their filter has no index. */
const FILTERED_PIECE = 64;
/** How many rows all streams together may read ahead of each other. */
const FILTERED_AHEAD = 256;
/** How many rows a read takes from one of several streams, or first takes. */
const LEAST_PIECE = 16;
/**
 * After this many milliseconds a page is interrupted, so that other reads get
 * their turn.
 */
const PIECE_MS = 2;
/** The most characters of payloads that one piece reads. */
const MAX_PIECE_CHARS = 1_000_000;

/** The query of a piece of a page. */
type PieceQuery = Omit<TaskQuery, "after"> & {
  readonly after: ListPlace | undefined;
};

/** The result of merging streams. */
interface Merged {
  readonly places: readonly ListPlace[];
  /**
   * The place after which the next piece begins; undefined when no rows are
   * left.
   */
  readonly next: ListPlace | undefined;
}

/** Reads lists of tasks. */
export class ListReads {
  readonly #parts: ReadParts;

  /** Takes the reader and what it needs. */
  constructor(parts: ReadParts) {
    this.#parts = parts;
  }

  /**
   * Reads a page of a list in pieces of a few milliseconds. Each piece sees one
   * state of the database and continues after the place where the previous one
   * ended, so no task that keeps its place is left out.
   */
  *page(query: TaskQuery): PiecewiseRead<TaskPage> {
    const tasks = new Map<string, Task>();
    const room = { rows: MAX_LOOKED_AT, chars: MAX_ANSWER_CHARS };
    let after = toPlace(query.after);
    do {
      const limit = query.limit - tasks.size;
      const piece = this.#piece({ ...query, limit, after }, room);
      for (const task of piece.tasks) {
        room.chars -= payloadChars(task);
        // A task whose place changed between two pieces may be found twice.
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
      next: after && toPosition(after),
      count: query.count === true ? yield* this.#count(query) : undefined,
    };
  }

  /** Continues a page until it is full or has taken long enough. */
  #piece(
    query: PieceQuery,
    room: { rows: number; readonly chars: number },
  ): { readonly tasks: readonly Task[]; readonly next: ListPlace | undefined } {
    return this.#parts.reader.snapshot(() => {
      const { places, next } = this.#merge(query, room);
      const tasks = this.#parts.tasks.numbered(
        places.map(({ n }) => n),
        Math.min(MAX_PIECE_CHARS, room.chars),
      );
      // The limit on payloads may have cut the piece.
      const isCut = tasks.length < places.length;
      return { tasks, next: isCut ? places[tasks.length - 1] : next };
    });
  }

  #merge(
    { after, ...query }: PieceQuery,
    room: { rows: number },
  ): Merged {
    const { limit, order } = query;
    const { monotonicMs } = this.#parts;
    const streams = this.#streams(query, { after, limit });
    const endMs = monotonicMs() + PIECE_MS;
    const unread = streams.values();
    let waiting = unread.next().value;
    let read: ListStream[] = [];
    const places: ListPlace[] = [];
    let mayRead = true;
    while (true) {
      const first = pickFirst(
        waiting === undefined ? read : [...read, waiting],
        order,
      );
      if (first === undefined) return { places, next: undefined };
      if (first.head !== undefined) {
        if (places.length === limit) return { places, next: places.at(-1) };
        places.push(first.head);
        first.shift();
        continue;
      }
      // No further place is known before more of this stream is read. Without a
      // place, the next piece would begin where this one did, so it reads on.
      const isStuck = first === waiting && places.length === 0;
      if (!mayRead && !(isStuck && room.rows > 0)) {
        return {
          places,
          next: places.length === limit ? places.at(-1) : first.end,
        };
      }
      room.rows -= first.read(computePieceSize(first, { streams, limit }));
      mayRead = room.rows > 0 && monotonicMs() < endMs;
      if (first === waiting) {
        read.push(first);
        waiting = unread.next().value;
      }
      if (first.isDone) read = read.filter((stream) => stream !== first);
    }
  }

  *#count(
    query: TaskQuery,
  ): PiecewiseRead<{ value: number; isExact: boolean }> {
    const streams = this.#parts.reader.snapshot(() =>
      this.#streams(query, { after: undefined })
    );
    let value = 0;
    let left = MAX_LOOKED_AT;
    for (const stream of streams) {
      const { isFiltered } = stream;
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
    { after, limit }: {
      readonly after: ListPlace | undefined;
      readonly limit?: number;
    },
  ): readonly ListStream[] {
    const { reader } = this.#parts;
    const window = sortWindow(query, after?.at);
    if (window === undefined) return [];
    const { isAfterInside, ...bounds } = window;
    const range: StreamRange = {
      order: query.order,
      ...bounds,
      // A place before the window does not limit the rows.
      after: isAfterInside ? after : undefined,
    };
    return listSources(query, this.#parts, { range, limit })
      .map((source) => new ListStream(reader, { source, range }));
  }
}

/** How many rows of a stream are read together. */
function computePieceSize(
  { isFiltered, hasRead }: ListStream,
  { streams, limit }: {
    readonly streams: readonly ListStream[];
    readonly limit: number;
  },
): number {
  if (isFiltered) {
    // Rows that are read ahead of other streams are read again in the next
    // piece.
    const share = Math.ceil(FILTERED_AHEAD / streams.length);
    return Math.min(hasRead ? FILTERED_PIECE : LEAST_PIECE, share);
  }
  // One row more than the limit tells whether there is a next page.
  return streams.length === 1 ? limit + 1 : LEAST_PIECE;
}

/** The stream that has, or may have, the first of the remaining rows. */
function pickFirst(
  streams: readonly ListStream[],
  order: "asc" | "desc",
): ListStream | undefined {
  let first: ListStream | undefined;
  for (const stream of streams) {
    if (stream.isDone) continue;
    const { bound } = stream;
    if (bound === undefined) return stream;
    const best = first?.bound;
    if (best === undefined || comparePlaces(bound, best, order) < 0) {
      first = stream;
    }
  }
  return first;
}

function toPlace(position: TaskPosition | undefined): ListPlace | undefined {
  return position &&
    { at: position.sortMs, n: taskNumber(position.id) ?? 0 };
}

function toPosition({ at, n }: ListPlace): TaskPosition {
  return { sortMs: at, id: leastTaskId(n) };
}
