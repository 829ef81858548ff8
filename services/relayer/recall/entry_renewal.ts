/**
 * Renews entries of the index that an earlier program or another embedder has
 * made, in the background and at a bounded rate, while recall goes on. After a
 * crash the renewal continues where it stopped.
 *
 * @module
 */

import { steadyClock } from "../../shared/clock.ts";
import type { FairTurns } from "../../shared/fair_turns.ts";
import { Periodic } from "../../shared/periodic.ts";
import { describeError, unlessAborted } from "../../shared/settled.ts";
import { ownTurn, steadyMs } from "../concurrency/bounded_work.ts";
import {
  type MemoryOwner,
  type RelayerStore,
  storedOwners,
} from "../store/store.ts";
import { isStorageFailure } from "../store/storage_watch.ts";
import { joinLeftEntries, LeftOwners } from "./left_owners.ts";
import {
  type LeftEntries,
  type OwnerRenewalParts,
  renewOwner,
} from "./owner_renewal.ts";

/** Options of {@linkcode EntryRenewal}. */
interface EntryRenewalOptions extends OwnerRenewalParts {
  /** Keeps rows. */
  readonly store:
    & OwnerRenewalParts["store"]
    & Pick<RelayerStore, "memoryOwners" | "memoryCount">;
  /**
   * Deals out turns of the thread; each owner's renewal gets as many as any
   * other caller.
   */
  readonly turns?: Pick<FairTurns, "begin"> | undefined;
  /**
   * Whether it is this instance that goes through the memories of all owners.
   * Each instance renews what it has stored itself without a vector, and words
   * that are in its memory only.
   *
   * @default there is no other
   */
  readonly isMine?: (() => boolean) | undefined;
}

/**
 * How far the renewal is: done when no memory is unchecked and no entry waits.
 */
export interface RenewalProgress {
  /** Memories that were looked at, without those that were superseded. */
  readonly checked: number;
  /**
   * About how many memories are still to be looked at; at least 1 until all
   * were.
   */
  readonly unchecked: number;
  /** Entries that were made again. */
  readonly renewed: number;
  /** Entries that can never be made again: their text is lost or refused. */
  readonly failed: number;
  /**
   * Entries that have to wait: for the owner's key, their blob or the embedder.
   */
  readonly waiting: number;
}

const PROGRESS_EVERY_MS = 10_000;
type NamedOwner = Pick<MemoryOwner, "owner">;

/** How often entries are tried again that may be possible after some time. */
const AGAIN_MS = 60_000;
/** How long a renewal rests that nothing waits for. */
const IDLE_MS = 3_600_000;
/** The least time between two rounds, for owners who recall all the time. */
const HERE_MS = 1_000;

/** Renews the entries of all owners. */
export class EntryRenewal {
  readonly #options: EntryRenewalOptions;
  readonly #ending = new AbortController();
  /**
   * Owners without due entries, as loading their index has shown, with the
   * number of their memories.
   */
  readonly #clean = new Map<string, number>();
  readonly #left = new LeftOwners();
  /** How many entries can never be made again, by the reason. */
  readonly #failed = new Map<string, number>();
  readonly #counts = { checked: 0, renewed: 0 };
  #memories = 0;
  /** Entries of the owner at hand that wait for the embedder. */
  #atHand = 0;
  /** Whether all memories are still to be looked at. */
  #isPassDue = true;
  /** How often an instance was gone. */
  #gone = 0;
  /** When the last minute's round of owners began, by a steady clock. */
  #sweptMs = 0;
  #wake: () => void = () => {};
  #isWoken = false;
  #lastError = "";
  /** What of the progress was logged last. */
  #told = NOTHING;
  #running: Promise<void> = Promise.resolve();

  /** A renewal that has done nothing. */
  constructor(options: EntryRenewalOptions) {
    this.#options = options;
  }

