/**
 * Pages of lists: streams merged, the work of a page bounded.
 *
 * @module
 */

import type { TaskPage, TaskPosition, TaskQuery } from "../task_query.ts";
import { taskNumber } from "../task_id.ts";
import { isBoundedBySort } from "./list_conditions.ts";
import { listSources } from "./list_sources.ts";
import { comparePlaces, type ListPlace, ListStream } from "./list_stream.ts";
import type { Names } from "./names.ts";
import type { Reader } from "./reader.ts";
import type { TaskReads } from "./task_reads.ts";

/** Most rows that a page looks at, beside the first look at each stream. */
const MAX_LOOKED_AT = 20_000;
/** Most tasks that are counted. */
const MAX_COUNTED = 10_000;
/** Rows that are looked at together. */
const FILTERED_PIECE = 1_000;
const LEAST_PIECE = 8;

/** What reading lists needs. */
export interface ListParts {
  /** The connection. */
  readonly reader: Reader;
  /** Numbers of tenants and workers. */
  readonly names: Names;
  /** Reads the tasks of a page. */
  readonly tasks: TaskReads;
}

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

  /** A page of a list. */
  page(query: TaskQuery): TaskPage {
    return this.#parts.reader.snapshot(() => {
      const { places, next } = this.#merge(query);
      const tasks = this.#parts.tasks.numbered(places.map(({ n }) => n));
      // Large payloads may have cut the page.
      const last = tasks.length < places.length
        ? places[tasks.length - 1]
        : next;
      return {
        tasks,
        ...(last === undefined ? {} : { next: this.#positionOf(last) }),
        ...(query.count === true ? { count: this.#count(query) } : {}),
      };
    });
  }

  #merge(query: TaskQuery): Merged {
    const { limit, order, after } = query;
    const streams = this.#streams(query, after);
    const piece = pieceOf(streams, limit);
    let left = MAX_LOOKED_AT;
    for (const { stream } of streams) left -= stream.read(piece);
    const places: ListPlace[] = [];
    while (true) {
      for (const { stream } of streams) {
        while (stream.head === undefined && !stream.isExhausted && left > 0) {
          left -= stream.read(piece);
        }
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

  #count(query: TaskQuery): { value: number; isExact: boolean } {
    let value = 0;
    let left = MAX_LOOKED_AT;
    for (const { stream } of this.#streams(query, undefined)) {
      while (!stream.isExhausted) {
        if (left <= 0 || value > MAX_COUNTED) break;
        left -= stream.read(FILTERED_PIECE);
        while (stream.head !== undefined) {
          stream.shift();
          value++;
        }
      }
      if (!stream.isExhausted) {
        return { value: Math.min(value, MAX_COUNTED), isExact: false };
      }
    }
    return {
      value: Math.min(value, MAX_COUNTED),
      isExact: value <= MAX_COUNTED,
    };
  }

  #streams(
    query: TaskQuery,
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
