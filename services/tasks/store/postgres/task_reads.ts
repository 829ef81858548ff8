/**
 * Reads tasks by their ids, keys and links.
 *
 * @module
 */

import type { RunningCounts } from "../../domain/records.ts";
import type { Task } from "../../domain/task.ts";
import type { DependentsQuery, TaskKey } from "../queries.ts";
import type { RunningGroup } from "../store.ts";
import type { InternedNames } from "./interned_names.ts";
import { type ReadParts, readTasks, SELECT_TASKS } from "./task_rows.ts";

/** Finds tasks by ids, keys and links. */
export class TaskReads {
  readonly #parts: ReadParts;
  readonly #names: InternedNames;

  /** Takes what reading tasks needs. */
  constructor(parts: ReadParts, names: InternedNames) {
    this.#parts = parts;
    this.#names = names;
  }

  /** The task with an id; undefined when the tenant has no such task. */
  async task(tenantId: string, id: string): Promise<Task | undefined> {
    const [task] = await readTasks(
      this.#parts,
      `${SELECT_TASKS} WHERE state.id = $1::text AND names.id = $2::text`,
      [id, tenantId],
    );
    return task;
  }

  /**
   * The tasks with some ids, in their order; undefined for each missing one.
   */
  async tasks(
    tenantId: string,
    ids: readonly string[],
  ): Promise<readonly (Task | undefined)[]> {
    if (ids.length === 0) return [];
    const found = await readTasks(
      this.#parts,
      `${SELECT_TASKS} WHERE state.id = ANY($1::text[]) AND ` +
        "names.id = $2::text",
      [ids, tenantId],
    );
    const byId = new Map(found.map((task) => [task.id, task]));
    return ids.map((id) => byId.get(id));
  }

  /** The live task of a worker with a key. */
  async byKey(
    { tenantId, workerId, key }: TaskKey,
  ): Promise<Task | undefined> {
    const lane = await this.#names.lane(tenantId, workerId);
    if (lane === undefined) return undefined;
    const [task] = await readTasks(
      this.#parts,
      `${SELECT_TASKS} WHERE state.lane = $1::integer AND ` +
        "state.key = $2::text AND state.key IS NOT NULL AND state.status < 7",
      [lane, key],
    );
    return task;
  }

  /** The ids of tasks that wait for any of the given ones, or failed by one. */
  async dependents(
    { tenantId, ids, limit, afterId = "" }: DependentsQuery,
  ): Promise<readonly string[]> {
    const tenant = await this.#names.tenant(tenantId);
    if (tenant === undefined || ids.length === 0) return [];
    // Each link has its own query, since only then its tasks are in order.
    const rows = await this.#parts.runner.query<{ id: string }>(
      "SELECT DISTINCT of.id FROM unnest($2::text[]) AS wanted(link), " +
        "LATERAL (SELECT id FROM links WHERE tenant = $1::integer AND " +
        "links.link = wanted.link AND id > $3::text ORDER BY id " +
        "LIMIT $4::bigint) AS of ORDER BY of.id LIMIT $4::bigint",
      [tenant, [...new Set(ids)], afterId, limit],
    );
    return rows.map(({ id }) => id);
  }

  /** How many running tasks a worker has. */
  async running(tenantId: string, workerId: string): Promise<RunningCounts> {
    const groups = new Map<string, number>();
    const lane = await this.#names.lane(tenantId, workerId);
    if (lane === undefined) return { all: 0, groups };
    let all = 0;
    const rows = await this.#parts.runner.query<
      { grp: string; count: number }
    >(
      "SELECT grp, count(*) AS count FROM task_state " +
        "WHERE lane = $1::integer AND status = 3 GROUP BY grp ORDER BY grp",
      [lane],
    );
    for (const { grp, count } of rows) {
      all += count;
      if (grp !== "") groups.set(grp, count);
    }
    return { all, groups };
  }

  /** How many tasks of a tenant are running, by worker and group. */
  async runningGroups(tenantId: string): Promise<readonly RunningGroup[]> {
    const tenant = await this.#names.tenant(tenantId);
    if (tenant === undefined) return [];
    const rows = await this.#parts.runner.query<
      { worker: string; grp: string; count: number }
    >(
      "SELECT lanes.worker, state.grp, count(*) AS count FROM lanes " +
        "JOIN task_state AS state ON state.lane = lanes.lane AND " +
        "state.status = 3 WHERE lanes.tenant = $1::integer AND " +
        "state.grp <> '' GROUP BY lanes.lane, state.grp " +
        "ORDER BY lanes.lane, state.grp",
      [tenant],
    );
    return rows.map(({ worker, grp, count }) => ({
      workerId: worker,
      group: grp,
      count,
    }));
  }
}
