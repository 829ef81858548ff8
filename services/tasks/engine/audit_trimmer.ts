/**
 * Removes entries of audit logs that are older than their tenant's plan keeps
 * them.
 *
 * @module
 */

import { pause } from "../../shared/periodic.ts";
import { Maintainer, type MaintainerParts } from "./maintainer.ts";
import type { EngineParts } from "./parts.ts";
import { REGISTRY } from "./repositories.ts";

/** Milliseconds between two rounds over all tenants. */
const INTERVAL_MS = 3_600_000;
/** How many tenants are looked at before a pause. */
const PAGE = 100;
/** How many entries one commit removes. */
const STEP = 1_000;
/** The pause after each of them, in milliseconds, for other work. */
const PAUSE_MS = 10;

/** What the trimmer needs. */
type TrimmerParts =
  & MaintainerParts
  & Pick<EngineParts, "repositories" | "store" | "findLimits">;

/**
 * Removes old entries of audit logs, at the start and once an hour. One instance
 * does it: two would remove the same entries.
 */
export class AuditTrimmer extends Maintainer {
  readonly #parts: TrimmerParts;

  /** Creates the trimmer without starting it. */
  constructor(parts: TrimmerParts) {
    super({
      parts,
      intervalMs: INTERVAL_MS,
      failure: "Cannot remove old entries of audit logs: the store failed",
      duty: "audit",
    });
    this.#parts = parts;
  }

  /** Removes what is old in all audit logs. */
  override async runOnce(): Promise<void> {
    const { tenants } = this.#parts.repositories;
    for await (const page of tenants.pages(REGISTRY, PAGE)) {
      for (const { id } of page) await this.#trim(id);
      await this.#rest();
      if (this.stopping.aborted) return;
    }
  }

  async #trim(tenantId: string): Promise<void> {
    const { store, clock, findLimits } = this.#parts;
    const { auditRetentionMs } = await findLimits(tenantId);
    if (auditRetentionMs === null) return;
    const beforeMs = clock.nowMs() - auditRetentionMs;
    const trim = { tenantId, beforeMs, limit: STEP };
    while (await store.trimAudit(trim) === STEP && !this.stopping.aborted) {
      await this.#rest();
    }
  }

  #rest(): Promise<void> {
    const { clock } = this.#parts;
    return pause(PAUSE_MS, { clock, signal: this.stopping });
  }
}
