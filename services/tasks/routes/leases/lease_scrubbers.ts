/**
 * Finds what takes the secrets of a worker out of what the holders of its leases
 * say.
 *
 * @module
 */

import { BoundedMap } from "../../../shared/bounded_map.ts";
import { describeError } from "../../../shared/settled.ts";
import { taskOfLease } from "../../engine/lease_id.ts";
import type { Scrubber } from "../../secrets/scrub.ts";
import type { ApiParts } from "../api_parts.ts";

/** Most leases whose worker is remembered. */
const MAX_LEASES = 20_000;

/**
 * Remembers whose leases were handed out, so that nothing has to be read to know
 * which secrets their holders may have been given.
 */
export class LeaseScrubbers {
  readonly #parts: Pick<ApiParts, "engine" | "vault">;
  readonly #workers = new BoundedMap<string, string>({
    maxEntries: MAX_LEASES,
  });

  /** Remembers nothing yet. */
  constructor(parts: Pick<ApiParts, "engine" | "vault">) {
    this.#parts = parts;
  }

  /** Remembers the worker that was given a lease. */
  remember(leaseId: string, workerId: string): void {
    if (!this.#parts.vault.isAvailable) return;
    this.#workers.set(leaseId, workerId);
  }

  /** What takes out the secrets of a lease's worker; undefined when it has none. */
  async of(tenantId: string, leaseId: string): Promise<Scrubber | undefined> {
    if (!this.#parts.vault.isAvailable) return undefined;
    const workerId = this.#workers.get(leaseId) ??
      await this.#workerOf(tenantId, leaseId);
    return workerId === undefined
      ? undefined
      : await this.ofWorker(tenantId, workerId);
  }

  /** The same for leases in their order; each worker's secrets are opened once. */
  async ofAll(
    tenantId: string,
    leaseIds: readonly string[],
  ): Promise<readonly (Scrubber | undefined)[]> {
    if (!this.#parts.vault.isAvailable) return [];
    const opened = new Map<string, Promise<Scrubber | undefined>>();
    const found: (Scrubber | undefined)[] = [];
    for (const leaseId of leaseIds) {
      const workerId = this.#workers.get(leaseId) ??
        await this.#workerOf(tenantId, leaseId);
      if (workerId === undefined) {
        found.push(undefined);
        continue;
      }
      let scrubber = opened.get(workerId);
      if (scrubber === undefined) {
        scrubber = this.ofWorker(tenantId, workerId);
        opened.set(workerId, scrubber);
      }
      found.push(await scrubber);
    }
    return found;
  }

  /** What takes out the secrets of a worker; undefined when it has none. */
  async ofWorker(
    tenantId: string,
    workerId: string,
  ): Promise<Scrubber | undefined> {
    const { vault, engine } = this.#parts;
    try {
      return (await vault.open(tenantId, workerId)).scrubber;
    } catch (error) {
      // Work that was done counts, whatever has become of the master key.
      engine.parts.logger.warn(
        "Cannot take secrets out of what a worker says: they cannot be opened",
        { worker: workerId, error: describeError(error) },
      );
      return undefined;
    }
  }

  async #workerOf(
    tenantId: string,
    leaseId: string,
  ): Promise<string | undefined> {
    const id = taskOfLease(leaseId);
    if (id === undefined) return undefined;
    const task = await this.#parts.engine.parts.store.task(tenantId, id);
    return task?.workerId;
  }
}
