/**
 * The numbers that stand for tenants and for workers' queues in the database,
 * because they are shorter than ids.
 *
 * @module
 */

import type { Reader } from "./reader.ts";

/** The number of a tenant or a queue, and whether it is stored. */
export interface InternedName {
  /** The number. */
  readonly number: number;
  /** Whether a commit that stores the number has succeeded. */
  isStored: boolean;
}

/**
 * Assigns numbers to tenants and to queues; each worker of a tenant has a
 * queue. While this object exists, no other one may assign numbers.
 */
export class InternedIds {
  readonly #reader: Reader;
  readonly #tenants = new Map<string, InternedName>();
  readonly #tenantIds = new Map<number, string>();
  readonly #queues = new Map<string, InternedName>();
  #lastTenant: number;
  #lastQueue: number;

  /** Takes the reader; numbers are read as they are needed. */
  constructor(reader: Reader) {
    this.#reader = reader;
    this.#lastTenant = reader.number("SELECT max(tenant) FROM tenants") ?? 0;
    this.#lastQueue = reader.number("SELECT max(lane) FROM lanes") ?? 0;
  }

  /** The number of a tenant; undefined when it has no number. */
  tenant(id: string): number | undefined {
    return this.#findTenant(id)?.number;
  }

  /** The id of the tenant with a number. */
  tenantId(tenant: number): string {
    let id = this.#tenantIds.get(tenant);
    if (id === undefined) {
      id = this.#reader.text("SELECT id FROM tenants WHERE tenant = ?", tenant);
      if (id === undefined) {
        throw new Error(`Cannot read the tenant: number ${tenant} has no name`);
      }
      this.#tenantIds.set(tenant, id);
    }
    return id;
  }

  /** The number of a worker's queue; undefined when it has no number. */
  queueId(tenantId: string, workerId: string): number | undefined {
    return this.#findQueue(tenantId, workerId)?.number;
  }

  /** The number of a tenant; a new one when it has no number yet. */
  internTenant(id: string): InternedName {
    const found = this.#findTenant(id);
    if (found !== undefined) return found;
    const name = { number: ++this.#lastTenant, isStored: false };
    this.#tenants.set(id, name);
    this.#tenantIds.set(name.number, id);
    return name;
  }

  /** The number of a worker's queue; a new one when it has no number yet. */
  internQueue(tenantId: string, workerId: string): InternedName {
    const found = this.#findQueue(tenantId, workerId);
    if (found !== undefined) return found;
    const name = { number: ++this.#lastQueue, isStored: false };
    this.#queues.set(queueKey(tenantId, workerId), name);
    return name;
  }

  #findTenant(id: string): InternedName | undefined {
    return this.#tenants.get(id) ?? keep(
      this.#tenants,
      id,
      this.#reader.number("SELECT tenant FROM tenants WHERE id = ?", id),
    );
  }

  #findQueue(tenantId: string, workerId: string): InternedName | undefined {
    const key = queueKey(tenantId, workerId);
    const known = this.#queues.get(key);
    if (known !== undefined) return known;
    const tenant = this.#findTenant(tenantId);
    if (tenant === undefined) return undefined;
    const number = this.#reader.number(
      "SELECT lane FROM lanes WHERE tenant = ? AND worker = ?",
      tenant.number,
      workerId,
    );
    return keep(this.#queues, key, number);
  }
}

/**
 * Caches a number that is in the database; undefined when there is no number.
 */
function keep(
  names: Map<string, InternedName>,
  key: string,
  number: number | undefined,
): InternedName | undefined {
  if (number === undefined) return undefined;
  const name = { number, isStored: true };
  names.set(key, name);
  return name;
}

function queueKey(tenantId: string, workerId: string): string {
  return `${tenantId.length} ${tenantId}${workerId}`;
}
