/**
 * Which demands have been seen by a round of claims.
 *
 * @module
 */

import type { Demand } from "./claim_demand.ts";

/** A round that came to no end. */
export interface RoundFailure {
  /** Why. */
  readonly error: unknown;
}

/** Knows which demands were seen, so that nobody goes home unseen. */
export class ClaimSight {
  /** Demands that no round has seen yet. */
  readonly #unseen = new Map<Demand, PromiseWithResolvers<void>>();
  /** Demands of the round that runs. */
  #seeing: ReadonlySet<Demand> = new Set();
  #failure: RoundFailure | undefined;
  #roundEnd: Promise<void> = Promise.resolve();

  /** A demand has come; a round is to follow. */
  add(demand: Demand): void {
    this.#unseen.set(demand, Promise.withResolvers());
  }

  /** Whether no round has seen a demand yet. */
  isNew(demand: Demand): boolean {
    return this.#unseen.has(demand);
  }

  /** A demand has been seen, or has gone. */
  drop(demand: Demand): void {
    this.#unseen.get(demand)?.resolve();
    this.#unseen.delete(demand);
  }

  /**
   * Waits until a demand has been seen by a round, and by the one that runs.
   * Answers with why the last one failed, if it did: there may be tasks then.
   */
  async lastLook(demand: Demand): Promise<RoundFailure | undefined> {
    await this.#unseen.get(demand)?.promise;
    if (this.#seeing.has(demand)) await this.#roundEnd;
    return this.#failure;
  }

  /**
   * Does a round in the sight of the demands that are there now. It answers with
   * those that it did not come to, which wait for another one.
   */
  async during(
    demands: Iterable<Demand>,
    round: () => Promise<ReadonlySet<Demand>>,
  ): Promise<void> {
    const end = Promise.withResolvers<void>();
    this.#seeing = new Set(demands);
    this.#roundEnd = end.promise;
    let passedOver: ReadonlySet<Demand> = new Set();
    try {
      passedOver = await round();
      this.#failure = undefined;
    } catch (error) {
      this.#failure = { error };
      throw error;
    } finally {
      for (const demand of this.#seeing) {
        if (!passedOver.has(demand)) this.drop(demand);
      }
      this.#seeing = new Set();
      end.resolve();
    }
  }
}
