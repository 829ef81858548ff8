/**
 * Finds the tasks that have to be woken. Nothing is woken before its time by the
 * database's clock, whatever an instance's clock says.
 *
 * @module
 */

import type { SqlParameter } from "../../../shared/postgres/values.ts";
import type { Task } from "../../domain/task.ts";
import type {
  OthersWaking,
  OthersWakingQuery,
  WakingPosition,
} from "../queries.ts";
import { Floor, FLOOR_AGE_MS, REST_PER_LOOK } from "./floor.ts";
import { decodeTasks, type ReadParts, selectFound } from "./task_rows.ts";

/** Before all instants. */
const FIRST_MS = Number.MIN_SAFE_INTEGER;

/** The tasks that are to be woken, from a place on or after it. */
function wakingSql(from: ">=" | ">"): string {
  return "FROM task_state WHERE wake_ms IS NOT NULL AND " +
    "wake_ms <= (SELECT least($1::bigint, now_ms())) AND " +
    `(wake_ms, id) ${from} ($3::bigint, $4::text) ORDER BY wake_ms, id ` +
    "LIMIT $2::bigint";
}

/** The times by which looks are judged. */
export interface WakingClock {
  /** The database's time; it may be late, but never early. */
  nowMs(): number;
  /** Milliseconds of a clock that only goes forward. */
  monotonicMs(): number;
}

/** Finds tasks to wake. */
export class WakingReads {
  readonly #parts: ReadParts;
  readonly #clock: WakingClock;
  /** Where the instants of all tasks begin. */
  readonly #floor = new Floor(-Infinity);
  /** From when on a look begins at the beginning. */
  #freeAfterMs = -Infinity;

  /** Takes what reading needs and the clock. */
  constructor(parts: ReadParts, clock: WakingClock) {
    this.#parts = parts;
    this.#clock = clock;
  }

  /** Notes that a task is to be woken. */
  lower(wakeAtMs: number): void {
    this.#floor.lower(wakeAtMs);
  }

  /** Forgets the floor, as something unknown may have been written. */
  clear(): void {
    this.#freeAfterMs = -Infinity;
  }

  /** The tasks whose time to wake has come, after a position. */
  async waking(
    nowMs: number,
    limit: number,
    after?: WakingPosition,
  ): Promise<readonly Task[]> {
    const read = (from: ">=" | ">", place: WakingPosition) =>
      this.#read(wakingSql(from), [nowMs, limit, place.wakeAtMs, place.id]);
    if (after !== undefined) return (await read(">", after)).tasks;
    const lookedToMs = Math.min(nowMs, this.#clock.nowMs());
    return await this.#look(async (place) => {
      const { tasks, first } = await read(">=", place);
      return {
        answer: tasks,
        first: first ?? { wakeAtMs: lookedToMs, id: "" },
      };
    });
  }

  /** The tasks whose time to wake has come, of all tenants but some. */
  async wakingOfOthers(
    { nowMs, except, after, maxLooked }: OthersWakingQuery,
  ): Promise<OthersWaking> {
    const { runner, known } = this.#parts;
    const parameters = [nowMs, maxLooked, after.wakeAtMs, after.id];
    const looked = await runner.query<
      { id: string; wake_ms: number; tenant_id: string }
    >(
      "SELECT looked.id, looked.wake_ms, names.id AS tenant_id " +
        `FROM (SELECT id, wake_ms, tenant ${wakingSql(">")}) AS looked ` +
        "JOIN tenants AS names ON names.tenant = looked.tenant " +
        "ORDER BY looked.wake_ms, looked.id",
      parameters,
    );
    const others = looked.filter((row) => !except.has(row.tenant_id));
    const rows = others.length === 0 ? [] : await runner.query(
      selectFound(
        "SELECT id, at FROM unnest($1::text[]) WITH ORDINALITY AS of(id, at)",
      ),
      [others.map(({ id }) => id)],
    );
    const tasks = decodeTasks(rows, known);
    // Large payloads make the answer short. A task that was removed in between
    // is not among the rows, so the last one is looked for by its id.
    const lastId = tasks.at(-1)?.id;
    const isCut = lastId !== undefined && lastId !== others.at(-1)?.id &&
      tasks.length < others.length;
    const last = isCut ? others.find(({ id }) => id === lastId) : looked.at(-1);
    return {
      tasks,
      next: last && { wakeAtMs: last.wake_ms, id: last.id },
    };
  }

  /** The earliest time at which a task has to be woken, after another. */
  async nextWakeMs(afterMs?: number): Promise<number | undefined> {
    if (afterMs !== undefined) {
      return (await this.#next({ wakeAtMs: afterMs + 1, id: "" }))?.wakeAtMs;
    }
    return await this.#look(async (place) => {
      const first = await this.#next(place);
      return { answer: first?.wakeAtMs, first };
    });
  }

  /** Looks from the floor on, or from the beginning when it is time to. */
  async #look<Answer>(
    read: (from: WakingPosition) => Promise<{
      readonly answer: Answer;
      /** The first place that was found; undefined for none. */
      readonly first: WakingPosition | undefined;
    }>,
  ): Promise<Answer> {
    const beginMs = this.#clock.monotonicMs();
    const isFree = beginMs >= this.#freeAfterMs;
    // Looks at the same time do not all begin at the beginning.
    if (isFree) this.#freeAfterMs = beginMs + FLOOR_AGE_MS;
    const { at, id } = this.#floor;
    const end = this.#floor.look();
    const { answer, first } = await read(
      isFree || at < FIRST_MS
        ? { wakeAtMs: FIRST_MS, id: "" }
        : { wakeAtMs: at, id },
    );
    if (first !== undefined) end(first.wakeAtMs, first.id);
    if (isFree) {
      const endMs = this.#clock.monotonicMs();
      const restMs = REST_PER_LOOK * (endMs - beginMs);
      this.#freeAfterMs = endMs + Math.max(FLOOR_AGE_MS, restMs);
    }
    return answer;
  }

  async #next(
    { wakeAtMs, id }: WakingPosition,
  ): Promise<WakingPosition | undefined> {
    const [row] = await this.#parts.runner.query<
      { wake_ms: number; id: string }
    >(
      "SELECT wake_ms, id FROM task_state WHERE wake_ms IS NOT NULL AND " +
        "(wake_ms, id) >= ($1::bigint, $2::text) ORDER BY wake_ms, id LIMIT 1",
      [wakeAtMs, id],
    );
    return row && { wakeAtMs: row.wake_ms, id: row.id };
  }

  async #read(
    sql: string,
    parameters: readonly SqlParameter[],
  ): Promise<{
    readonly tasks: readonly Task[];
    readonly first: WakingPosition | undefined;
  }> {
    const { runner, known } = this.#parts;
    const rows = await runner.query(
      selectFound(`SELECT id, wake_ms AS at ${sql}`),
      parameters,
    );
    const [first] = rows;
    return {
      tasks: decodeTasks(rows, known),
      first: first && {
        wakeAtMs: Number(first["at"]),
        id: String(first["id"]),
      },
    };
  }
}
