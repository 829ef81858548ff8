/**
 * Renews entries of the index that an earlier program or another embedder has
 * made. It works in the background and at a bounded rate, while recall goes on.
 * After a crash the renewal continues where it stopped.
 *
 * @module
 */

import { steadyClock, steadyMs } from "../../shared/clock.ts";
import { Periodic } from "../../shared/periodic.ts";
import { unlessAborted } from "../../shared/settled.ts";
import { type RelayerStore, storedOwners } from "../store/store.ts";
import { LeftOwners } from "./left_owners.ts";
import { type RenewalProgress, RenewalReport } from "./renewal_report.ts";
import {
  type NamedOwner,
  RenewalRound,
  type RenewalRoundParts,
} from "./renewal_round.ts";

/** Options of {@linkcode EntryRenewal}. */
interface EntryRenewalOptions extends RenewalRoundParts {
  /** Keeps rows. */
  readonly store:
    & RenewalRoundParts["store"]
    & Pick<RelayerStore, "memoryOwners" | "memoryCount">;
  /**
   * Whether it is this instance that goes through the memories of all owners.
   * Each instance renews what it has stored itself without a vector, and words
   * that are in its memory only.
   *
   * @default there is no other
   */
  readonly isMine?: (() => boolean) | undefined;
}

const PROGRESS_EVERY_MS = 10_000;

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
  readonly #report: RenewalReport;
  readonly #round: RenewalRound;
  readonly #left = new LeftOwners();
  #memories = 0;
  /** Whether all memories are still to be looked at. */
  #isPassDue = true;
  /** How often an instance was gone. */
  #gone = 0;
  /** When the last minute's round of owners began, by a steady clock. */
  #sweptMs = 0;
  #wake: () => void = () => {};
  #isWoken = false;
  #running: Promise<void> = Promise.resolve();

  /** A renewal that has done nothing. */
  constructor(options: EntryRenewalOptions) {
    this.#options = options;
    this.#report = new RenewalReport(options.logger);
    this.#round = new RenewalRound({
      ...options,
      ...{ report: this.#report, leftOwners: this.#left },
    });
  }

  /** How far the renewal is. */
  get progress(): RenewalProgress {
    return this.#report.progress({
      memories: this.#isPassing ? this.#memories : undefined,
      left: this.#left.entries,
    });
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
    if (due === 0 && this.#isPassing) this.#round.noteClean(owner, memories);
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
   * Notes that an instance is gone. The memories that it has stored without a
   * vector are left to the instance that goes through those of all owners.
   */
  noteGone(): void {
    this.#gone++;
    this.#isPassDue = true;
    this.#isWoken = true;
    this.#wake();
  }

  /**
   * Begins in the background. Entries that have to wait are tried again each
   * minute, and when their owner recalls. Those that wait for a session of the
   * owner are tried only when the owner recalls.
   *
   * @param after The renewal begins once this is fulfilled.
   */
  start(after: Promise<unknown>): void {
    const { signal } = this.#ending;
    this.#running = this.#rounds(after, signal).catch((error) => {
      if (!signal.aborted) this.#report.tellError(error);
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
      run: () => this.#report.tell(this.progress),
      onError: (error) => this.#report.tellError(error),
    });
    telling.start();
    try {
      this.#report.beginPass();
      this.#left.clear();
      this.#memories = await this.#options.store.memoryCount();
      const gone = this.#gone;
      await this.#round.run(this.#ownersWhileMine(), signal);
      if (this.#isMine && this.#gone === gone) this.#isPassDue = false;
      this.#round.forgetClean();
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
        this.#report.endPass();
        isFirst = true;
      }
      if (isFirst) this.#sweptMs = steadyMs(clock);
      const { progress } = this;
      const tookMs = Math.round(steadyMs(clock) - startedMs);
      this.#report.tellRound(progress, tookMs);
      await this.#pause(HERE_MS, signal);
      const sinceMs = steadyMs(clock) - this.#sweptMs;
      const isIdle = progress.waiting === 0 && this.#keepsWords;
      const idleMs = this.#options.isMine === undefined ? IDLE_MS : AGAIN_MS;
      const restMs = isIdle ? idleMs : AGAIN_MS - sinceMs;
      await this.#pause(restMs, signal, { canWake: true });
      // The instance that does it meanwhile may leave something undone.
      if (!this.#isMine) this.#isPassDue = true;
      if (this.#isPassing) continue;
      await this.#tried(
        () => this.#round.run(this.#nextOwners(), signal),
        signal,
      );
    }
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
      this.#report.tellError(error);
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
