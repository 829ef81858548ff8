/**
 * Renews the entries of one owner after the other. An owner with many due
 * entries gives the others their turn.
 *
 * @module
 */

import type { FairTurns } from "../../shared/fair_turns.ts";
import { ownTurn } from "../concurrency/bounded_work.ts";
import { isStorageFailure } from "../store/storage_watch.ts";
import type { MemoryOwner } from "../store/store.ts";
import { joinLeftEntries, type LeftOwners } from "./left_owners.ts";
import {
  type LeftEntries,
  type OwnerRenewalParts,
  renewOwner,
} from "./owner_renewal.ts";
import type { RenewalReport } from "./renewal_report.ts";

/** What a round needs of the relayer. */
export interface RenewalRoundParts extends OwnerRenewalParts {
  /**
   * Schedules work on the thread fairly: each owner's renewal gets the same share
   * as any other caller.
   */
  readonly turns?: Pick<FairTurns, "begin"> | undefined;
}

/** Options of {@linkcode RenewalRound}. */
interface RenewalRoundOptions extends RenewalRoundParts {
  /** Hears what is done. */
  readonly report: RenewalReport;
  /** Owners with entries that have to wait. */
  readonly leftOwners: LeftOwners;
}

/** The name of an owner. */
export type NamedOwner = Pick<MemoryOwner, "owner">;

/** Goes through owners. */
export class RenewalRound {
  readonly #options: RenewalRoundOptions;
  /**
   * Owners without due entries, as loading their index has shown, with the
   * number of their memories.
   */
  readonly #clean = new Map<string, number>();

  /** Knows nothing of any owner. */
  constructor(options: RenewalRoundOptions) {
    this.#options = options;
  }

  /** Notes that an owner has no due entries among so many memories. */
  noteClean(owner: string, memories: number): void {
    this.#clean.set(owner, memories);
  }

  /** Forgets which owners have no due entries. */
  forgetClean(): void {
    this.#clean.clear();
  }

  /**
   * Goes through the entries of some owners.
   *
   * @throws the signal's reason when it ends early, and what the store throws
   * when it does not work
   */
  async run(
    owners: AsyncIterable<NamedOwner> | readonly NamedOwner[],
    signal: AbortSignal,
  ): Promise<void> {
    const { report } = this.#options;
    const begun = new Map<string, string>();
    for await (const { owner } of owners) {
      signal.throwIfAborted();
      const clean = this.#clean.get(owner);
      if (clean !== undefined) {
        report.checked(clean);
        continue;
      }
      const nextId = await this.#renew(owner, { signal });
      if (nextId !== undefined) begun.set(owner, nextId);
    }
    while (begun.size > 0) {
      for (const [owner, fromId] of begun) {
        const nextId = await this.#renew(owner, { signal, fromId });
        if (nextId === undefined) begun.delete(owner);
        else begun.set(owner, nextId);
      }
    }
  }

  /**
   * @returns the id after which to go on once others had their turn; undefined
   * at the end
   */
  async #renew(
    owner: string,
    { signal, fromId }: {
      readonly signal: AbortSignal;
      readonly fromId?: string | undefined;
    },
  ): Promise<string | undefined> {
    const { turns, report, leftOwners } = this.#options;
    const known = leftOwners.begin(owner);
    const before = fromId === undefined ? known : undefined;
    const failed = new Set(known?.failed);
    let left: LeftEntries | undefined;
    let nextId: string | undefined;
    try {
      const outcome = await renewOwner(owner, {
        ...this.#options,
        ...{ before, fromId, signal },
        pausing: await ownTurn(turns, { group: "renewal", member: owner }),
        ...{ failed, listener: report },
      });
      nextId = outcome.nextId;
      left = fromId === undefined
        ? outcome.left
        : joinLeftEntries(known, outcome.left);
    } catch (error) {
      left = known;
      signal.throwIfAborted();
      if (isStorageFailure(error)) throw error;
      // This owner's entries may be possible another time, and those of others
      // now.
      left ??= { entries: 1, afterId: undefined, locked: undefined };
      report.tellError(error);
    } finally {
      report.waiting(0);
      leftOwners.end(owner, { left, failed });
    }
    return nextId;
  }
}