  /** How far the renewal is. */
  get progress(): RenewalProgress {
    const { checked, renewed } = this.#counts;
    const unchecked = this.#isPassing
      ? Math.max(1, this.#memories - checked)
      : 0;
    const waiting = this.#atHand + this.#left.entries;
    let failed = 0;
    for (const count of this.#failed.values()) failed += count;
    return { checked, unchecked, renewed, failed, waiting };
  }

  /**
   * Notes what loading all entries of an owner has shown, so that the renewal
   * need not read them again.
   */
  noteRead(
    owner: string,
    { memories, due }: {
      /** Memories that were read. */
      readonly memories: number;
      /** Memories whose entries are due to be renewed. */
      readonly due: number;
    },
  ): void {
    if (due === 0 && this.#isPassing) this.#clean.set(owner, memories);
    if (due === 0 || this.#isPassing || this.#keepsWords) return;
    // The owner was evicted from memory, and with it words that are not stored.
    this.#left.noteEvicted(owner, due);
  }

  /**
   * Notes that a memory was stored without its vector, so that it is made once
   * the embedder can.
   */
  noteDue(memory: { readonly owner: string; readonly id: string }): void {
    this.#left.noteDue(memory);
    this.#wake();
  }

  /**
   * Notes that an owner recalls: entries that wait for the owner's key may be
   * possible now.
   */
  noteRecall(owner: string): void {
    if (this.#left.noteRecall(owner)) this.#wake();
  }

  /**
   * Notes that an instance is gone: what it has stored without a vector is left
   * to the one that goes through the memories of all owners.
   */
  noteGone(): void {
    this.#gone++;
    this.#isPassDue = true;
    this.#isWoken = true;
    this.#wake();
  }

  /**
   * Begins in the background. Entries that have to wait are tried again each
   * minute, and when their owner recalls; those that wait for a session of the
   * owner only when the owner recalls.
   *
   * @param after The renewal begins once this is fulfilled.
   */
  start(after: Promise<unknown>): void {
    const { signal } = this.#ending;
    this.#running = this.#rounds(after, signal).catch((error) => {
      if (!signal.aborted) this.#tell(error);
    });
  }

  /** Ends what is under way. */
  async stop(): Promise<void> {
    this.#ending.abort(
      new Error(
        "Cannot renew entries: the renewal was stopped",
      ),
    );
    await this.#running;
  }

  /**
   * Goes through the memories of all owners once, and logs how far it is.
   *
   * @param signal Ends it early; what is done stays.
   * @throws the signal's reason when it ends early, and what the store throws
   * when it does not work
   */
  async run(signal: AbortSignal): Promise<RenewalProgress> {
    const telling = new Periodic({
      clock: this.#options.clock,
      intervalMs: PROGRESS_EVERY_MS,
      run: () => this.#logProgress("Renewing entries of the index"),
      onError: (error) => this.#tell(error),
    });
    telling.start();
    try {
      // A pass that was broken off has counted memories that this one counts
      // again.
      this.#counts.checked = 0;
      this.#failed.clear();
      this.#left.clear();
      this.#memories = await this.#options.store.memoryCount();
      const gone = this.#gone;
      await this.#round(this.#ownersWhileMine(), signal);
      if (this.#isMine && this.#gone === gone) this.#isPassDue = false;
      this.#clean.clear();
    } finally {
      await telling.stop();
    }
    return this.progress;
  }

  async #rounds(after: Promise<unknown>, signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    await unlessAborted(after, signal);
    const startedMs = steadyMs(clock);
    for (let isFirst = true;; isFirst = false) {
      while (this.#isPassing) {
        await this.#tried(() => this.run(signal), signal);
        this.#told = NOTHING;
        isFirst = true;
      }
      if (isFirst) this.#sweptMs = steadyMs(clock);
      const { progress } = this;
      this.#logProgress("Renewed entries of the index", {
        ...Object.fromEntries(this.#failed),
        tookMs: Math.round(steadyMs(clock) - startedMs),
      });
      await this.#pause(HERE_MS, signal);
      const sinceMs = steadyMs(clock) - this.#sweptMs;
      const isIdle = progress.waiting === 0 && this.#keepsWords;
      const idleMs = this.#options.isMine === undefined ? IDLE_MS : AGAIN_MS;
      const restMs = isIdle ? idleMs : AGAIN_MS - sinceMs;
      await this.#pause(restMs, signal, { canWake: true });
      // The instance that does it meanwhile may leave something undone.
      if (!this.#isMine) this.#isPassDue = true;
      if (this.#isPassing) continue;
      await this.#tried(() => this.#round(this.#nextOwners(), signal), signal);
    }
  }

  #logProgress(line: string, fields: Record<string, unknown> = {}): void {
    const { progress } = this;
    if (worth(progress) === this.#told) return;
    this.#told = worth(progress);
    this.#options.logger.info(line, { ...progress, ...fields });
  }

  get #isMine(): boolean {
    return this.#options.isMine?.() ?? true;
  }

  /** Whether this instance has to look at all memories. */
  get #isPassing(): boolean {
    return this.#isPassDue && this.#isMine;
  }

  async *#ownersWhileMine(): AsyncGenerator<NamedOwner> {
    for await (const owner of storedOwners(this.#options.store)) {
      if (!this.#isMine) return;
      yield owner;
    }
  }

  get #keepsWords(): boolean {
    return this.#options.vault.keepsWords;
  }

  /**
   * Runs work; when it fails, logs that and waits, so that the caller may try
   * again.
   */
  async #tried(
    work: () => Promise<unknown>,
    signal: AbortSignal,
  ): Promise<void> {
    try {
      await work();
    } catch (error) {
      signal.throwIfAborted();
      this.#tell(error);
      await this.#pause(AGAIN_MS, signal);
    }
  }

