/**
 * The part of a store's interface by which several instances of a service work
 * on one store: their beats, what they tell each other, and the time that
 * counts for all of them.
 *
 * @module
 */

import type { Clock } from "./clock.ts";
import {
  applyBeat,
  type Beat,
  type BeatAnswer,
  type MemberState,
  NO_MEMBERS,
  removeMember,
} from "./members.ts";

/** What instances of any service tell each other. */
export type CommonNotice =
  /** An instance has joined or left, so the members have to be asked for. */
  | { readonly kind: "members" }
  /** There is work for the holder of a duty, before its next round. */
  | { readonly kind: "duty"; readonly duty: string }
  /** Notices may have been lost; everything has to be looked at. */
  | { readonly kind: "gap" };

/** Lets instances work on one store. */
export interface InstanceStore<Notice> {
  /**
   * The time by which the store's instants are judged. It is the machine's
   * clock where one instance has the store for itself, else that of the store,
   * so that clocks of machines that differ start nothing early.
   */
  readonly clock: Clock;
  /**
   * Whether {@linkcode InstanceStore.clock} is that of the store, and not of
   * this machine. Then a step of this machine's clock changes nothing, and an
   * instance must not shift leases, since each one would.
   */
  readonly hasOwnTime: boolean;
  /**
   * Whether leases may be judged to have ended. False for some seconds after
   * another server has taken over the store, whose time may differ.
   */
  mayEndLeases(): boolean;
  /**
   * Resolves when the store can be read and, as far as is known, written; with
   * what the operator should know about it, if there is something.
   *
   * @throws {StoreFailedError} when it cannot
   */
  check(): Promise<string | undefined>;
  /**
   * Notes that an instance lives, and shares the duties out.
   *
   * @throws {StoreFailedError} when the store fails
   */
  beat(beat: Beat): Promise<BeatAnswer>;
  /**
   * Removes an instance that stops, so that others take over at once.
   *
   * @throws {StoreFailedError} when the store fails
   */
  leave(id: string): Promise<void>;
  /**
   * Tells other instances, soon and in bundles. Notices may be lost, late or
   * doubled: a listener looks by itself as well, only less often.
   */
  tell(notices: readonly Notice[]): void;
  /**
   * Calls `listen` with what other instances tell.
   *
   * @returns a function that ends it
   */
  onNotice(listen: (notice: Notice) => void): () => void;
}

/**
 * The members of a store that one process has for itself: as a rule one, which
 * gets all duties.
 */
export class OwnMembers {
  readonly #clock: Pick<Clock, "nowMs">;
  #state: MemberState = NO_MEMBERS;

  /** Without members; the clock's time is the store's. */
  constructor(clock: Pick<Clock, "nowMs">) {
    this.#clock = clock;
  }

  /** Notes that an instance lives; see {@linkcode InstanceStore.beat}. */
  beat(beat: Beat): BeatAnswer {
    const time = { nowMs: this.#clock.nowMs(), server: "" };
    const { state, answer } = applyBeat(this.#state, beat, time);
    this.#state = state;
    return answer;
  }

  /** Removes an instance. */
  leave(id: string): void {
    this.#state = removeMember(this.#state, id);
  }

  /** Whether an instance is a member. */
  has(id: string): boolean {
    return this.#state.members.some((member) => member.id === id);
  }
}
