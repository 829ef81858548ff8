/**
 * Owners with entries that could not be renewed yet, and whose turn it is to be
 * tried again.
 *
 * @module
 */

import type { OwnerKeyFailure } from "../vault/vault.ts";
import type { LeftEntries } from "./owner_renewal.ts";

/** An owner whose entries have to wait. */
interface LeftOwner extends LeftEntries {
  /** Ids of entries that can never be made again: they are not tried again. */
  readonly failed: ReadonlySet<string>;
}

/** Most owners who are tried again each minute. */
const AGAIN_OWNERS = 200;

/** Owners whose entries have to wait. */
export class LeftOwners {
  /** Those that were tried last are last. */
  readonly #left = new Map<string, LeftOwner>();
  /** Those who recall now, so that their keys may be had. */
  readonly #here = new Set<string>();
  /** The owner whose entries are being renewed. */
  #atHand: string | undefined;
  /** Entries of that owner that became due meanwhile. */
  #dueAtHand: LeftEntries | undefined;

  /** How many entries wait, without those of the owner at hand. */
  get entries(): number {
    let entries = 0;
    for (const left of this.#left.values()) entries += left.entries;
    return entries;
  }

  /** Whether an owner is here to be tried at once. */
  get hasHere(): boolean {
    return this.#here.size > 0;
  }

  /** Forgets all owners. */
  clear(): void {
    this.#left.clear();
  }

  /** Notes that a memory was stored without its vector. */
  noteDue(
    { owner, id }: { readonly owner: string; readonly id: string },
  ): void {
    // Ids are in the order of their time: a part of one comes before it.
    const due = { entries: 1, afterId: id.slice(0, -1), locked: undefined };
    if (owner === this.#atHand) this.#dueAtHand = joined(this.#dueAtHand, due);
    else {
      const known = this.#left.get(owner);
      const failed = known?.failed ?? new Set<string>();
      this.#left.set(owner, { ...joined(known, due), failed });
    }
    this.#here.add(owner);
  }

  /** Notes that an owner recalls; tells whether entries wait for the owner. */
  noteRecall(owner: string): boolean {
    if (!this.#left.has(owner) && owner !== this.#atHand) return false;
    this.#here.add(owner);
    return true;
  }

  /** Notes that words of an owner left the memory and are stored nowhere. */
  noteEvicted(owner: string, entries: number): void {
    if (this.#left.has(owner) || owner === this.#atHand) return;
    const locked = "session_required";
    const failed = new Set<string>();
    this.#left.set(owner, { entries, afterId: undefined, locked, failed });
  }

  /** Begins with an owner; returns what was left of the last time. */
  begin(owner: string): LeftOwner | undefined {
    this.#atHand = owner;
    return this.#left.get(owner);
  }

  /** Ends with the owner at hand, of whom `left` has to wait. */
  end(
    owner: string,
    { left, failed }: {
      readonly left: LeftEntries | undefined;
      readonly failed: LeftOwner["failed"];
    },
  ): void {
    const due = this.#dueAtHand;
    this.#atHand = undefined;
    this.#dueAtHand = undefined;
    const all = due === undefined ? left : joined(left, due);
    this.#left.delete(owner);
    if (all !== undefined) this.#left.set(owner, { ...all, failed });
  }

  /**
   * Takes the owners to try again: those who recall now, and with `isForAll`
   * those who were not tried for longest.
   */
  takeNext({ isForAll }: { readonly isForAll: boolean }): readonly string[] {
    const here = [...this.#here].filter((owner) => this.#left.has(owner));
    this.#here.clear();
    if (!isForAll) return here;
    const others = [...this.#left]
      .filter(([, { locked }]) => !isForOwner(locked))
      .map(([owner]) => owner).slice(0, AGAIN_OWNERS);
    return [...new Set([...here, ...others])];
  }
}

/**
 * Joins the entries left by two parts of an owner's memories, the earlier part
 * first.
 */
export function joinLeftEntries(
  earlier: LeftEntries | undefined,
  later: LeftEntries | undefined,
): LeftEntries | undefined {
  if (earlier === undefined || later === undefined) return earlier ?? later;
  const { afterId } = earlier;
  const entries = earlier.entries + later.entries;
  return { entries, afterId, locked: later.locked };
}

/** Joins entries of one owner that are left with some that became due. */
function joined(
  left: LeftEntries | undefined,
  due: LeftEntries,
): LeftEntries {
  if (left === undefined) return due;
  const { afterId, locked, entries } = left;
  const isLater = afterId !== undefined && due.afterId !== undefined &&
    afterId > due.afterId;
  return {
    entries: entries + due.entries,
    afterId: isLater ? due.afterId : afterId,
    locked,
  };
}

/**
 * Tells whether waiting does not help, since a delegate of the owner has to
 * come.
 */
function isForOwner(locked: OwnerKeyFailure | undefined): boolean {
  return locked === "session_required" || locked === "refused";
}
