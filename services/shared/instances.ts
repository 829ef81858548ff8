/**
 * This instance among those that share the store: its beats, the duties that it
 * holds, and which instances live.
 *
 * A component asks when it is about to act: {@linkcode Instances.isFenced}
 * before it claims or calls, {@linkcode Instances.holds} before a round of
 * background work, {@linkcode Instances.findGone} before it judges an attempt
 * lost. The versions of the store refuse what two instances do all the same. So
 * these answers save work and prevent calls, and nothing else rests on them.
 *
 * @module
 */

import { type Clock, steadyClock, type Timer } from "./clock.ts";
import type { Logger } from "./logger.ts";
import {
  BEAT_EVERY_MS,
  type BeatAnswer,
  type Duty,
  FENCED_AFTER_MS,
  type Member,
} from "./members.ts";
import { Periodic } from "./periodic.ts";
import { VERSION } from "./version.ts";
import type { CommonNotice, InstanceStore } from "./instance_store.ts";

/** No instance is judged dead without an answer. */
const CANNOT_TELL =
  "Cannot tell which instances live: the store did not answer";

/** What has changed. */
export type InstanceChange =
  /** A beat was answered, so duties may have come or gone. */
  | {
    readonly kind: "answered";
    /** The members that were there before and have died or left. */
    readonly gone: readonly string[];
    /** Whether the instance was fenced until now. */
    readonly isBack: boolean;
  }
  /** Others may take over what this instance does; see `isFenced`. */
  | { readonly kind: "fenced" };

/** What knows the members of a store, whatever else its instances tell. */
interface MemberStore
  extends Pick<InstanceStore<CommonNotice>, "beat" | "leave" | "tell"> {
  /** See {@linkcode InstanceStore.onNotice}. */
  onNotice(listen: (notice: { readonly kind: string }) => void): () => void;
}

/** Options of {@linkcode Instances}. */
interface InstancesOptions<DutyName extends string> {
  /** Knows the members. */
  readonly store: MemberStore;
  /**
   * The background work that one instance at a time does, the most urgent first:
   * when an instance dies, the next beat takes over as much as its fair share.
   * Each of them may be done twice for a moment without harm.
   */
  readonly duties: readonly DutyName[];
  /** Measures the time between beats. */
  readonly clock: Clock;
  /** Creates the ids of this instance: one each time it joins. */
  readonly newId: (prefix: string) => string;
  /** Logs failed beats. */
  readonly logger: Logger;
  /**
   * Where the instance listens, for people.
   *
   * @default nowhere
   */
  readonly address?: string | undefined;
}

/** Knows this instance and the others. */
export class Instances<DutyName extends string = string> {
  readonly #options: InstancesOptions<DutyName>;
  /** Measures silence, whatever the time of day is set to. */
  readonly #clock: Clock;
  readonly #beats: Periodic;
  readonly #listeners = new Set<(change: InstanceChange) => void>();
  #state: "apart" | "joined" | "left" = "apart";
  #id: string;
  #members: readonly Member[] = [];
  #duties: readonly Duty[] = [];
  #held: ReadonlySet<string> = new Set();
  /** How many beats were sent, and the number of the last one answered. */
  #sent = 0;
  #answered = 0;
  /** When that one was sent. */
  #answeredMs: number | undefined;
  #fenceTimer: Timer | undefined;
  #wasFenced = false;
  #hasHeardOthers = false;
  #endListening: (() => void) | undefined;