  /** The owners to try again; all whom time may help once a minute. */
  #nextOwners(): readonly NamedOwner[] {
    const nowMs = steadyMs(this.#options.clock);
    const isForAll = nowMs - this.#sweptMs >= AGAIN_MS;
    if (isForAll) this.#sweptMs = nowMs;
    return this.#left.takeNext({ isForAll }).map((owner) => ({ owner }));
  }

  async #round(
    owners: AsyncIterable<NamedOwner> | readonly NamedOwner[],
    signal: AbortSignal,
  ): Promise<void> {
    const begun = new Map<string, string>();
    for await (const { owner } of owners) {
      signal.throwIfAborted();
      const clean = this.#clean.get(owner);
      if (clean !== undefined) {
        this.#counts.checked += clean;
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
    const known = this.#left.begin(owner);
    const before = fromId === undefined ? known : undefined;
    const failed = new Set(known?.failed);
    let left: LeftEntries | undefined;
    let nextId: string | undefined;
    const { turns } = this.#options;
    try {
      const outcome = await renewOwner(owner, {
        ...this.#options,
        ...{ before, fromId, signal },
        pausing: await ownTurn(turns, { group: "renewal", member: owner }),
        isFailed: (id) => failed.has(id),
        listener: {
          checked: (memories) => this.#counts.checked += memories,
          renewed: (entries) => this.#counts.renewed += entries,
          waiting: (entries) => this.#atHand = entries,
          failed: (id, reason) => {
            failed.add(id);
            this.#failed.set(reason, (this.#failed.get(reason) ?? 0) + 1);
          },
        },
        rest: (ms) => this.#pause(ms, signal),
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
      this.#tell(error);
    } finally {
      this.#atHand = 0;
      this.#left.end(owner, { left, failed });
    }
    return nextId;
  }

  /** Logged once, because a failure usually affects many owners. */
  #tell(error: unknown): void {
    const described = describeError(error);
    if (described === this.#lastError) return;
    this.#lastError = described;
    this.#options.logger.error("Cannot renew entries of the index", {
      error: described,
    });
  }

  /** @throws the signal's reason when it ends early */
  async #pause(
    ms: number,
    signal: AbortSignal,
    { canWake }: { readonly canWake: boolean } = { canWake: false },
  ): Promise<void> {
    const over = Promise.withResolvers<void>();
    const timer = steadyClock(this.#options.clock).setTimer(over.resolve, ms);
    if (canWake) this.#wake = over.resolve;
    if (canWake && (this.#left.hasHere || this.#isWoken)) over.resolve();
    if (canWake) this.#isWoken = false;
    try {
      await unlessAborted(over.promise, signal);
    } finally {
      this.#wake = () => {};
      timer.cancel();
    }
  }
}

/** The result of {@linkcode worth} when no entry was renewed, failed or waits. */
const NOTHING = "0 0 0";

/** The part of the progress that is logged again when it has changed. */
function worth({ renewed, failed, waiting }: RenewalProgress): string {
  return [renewed, failed, waiting].join(" ");
}
