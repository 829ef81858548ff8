/**
 * The slots of a cluster that no node serves, while the nodes themselves serve
 * others.
 *
 * @module
 */

import { Breaker, type ProbeOutcome } from "../../breaker.ts";
import type { Clock } from "../../../../shared/clock.ts";
import type { StoreOutages } from "../../store_outages.ts";

/** How {@linkcode UnservedSlots} are made. */
interface UnservedSlotsOptions {
  /** Gives the time. */
  readonly clock: Clock;
  /** Returns a number from 0 up to, not including, 1. */
  readonly random: () => number;
  /** Told while there are such slots. */
  readonly outages: StoreOutages;
  /**
   * Writes a counter of its own in a slot. When no node serves the slot, it is
   * added once more; never rejects.
   */
  readonly write: (slot: number) => Promise<unknown>;
}

/** Something with a slot. */
interface InSlot {
  /** The number of the slot. */
  readonly slot: number;
}

/** Name of the slots in `outages`. */
const PART = "slots";
/** Most slots that are tried at a time. */
const MAX_TRIED = 256;

/**
 * Remembers slots that calls found unserved: without a node, half moved, or
 * sent from node to node in circles. One breaker is for all of them, as they
 * return together; served slots are not held up.
 */
export class UnservedSlots {
  readonly #options: UnservedSlotsOptions;
  readonly #reasons = new Map<number, string>();
  readonly #found = new Set<number>();
  readonly #breaker: Breaker;

  /** Begins with all slots served. */
  constructor(options: UnservedSlotsOptions) {
    const { outages } = options;
    this.#options = options;
    this.#breaker = new Breaker({
      ...options,
      probe: () => this.#probe(),
      onOpen: (reason) => outages.begin(PART, reason),
      onClose: () => outages.end(PART),
    });
  }

  /** True when all slots are served, as far as is known. */
  get isEmpty(): boolean {
    return this.#reasons.size === 0;
  }

  /** Returns why one of some slots is not served; undefined when all are. */
  findReason(commands: readonly InSlot[]): string | undefined {
    if (!this.#breaker.isOpen) return undefined;
    for (const { slot } of commands) {
      const reason = this.#reasons.get(slot);
      if (reason !== undefined) return reason;
    }
    return undefined;
  }

  /** Notes that no node serves some slots. */
  add(commands: readonly InSlot[], reason: string): void {
    for (const { slot } of commands) {
      this.#reasons.set(slot, reason);
      this.#found.add(slot);
    }
    this.#breaker.doubt();
    // Too soon after the last doubt: the next call tells again.
    if (this.#breaker.isClosed) this.#reasons.clear();
  }

  /** Forgets all slots. */
  stop(): void {
    this.#breaker.stop();
    this.#reasons.clear();
  }

  async #probe(): Promise<ProbeOutcome> {
    const slots = [...this.#reasons.keys()].slice(0, MAX_TRIED);
    this.#found.clear();
    await Promise.all(slots.map((slot) => this.#options.write(slot)));
    for (const slot of slots) {
      const reason = this.#reasons.get(slot);
      this.#reasons.delete(slot);
      // Slots behind these are tried next.
      if (this.#found.has(slot)) this.#reasons.set(slot, reason ?? "");
    }
    const [reason] = this.#reasons.values();
    return reason === undefined
      ? { kind: "served" }
      : { kind: "failed", reason };
  }
}