  /**
   * An instance that is apart: until it joins, it counts as the only one, as in
   * a command or a test of one part.
   */
  constructor(options: InstancesOptions<DutyName>) {
    const { clock, newId, logger } = options;
    this.#options = options;
    this.#clock = steadyClock(clock);
    this.#id = newId("boot");
    this.#beats = new Periodic({
      clock,
      intervalMs: BEAT_EVERY_MS,
      run: () => this.#beat(),
      retry: { firstMs: BEAT_EVERY_MS / 8, maxMs: BEAT_EVERY_MS },
      onError: (error) =>
        logger.warn("Cannot tell that this instance lives: the store failed", {
          error: String(error),
        }),
    });
  }

  /** The id of this instance, which is another one each time it joins. */
  get id(): string {
    return this.#id;
  }

  /** The members as of the last beat. */
  get members(): readonly Member[] {
    return this.#members;
  }

  /** The duties of all members as of the last beat. */
  get duties(): readonly Duty[] {
    return this.#duties;
  }

  /**
   * Whether other instances share the store, as far as is known, so that they
   * have to be told something.
   */
  get hasOthers(): boolean {
    return this.#members.length > 1 || this.#hasHeardOthers;
  }

  /**
   * Whether others may count this instance as dead, since its beats were not
   * answered for so long. It then claims nothing, makes no calls and does no
   * duty.
   */
  get isFenced(): boolean {
    if (this.#state === "apart") return false;
    return this.#state === "left" || this.#answeredMs === undefined ||
      this.#clock.nowMs() - this.#answeredMs >= FENCED_AFTER_MS;
  }

  /**
   * Whether this instance may act. When it is fenced, it asks the store first:
   * a process that only stood still goes on at once where it is alone.
   */
  async mayAct(): Promise<boolean> {
    if (this.isFenced && this.#state === "joined") {
      await this.#beats.runOnce();
    }
    return !this.isFenced;
  }

  /** Whether it is this instance that does a duty now. */
  holds(duty: DutyName): boolean {
    if (this.#state === "apart") return true;
    return this.#held.has(duty) && !this.isFenced;
  }

  /**
   * Those of some instances that have died or left, and will never come back.
   * Their names have to be read before the call. An instance that is not known
   * yet is looked for in the store, so one that has just joined is never taken
   * for dead.
   *
   * @throws {Error} when the store does not answer
   */
  async findGone(ids: Iterable<string>): Promise<ReadonlySet<string>> {
    const wanted = new Set(ids);
    const isUnknown = (): boolean =>
      !wanted.isSubsetOf(new Set(this.#members.map(({ id }) => id)));
    if (this.#state === "left") throw new Error(CANNOT_TELL);
    if (this.#state === "joined" && isUnknown()) {
      const before = this.#sent;
      await this.#beats.runOnce();
      if (this.#answered <= before) {
        throw new Error(CANNOT_TELL);
      }
    }
    wanted.delete(this.#id);
    for (const { id } of this.#members) wanted.delete(id);
    return wanted;
  }

  /**
   * Adds a listener, which must not throw.
   *
   * @returns a function that removes it
   */
  onChange(listen: (change: InstanceChange) => void): () => void {
    this.#listeners.add(listen);
    return () => void this.#listeners.delete(listen);
  }

  /**
   * Joins the members. Nothing may be claimed before it resolves: others would
   * take the attempts for those of a dead instance.
   *
   * @throws {Error} when the store fails
   */
  async join(): Promise<void> {
    if (this.#state === "left") this.#id = this.#options.newId("boot");
    this.#state = "joined";
    this.#endListening = this.#options.store.onNotice((notice) =>
      this.#heard(notice)
    );
    try {
      await this.#beat();
    } catch (error) {
      this.#end();
      throw error;
    }
    this.#beats.start();
    this.#options.store.tell([{ kind: "members" }]);
  }

  /**
   * Leaves, so that others take over at once. The caller has ended its work
   * before.
   */
  async leave(): Promise<void> {
    if (this.#state !== "joined") return;
    await this.#beats.stop();
    this.#end();
    const { store, logger } = this.#options;
    try {
      await store.leave(this.#id);
      store.tell([{ kind: "members" }]);
    } catch (error) {
      logger.warn(
        "Cannot tell that this instance leaves: the store failed, and others " +
          "take over in some seconds",
        { error: String(error) },
      );
    }
  }

  #end(): void {
    this.#state = "left";
    this.#fenceTimer?.cancel();
    this.#endListening?.();
    this.#members = [];
    this.#duties = [];
    this.#held = new Set();
    this.#answeredMs = undefined;
  }

  /** Asks for the members at once when some may have joined or left. */
  #heard({ kind }: { readonly kind: string }): void {
    // The store itself says that there was a gap.
    if (kind !== "gap") this.#hasHeardOthers = true;
    if (kind === "members" || kind === "gap") this.#beats.wake();
  }

  async #beat(): Promise<void> {
    const { store, duties, address = "" } = this.#options;
    const sent = ++this.#sent;
    const sentMs = this.#clock.nowMs();
    const answer = await store.beat({
      id: this.#id,
      version: VERSION,
      address,
      wants: duties,
      sinceLastMs: this.#answeredMs === undefined
        ? undefined
        : sentMs - this.#answeredMs,
    });
    if (this.#state !== "joined") return;
    if (answer.kind === "expired") return await this.#joinAgain();
    this.#answered = sent;
    this.#take(answer, sentMs);
  }

  /**
   * Joins under another id: others have taken over what the instance with the
   * old one did, and judge its attempts.
   */
  async #joinAgain(): Promise<void> {
    const { newId, logger } = this.#options;
    logger.warn(
      "This instance was silent for so long that others have taken over its " +
        "work; it goes on as a new one",
      { instance: this.#id },
    );
    this.#answeredMs = undefined;
    this.#fence();
    this.#id = newId("boot");
    await this.#beat();
  }

  #take(
    { members, duties }: Extract<BeatAnswer, { kind: "member" }>,
    sentMs: number,
  ): void {
    const left = new Set(members.map(({ id }) => id));
    const gone = this.#members.flatMap(({ id }) => left.has(id) ? [] : [id]);
    this.#members = members;
    this.#duties = duties;
    this.#held = new Set(
      duties.filter(({ holder }) => holder === this.#id)
        .map(({ name }) => name),
    );
    this.#answeredMs = sentMs;
    this.#hasHeardOthers = false;
    this.#fenceInTime(sentMs);
    // An answer that came very late does not end the fence.
    if (this.isFenced) return;
    const isBack = this.#wasFenced;
    this.#wasFenced = false;
    this.#notify({ kind: "answered", gone, isBack });
  }

  /** A timer may fire a fraction of a millisecond early, and is set again then. */
  #fenceInTime(answeredMs: number): void {
    this.#fenceTimer?.cancel();
    const leftMs = answeredMs + FENCED_AFTER_MS - this.#clock.nowMs();
    this.#fenceTimer = this.#clock.setTimer(
      () => this.isFenced ? this.#fence() : this.#fenceInTime(answeredMs),
      // By rounding, nothing may be left although the time has not come.
      Math.max(1, Math.ceil(leftMs)),
    );
  }

  #fence(): void {
    if (this.#wasFenced || !this.isFenced) return;
    this.#wasFenced = true;
    this.#options.logger.warn(
      "This instance pauses: the store has not answered, and others may take " +
        "over",
      { instance: this.#id },
    );
    this.#notify({ kind: "fenced" });
  }

  #notify(change: InstanceChange): void {
    for (const listen of this.#listeners) listen(change);
  }
}
