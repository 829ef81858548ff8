/**
 * Reads pages of lists by merging ordered sources, with a limit on the work of
 * a page.
 *
 * @module
 */

import type { Task } from "../../domain/task.ts";
import {
  type ListFilter,
  MAX_COUNTED,
  MAX_LOOKED_AT,
  MAX_RARE,
  sortWindow,
  wantedStatuses,
} from "../list_query.ts";
import type { TaskPage, TaskPosition, TaskQuery } from "../queries.ts";
import type { InternedNames } from "./interned_names.ts";
import {
  isFiltered,
  type ListSubject,
  lookSql,
  orderSql,
} from "./list_sources.ts";
import { SqlBuilder } from "../../../shared/postgres/sql_builder.ts";
import { decodeTasks, type ReadParts, selectFound } from "./task_rows.ts";

/** How many rows of each source are looked at first when they may not fit. */
const FIRST_ROWS = 50;
/** By how much more of each source is looked at each time. */
const GROWTH = 4;
/** The most sources of a list whose rows may not fit. */
const MAX_PAIRS = 1_000;

/** A row that was looked at. */
interface LookedAt {
  readonly source: number;
  readonly at: number;
  readonly id: string;
  readonly fits: boolean;
}

/** Reads lists of tasks. */
export class ListReads {
  readonly #parts: ReadParts;
  readonly #names: InternedNames;

  /** Takes what reading needs. */
  constructor(parts: ReadParts, names: InternedNames) {
    this.#parts = parts;
    this.#names = names;
  }

  /**
   * Reads a page of a list. Each look sees one state of the database and
   * continues where the previous one ended, so no task that keeps its place is
   * left out.
   */
  async page(query: TaskQuery): Promise<TaskPage> {
    const tag = await this.#pickTag(query);
    const counting = query.count === true ? this.#count(query, tag) : undefined;
    // A failure of one must not leave that of the other unheard.
    const [page, count] = await Promise.all([
      this.#places(query, tag),
      counting,
    ]);
    const tasks = await this.#read(page.places.map(({ id }) => id));
    const last = tasks.at(-1);
    // The limit on payloads may have cut the page.
    const isCut = last !== undefined &&
      last.id !== page.places.at(-1)?.id &&
      page.places.some(({ id }) => id === last.id);
    return {
      tasks,
      next: isCut ? page.places.find(({ id }) => id === last.id) : page.next,
      count,
    };
  }

