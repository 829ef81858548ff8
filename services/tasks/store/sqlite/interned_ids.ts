/**
 * The numbers that stand for tenants and workers in the database.
 *
 * @module
 */

import type { Reader } from "./reader.ts";
import { OPERATION, type OperationValue } from "./writer_messages.ts";

/** A number and whether the database has it yet. */
export interface NumberedName {
  /** The number. */
  readonly number: number;
  /** Whether a commit with it was answered. */
  isStored: boolean;
}

/** Gives numbers to tenants and workers. Nothing else may, while it lives. */
export class Names {
  readonly #reader: Reader;
  readonly #tenants = new Map<string, NumberedName>();
  readonly #tenantIds = new Map<number, string>();
  readonly #lanes = new Map<string, NumberedName>();
  #lastTenant: number;
  #lastLane: number;

  /** The names in a database, read as they are needed. */
  constructor(reader: Reader) {
    this.#reader = reader;
    this.#lastTenant = reader.number("SELECT max(tenant) FROM tenants") ?? 0;
    this.#lastLane = reader.number("SELECT max(lane) FROM lanes") ?? 0;
  }

  /** The number of a tenant; undefined when it has none. */
  tenant(id: string): number | undefined {
    return this.#findTenant(id)?.number;
  }

  /** The id of a tenant. */
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

  /** The number of a worker; undefined when it has none. */
  lane(tenantId: string, workerId: string): number | undefined {
    return this.#findLane(tenantId, workerId)?.number;
  }

  /** The name of a tenant with a number, made when it has none. */
  useTenant(id: string): NumberedName {
    const there = this.#findTenant(id);
    if (there !== undefined) return there;
    const name = { number: ++this.#lastTenant, isStored: false };
    this.#tenants.set(id, name);
    this.#tenantIds.set(name.number, id);
    return name;
  }

  /** The name of a worker with a number, made when it has none. */
  useLane(tenantId: string, workerId: string): NumberedName {
    const there = this.#findLane(tenantId, workerId);
    if (there !== undefined) return there;
    const name = { number: ++this.#lastLane, isStored: false };
    this.#lanes.set(laneKey(tenantId, workerId), name);
    return name;
  }

  #findTenant(id: string): NumberedName | undefined {
    const known = this.#tenants.get(id);
    if (known !== undefined) return known;
    const number = this.#reader.number(
      "SELECT tenant FROM tenants WHERE id = ?",
      id,
    );
    if (number === undefined) return undefined;
    const name = { number, isStored: true };
    this.#tenants.set(id, name);
    return name;
  }

  #findLane(tenantId: string, workerId: string): NumberedName | undefined {
    const key = laneKey(tenantId, workerId);
    const known = this.#lanes.get(key);
    if (known !== undefined) return known;
    const tenant = this.#findTenant(tenantId);
    if (tenant === undefined) return undefined;
    const number = this.#reader.number(
      "SELECT lane FROM lanes WHERE tenant = ? AND worker = ?",
      tenant.number,
      workerId,
    );
    if (number === undefined) return undefined;
    const name = { number, isStored: true };
    this.#lanes.set(key, name);
    return name;
  }
}

/** The operation that keeps a tenant's number. */
export function nameTenant(name: NumberedName, id: string): OperationValue[] {
  return [OPERATION.nameTenant, name.number, id];
}

/** The operation that keeps a worker's number. */
export function nameLane(
  name: NumberedName,
  tenant: number,
  workerId: string,
): OperationValue[] {
  return [OPERATION.nameLane, name.number, tenant, workerId];
}

function laneKey(tenantId: string, workerId: string): string {
  return `${tenantId.length} ${tenantId}${workerId}`;
}
