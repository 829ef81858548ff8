/**
 * Writes records that tests need into an engine's store: tenants, their keys
 * and workers.
 *
 * @module
 */

import { mintToken } from "../../access/credential_token.ts";
import type { ApiKey, Tenant, WorkerDefinition } from "../../domain/records.ts";
import type { Engine } from "../../engine/engine.ts";
import { sampleWorker } from "../../engine/testing/samples.ts";
import type { Write } from "../../store/store.ts";

/** A tenant of a test and a key that may do everything there. */
export interface TestTenant {
  /** The tenant. */
  readonly tenant: Tenant;
  /** The text of its key with the role of an owner. */
  readonly ownerKey: string;
}

/** The members of a record that a test sets; the tenant is required. */
export type OfTenant<T extends { readonly tenantId: string }> =
  & Partial<T>
  & Pick<T, "tenantId">;

/** Writes records with the values that most tests need. */
export class TestRecords {
  readonly #parts: Engine["parts"];

  /** Writes into this engine's store. */
  constructor({ parts }: Pick<Engine, "parts">) {
    this.#parts = parts;
  }

  /**
   * Writes anything.
   *
   * @throws {Error} when it conflicts
   */
  async write(...writes: readonly Write[]): Promise<void> {
    const [result] = await this.#parts.store.commit([{ writes }]);
    if (result?.kind !== "ok") throw new Error(JSON.stringify(result));
  }

  /** Adds a tenant of a plan, with a key of its owner. */
  async addTenant(
    domain: string,
    patch: Partial<Tenant> & Pick<Tenant, "plan">,
  ): Promise<TestTenant> {
    const { repositories, clock, newId } = this.#parts;
    const tenant: Tenant = {
      id: newId("ten"),
      version: 1,
      domain,
      status: "active",
      timezone: "UTC",
      createdAtMs: clock.nowMs(),
      updatedAtMs: clock.nowMs(),
      ...patch,
    };
    await this.write(repositories.tenants.insert(tenant));
    return { tenant, ownerKey: await this.addKey({ tenantId: tenant.id }) };
  }

  /**
   * Adds a key, with the role of an owner unless it has scopes, and returns its
   * text.
   */
  async addKey(patch: OfTenant<ApiKey>): Promise<string> {
    const { repositories, clock } = this.#parts;
    const { id, text, digest } = mintToken("dk");
    const hasScopes = patch.scopes !== undefined;
    await this.write(repositories.keys.insert({
      id,
      version: 1,
      name: "test",
      digest,
      ...(hasScopes ? {} : { role: "owner" as const }),
      payloads: true,
      createdAtMs: clock.nowMs(),
      ...patch,
    }));
    return text;
  }

  /** Adds a pull worker. */
  async addWorker(
    patch: OfTenant<WorkerDefinition>,
  ): Promise<WorkerDefinition> {
    const worker = sampleWorker(this.#parts, patch);
    await this.write(this.#parts.repositories.workers.insert(worker));
    return worker;
  }
}