  /**
   * The rarest tag of a query, if its tasks have to be looked at alone: those
   * of a frequent tag are in no order of dates.
   */
  async #pickTag(query: TaskQuery): Promise<string | undefined> {
    const { tenantId, tags = [], sort, key, repeats } = query;
    if (tags.length === 0 || sort === "date" && key !== undefined) {
      return undefined;
    }
    const tenant = await this.#names.tenant(tenantId);
    const [rarest] = await this.#parts.runner.query<
      { at: number; count: number }
    >(
      "SELECT of.at, (SELECT count(*) FROM (SELECT 1 FROM task_tags AS own " +
        "WHERE own.tenant = $1::integer AND own.tag = of.tag " +
        "LIMIT $3::bigint) AS first) AS count " +
        "FROM unnest($2::text[]) WITH ORDINALITY AS of(tag, at) " +
        "ORDER BY count, at LIMIT 1",
      [tenant ?? 0, tags.map((tag) => JSON.stringify(tag)), MAX_RARE + 1],
    );
    if (rarest === undefined) return undefined;
    const isInOrder = sort === "created_at" && repeats !== true;
    return rarest.count <= MAX_RARE || isInOrder
      ? tags[rarest.at - 1]
      : undefined;
  }

  /** The places of a page. */
  async #places(
    query: TaskQuery,
    tag: string | undefined,
  ): Promise<{
    readonly places: readonly TaskPosition[];
    readonly next: TaskPosition | undefined;
  }> {
    const places = new Map<string, TaskPosition>();
    let { after } = query;
    let left = MAX_LOOKED_AT;
    // The tasks of a tag are sorted for each look, so one look takes all.
    let rows = tag !== undefined && query.sort === "date"
      ? MAX_RARE + 1
      : FIRST_ROWS;
    while (true) {
      const subject = await this.#subject(query, { after, tag });
      if (subject === undefined) {
        return { places: [...places.values()], next: undefined };
      }
      const filtered = isFiltered(subject);
      const wanted = query.limit - places.size;
      const looked = await this.#look(subject, {
        rows: filtered ? rows : wanted + 1,
        pairs: filtered ? MAX_PAIRS : wanted + 1,
      });
      for (const place of looked.places) {
        // A task whose place changed between two looks may be found twice.
        if (places.has(place.id)) continue;
        if (places.size === query.limit) {
          const found = [...places.values()];
          return { places: found, next: found.at(-1) };
        }
        places.set(place.id, place);
      }
      left -= looked.count;
      if (looked.end === undefined || left <= 0) {
        return { places: [...places.values()], next: looked.end };
      }
      after = looked.end;
      rows = Math.max(
        1,
        Math.min(rows * GROWTH, Math.floor(left / looked.sources)),
      );
    }
  }

  /** Looks at some rows of each source and merges them. */
  async #look(
    subject: ListSubject,
    limits: { readonly rows: number; readonly pairs: number },
  ): Promise<{
    /** The rows that fit, in order. */
    readonly places: readonly TaskPosition[];
    /** The last place that was looked at; undefined at the list's end. */
    readonly end: TaskPosition | undefined;
    readonly count: number;
    readonly sources: number;
  }> {
    const builder = new SqlBuilder();
    const sql = `SELECT * FROM (${
      lookSql(builder, subject, limits)
    }) AS looked ORDER BY ${orderSql(subject)}`;
    const looked = await this.#parts.runner.query<LookedAt>(
      sql,
      builder.parameters,
      // There are too many combinations of filters to keep a plan of each.
      { prepare: false },
    );
    const counts = new Map<number, number>();
    let isWhole = true;
    let usable = looked.length;
    for (const [index, { source }] of looked.entries()) {
      const count = (counts.get(source) ?? 0) + 1;
      counts.set(source, count);
      const isBound = source === 0;
      // Behind this row the source may have rows that come before the others.
      if (!isBound && count < limits.rows) continue;
      isWhole = false;
      usable = isBound ? index : index + 1;
      break;
    }
    const merged = looked.slice(0, usable);
    return {
      places: merged.filter(({ fits }) => fits).map((place) =>
        toPosition(place)
      ),
      end: isWhole ? undefined : toPosition(merged.at(-1)),
      count: looked.length,
      sources: Math.max(1, new Set(looked.map(({ source }) => source)).size),
    };
  }

  async #count(
    query: ListFilter,
    tag: string | undefined,
  ): Promise<{ readonly value: number; readonly isExact: boolean }> {
    const subject = await this.#subject(query, { tag });
    if (subject === undefined) return { value: 0, isExact: true };
    const most = isFiltered(subject) ? MAX_LOOKED_AT : MAX_COUNTED + 1;
    const builder = new SqlBuilder();
    const look = lookSql(builder, subject, {
      rows: tag === undefined ? undefined : most,
      pairs: Number.MAX_SAFE_INTEGER - 1,
    });
    const [row] = await this.#parts.runner.query<
      { fitting: number; looked: number }
    >(
      "SELECT count(*) FILTER (WHERE fits) AS fitting, count(*) AS looked " +
        `FROM (SELECT fits FROM (${look}) AS looked ` +
        `LIMIT ${builder.add(most, "bigint")}) AS limited`,
      builder.parameters,
      { prepare: false },
    );
    const { fitting = 0, looked = 0 } = row ?? {};
    return fitting > MAX_COUNTED
      ? { value: MAX_COUNTED, isExact: false }
      : { value: fitting, isExact: looked < most };
  }

  /** What the list is of; undefined when nothing can be in it. */
  async #subject(
    query: ListFilter,
    { after, tag }: Pick<ListSubject, "tag"> & Partial<ListSubject>,
  ): Promise<ListSubject | undefined> {
    const tenant = await this.#names.tenant(query.tenantId);
    const window = sortWindow(query, after?.sortMs);
    if (tenant === undefined || window === undefined) return undefined;
    const lanes = query.workerIds === undefined
      ? undefined
      : (await Promise.all(
        query.workerIds.map((id) => this.#names.lane(query.tenantId, id)),
      )).filter((lane) => lane !== undefined);
    const statuses = wantedStatuses(query);
    if (lanes?.length === 0 || statuses?.length === 0) return undefined;
    return { query, tenant, lanes, statuses, tag, window, after };
  }

  async #read(ids: readonly string[]): Promise<readonly Task[]> {
    if (ids.length === 0) return [];
    const { runner, known } = this.#parts;
    return decodeTasks(
      await runner.query(
        selectFound(
          "SELECT id, at FROM unnest($1::text[]) WITH ORDINALITY AS of(id, at)",
        ),
        [ids],
      ),
      known,
    );
  }
}

function toPosition(place: LookedAt): TaskPosition;
function toPosition(place: LookedAt | undefined): TaskPosition | undefined;
function toPosition(place: LookedAt | undefined): TaskPosition | undefined {
  return place && { sortMs: place.at, id: place.id };
}
