/**
 * Finds the tasks that have to be woken. Nothing is woken before its time by the
 * database's clock, whatever an instance's clock says.
 *
 * @module
 */

import type { Task } from "../../domain/task.ts";
import type {
  OthersWaking,
  OthersWakingQuery,
  WakingPosition,
} from "../queries.ts";
import { Floor, FLOOR_AGE_MS, SHORT_AGE_MS } from "./floor.ts";
import { decodeTasks, type ReadParts, selectFound } from "./task_rows.ts";

/** Before all instants. */
const FIRST_MS = Number.MIN_SAFE_INTEGER;

/** The tasks that are to be woken, from a place on. */
const WAKING = "FROM task_state WHERE wake_ms IS NOT NULL AND " +
  "wake_ms >= $3::bigint AND " +
  "wake_ms <= (SELECT least($1::bigint, now_ms())) AND " +
  "(wake_ms, id) > ($3::bigint, $4::text) ORDER BY wake_ms, id " +
  "LIMIT $2::bigint";

/** Finds tasks to wake. */
export class WakingReads {
  readonly #parts: ReadParts;
  readonly #monotonicMs: () => number;
  /** Where the instants of all tasks begin. */
  readonly #floor = new Floor(-Infinity);
  #freeAtMs = -Infinity;

  /** Takes what reading needs and a clock that only goes forward. */
  constructor(parts: ReadParts, monotonicMs: () => number) {
    this.#parts = parts;
    this.#monotonicMs = monotonicMs;
  }

  /** Notes that a task is to be woken. */
  lower(wakeAtMs: number): void {
    this.#floor.lower(wakeAtMs);
  }

  /** The tasks whose time to wake has come, after a position. */
  async waking(
    nowMs: number,
    limit: number,
    after?: WakingPosition,
  ): Promise<readonly Task[]> {
    if (after !== undefined) {
      return (await this.#read(nowMs, limit, after)).tasks;
    }
    const from = this.#from(FLOOR_AGE_MS);
    const end = this.#floor.look();
    let found = await this.#read(nowMs, limit, { wakeAtMs: from, id: "" });
    if (found.tasks.length < limit && from !== FIRST_MS && this.#isFreeDue()) {
      const again = { wakeAtMs: FIRST_MS, id: "" };
      found = await this.#read(nowMs, limit, again);
    }
    if (found.firstMs !== undefined) end(found.firstMs);
    return found.tasks;
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
        `FROM (SELECT id, wake_ms, tenant ${WAKING}) AS looked ` +
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
    const from = afterMs === undefined ? this.#from(FLOOR_AGE_MS) : afterMs + 1;
    const end = afterMs === undefined ? this.#floor.look() : () => {};
    const [row] = await this.#parts.runner.query<{ wake_ms: number }>(
      "SELECT wake_ms FROM task_state WHERE wake_ms IS NOT NULL AND " +
        "wake_ms >= $1::bigint ORDER BY wake_ms LIMIT 1",
      [from],
    );
    if (row !== undefined) end(row.wake_ms);
    return row?.wake_ms;
  }

  /** Where a look begins. */
  #from(ageMs: number): number {
    if (this.#isFreeDue(ageMs)) return FIRST_MS;
    return Math.max(FIRST_MS, this.#floor.at);
  }

  /** Whether it is time for a look without the floor, which then begins. */
  #isFreeDue(ageMs = SHORT_AGE_MS): boolean {
    const nowMs = this.#monotonicMs();
    if (nowMs - this.#freeAtMs < ageMs) return false;
    this.#freeAtMs = nowMs;
    return true;
  }

  async #read(
    nowMs: number,
    limit: number,
    { wakeAtMs, id }: WakingPosition,
  ): Promise<{
    readonly tasks: readonly Task[];
    readonly firstMs: number | undefined;
  }> {
    const { runner, known } = this.#parts;
    const rows = await runner.query(
      selectFound(`SELECT id, wake_ms AS at ${WAKING}`),
      [nowMs, limit, wakeAtMs, id],
    );
    const first = rows[0]?.["at"];
    return {
      tasks: decodeTasks(rows, known),
      firstMs: typeof first === "number" ? first : undefined,
    };
  }
}
