/**
 * The numbers that stand for tenants and for workers in the database, because
 * they are shorter than ids.
 *
 * @module
 */

import type { Pool } from "../../../shared/postgres/pool.ts";
import type { WorkerName } from "../queries.ts";

/**
 * Finds and gives numbers. Sequences give them, so that several instances may
 * do so at once. A number stays as long as the database, so what is cached is
 * never wrong; what is not there is asked for each time, since another instance
 * may add it. New numbers are committed like tasks: one that a failover loses
 * would be given again.
 */
export class InternedNames {
  readonly #pool: Pool;
  readonly #tenants = new Map<string, number>();
  readonly #lanes = new Map<string, number>();

  /** Takes the connections; it asks by queries, and adds by batches. */
  constructor(pool: Pool) {
    this.#pool = pool;
  }

  /** The number of a tenant; undefined when it has none. */
  async tenant(id: string): Promise<number | undefined> {
    const known = this.#tenants.get(id);
    if (known !== undefined) return known;
    await this.#findTenants([id]);
    return this.#tenants.get(id);
  }

  /** The number of a worker; undefined when it has none. */
  async lane(
    tenantId: string,
    workerId: string,
  ): Promise<number | undefined> {
    const key = laneKey(tenantId, workerId);
    const known = this.#lanes.get(key);
    if (known !== undefined) return known;
    await this.#findLanes([{ tenantId, workerId }]);
    return this.#lanes.get(key);
  }

  /** The number of a worker, if it was asked for before. */
  peekLane({ tenantId, workerId }: WorkerName): number | undefined {
    return this.#lanes.get(laneKey(tenantId, workerId));
  }

  /** Whether a tenant, or a worker, is known to have a number. */
  knows(tenantId: string, workerId?: string): boolean {
    return workerId === undefined
      ? this.#tenants.has(tenantId)
      : this.#lanes.has(laneKey(tenantId, workerId));
  }

  /** The number of a tenant that has one by {@linkcode internAll}. */
  tenantNumber(id: string): number {
    return demandKnown(this.#tenants.get(id), id);
  }

  /** The number of a worker that has one by {@linkcode internAll}. */
  laneNumber(tenantId: string, workerId: string): number {
    return demandKnown(
      this.#lanes.get(laneKey(tenantId, workerId)),
      `${tenantId} ${workerId}`,
    );
  }

  /**
   * Gives numbers to the tenants and workers that have none. The numbers stay
   * even when what needed them is undone.
   */
  async internAll(
    tenantIds: Iterable<string>,
    workers: Iterable<WorkerName>,
  ): Promise<void> {
    let ids = this.#unknownTenants(tenantIds);
    if (ids.length > 0) {
      await this.#findTenants(ids);
      ids = this.#unknownTenants(ids);
    }
    if (ids.length > 0) {
      await this.#pool.batch([{
        sql: "INSERT INTO tenants(id) SELECT unnest($1::text[]) " +
          "ON CONFLICT DO NOTHING",
        parameters: [ids],
      }]);
      await this.#findTenants(ids);
    }
    let names = this.#unknownLanes(workers);
    if (names.length > 0) {
      await this.#findLanes(names);
      names = this.#unknownLanes(names);
    }
    if (names.length > 0) {
      await this.#pool.batch([{
        sql:
          "INSERT INTO lanes(tenant, worker) SELECT of.tenant, name.worker " +
          "FROM unnest($1::integer[], $2::text[]) AS name(tenant, worker) " +
          "JOIN tenants AS of ON of.tenant = name.tenant " +
          "ON CONFLICT DO NOTHING",
        parameters: [
          names.map(({ tenantId }) => this.tenantNumber(tenantId)),
          names.map(({ workerId }) => workerId),
        ],
      }]);
      await this.#findLanes(names);
    }
  }

  #unknownTenants(ids: Iterable<string>): readonly string[] {
    const unknown = new Set<string>();
    for (const id of ids) if (!this.#tenants.has(id)) unknown.add(id);
    return [...unknown];
  }

  #unknownLanes(names: Iterable<WorkerName>): readonly WorkerName[] {
    const unknown = new Map<string, WorkerName>();
    for (const name of names) {
      const key = laneKey(name.tenantId, name.workerId);
      if (!this.#lanes.has(key)) unknown.set(key, name);
    }
    return [...unknown.values()];
  }

  async #findTenants(ids: readonly string[]): Promise<void> {
    const rows = await this.#pool.query<{ id: string; tenant: number }>(
      "SELECT id, tenant FROM tenants WHERE id = ANY($1::text[])",
      [ids],
    );
    for (const { id, tenant } of rows) this.#tenants.set(id, tenant);
  }

  async #findLanes(names: readonly WorkerName[]): Promise<void> {
    const rows = await this.#pool.query<
      { id: string; worker: string; lane: number }
    >(
      "SELECT of.id, lanes.worker, lanes.lane " +
        "FROM unnest($1::text[], $2::text[]) AS name(tenant_id, worker) " +
        "JOIN tenants AS of ON of.id = name.tenant_id " +
        "JOIN lanes ON lanes.tenant = of.tenant AND " +
        "lanes.worker = name.worker",
      [
        names.map(({ tenantId }) => tenantId),
        names.map(({ workerId }) => workerId),
      ],
    );
    for (const { id, worker, lane } of rows) {
      this.#lanes.set(laneKey(id, worker), lane);
    }
  }
}

function demandKnown(number: number | undefined, name: string): number {
  if (number !== undefined) return number;
  throw new Error(`Cannot write: "${name}" has no number`);
}

function laneKey(tenantId: string, workerId: string): string {
  return `${tenantId.length} ${tenantId}${workerId}`;
}
