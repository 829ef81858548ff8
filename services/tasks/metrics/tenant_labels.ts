/**
 * Which tenants metrics tell by themselves, and which together.
 *
 * @module
 */

import { type Clock, steadyClock } from "../../shared/clock.ts";

/** What the tenants without a place are told under; no tenant has this id. */
export const OTHER_TENANTS = "others";

/** Tenants that are told by themselves. */
const MAX_TENANTS = 100;
/** After how long without use a tenant's place may be another's. */
const IDLE_MS = 3_600_000;
/** How often it is looked for such places at most. */
const LOOK_EVERY_MS = 60_000;

/** Options of {@linkcode TenantLabels}. */
interface TenantLabelsOptions {
  /** The time. */
  readonly clock: Clock;
  /** Drops what was counted under a label whose place is free again. */
  readonly onFreed: (label: string) => void;
}

interface Place {
  lastUsedMs: number;
}

/**
 * Gives a hundred tenants labels of their own, first come, first served; the
 * others share one. A tenant keeps its label while it is active: what it counted
 * is never moved to the others', so sums of rates over all labels stay true.
 */
export class TenantLabels {
  readonly #options: TenantLabelsOptions;
  readonly #steady: Clock;
  readonly #places = new Map<string, Place>();
  #lookedAtMs = -Infinity;

  /** Labels that no tenant has yet. */
  constructor(options: TenantLabelsOptions) {
    this.#options = options;
    this.#steady = steadyClock(options.clock);
  }

  /** The label of a tenant that does something. */
  of(tenantId: string): string {
    const nowMs = this.#steady.nowMs();
    const place = this.#places.get(tenantId);
    if (place !== undefined) {
      place.lastUsedMs = nowMs;
      return tenantId;
    }
    if (this.#places.size >= MAX_TENANTS) this.#free(nowMs);
    if (this.#places.size >= MAX_TENANTS) return OTHER_TENANTS;
    this.#places.set(tenantId, { lastUsedMs: nowMs });
    return tenantId;
  }

  /**
   * Which of some tenants, the most important first, are told by themselves where
   * they are only looked at: those that have a label, and the first of the others
   * while there is room.
   */
  chosen(tenantIds: readonly string[]): ReadonlySet<string> {
    const chosen = new Set(tenantIds.filter((id) => this.#places.has(id)));
    for (const tenantId of tenantIds) {
      if (chosen.size >= MAX_TENANTS) break;
      chosen.add(tenantId);
    }
    return chosen;
  }

  #free(nowMs: number): void {
    if (nowMs - this.#lookedAtMs < LOOK_EVERY_MS) return;
    this.#lookedAtMs = nowMs;
    for (const [tenantId, { lastUsedMs }] of this.#places) {
      if (nowMs - lastUsedMs < IDLE_MS) continue;
      this.#places.delete(tenantId);
      this.#options.onFreed(tenantId);
    }
  }
}
