/**
 * The instances of a service that share a store, and the duties that they hold:
 * background work that one instance at a time does. The rules are a function of
 * the stored state and the store's time, the same for every store.
 *
 * An instance beats every {@linkcode BEAT_EVERY_MS}. One that could not beat
 * for {@linkcode FENCED_AFTER_MS}, by a clock of its own that only goes
 * forward, stops its work; one that was not seen for {@linkcode DEAD_AFTER_MS},
 * by the store's time, is dead, and others take over what it held. The
 * difference is what clocks may disagree by.
 *
 * @module
 */

/** Milliseconds between two beats of an instance. */
export const BEAT_EVERY_MS = 2_000;
/** After how long without a beat an instance stops its own work. */
export const FENCED_AFTER_MS = 6_000;
/** After how long without a beat an instance counts as dead. */
export const DEAD_AFTER_MS = 8_000;
/**
 * By how much more than the own clock the store's time may have moved between
 * two beats, before it counts as set.
 */
const MAX_STEP_MS = 2_000;

/** A running instance. */
export interface Member {
  /** Its id, which is new with each start. */
  readonly id: string;
  /** Rises with each instance that joins. */
  readonly epoch: number;
  /** The program's version. */
  readonly version: string;
  /** Where it listens, for people; empty when it does not. */
  readonly address: string;
  /** When it joined, in milliseconds since the epoch, by the store's time. */
  readonly joinedAtMs: number;
  /** When it was last seen, by the store's time. */
  readonly seenAtMs: number;
  /**
   * Whether it can do no duty, so that the others share them all.
   *
   * @default {false}
   */
  readonly isAside?: boolean | undefined;
}

/** A duty that an instance holds. */
export interface Duty {
  /** What is done. */
  readonly name: string;
  /** The id of the instance that holds it. */
  readonly holder: string;
  /** Rises with each change of the holder. */
  readonly fence: number;
}

/** What a store keeps of its members. */
export interface MemberState {
  /** The members, in the order in which they joined. */
  readonly members: readonly Member[];
  /** The duties that have a holder. */
  readonly duties: readonly Duty[];
  /** The last epoch or fence that was given. */
  readonly lastNumber: number;
  /** The server that answered the last beat; see {@linkcode BeatTime.server}. */
  readonly server: string;
}

/** A store without members. */
export const NO_MEMBERS: MemberState = {
  members: [],
  duties: [],
  lastNumber: 0,
  server: "",
};

/** A sign of life. */
export interface Beat extends Pick<Member, "id" | "version" | "address"> {
  /** The duties that the instance can do. */
  readonly wants: readonly string[];
  /**
   * Milliseconds since the instance's last beat, by a clock that only goes
   * forward; undefined for the first one, which joins.
   */
  readonly sinceLastMs: number | undefined;
}

/** The time of a beat, as the store tells it. */
export interface BeatTime {
  /** The store's time, in milliseconds since the epoch. */
  readonly nowMs: number;
  /**
   * Names the server whose time that is: another one, such as a standby that
   * was promoted, may be some seconds apart, so no instance is dead at first.
   */
  readonly server: string;
}

/** The answer to a beat. */
export type BeatAnswer =
  /** The instance is a member. */
  | {
    readonly kind: "member";
    /** All members. */
    readonly members: readonly Member[];
    /** The duties of all members. */
    readonly duties: readonly Duty[];
  }
  /**
   * The instance counted as dead meanwhile, and others have taken over: it has
   * to join under another id.
   */
  | { readonly kind: "expired" };

/** Applies a beat to the state of a store. */
export function applyBeat(
  state: MemberState,
  beat: Beat,
  time: BeatTime,
): { readonly state: MemberState; readonly answer: BeatAnswer } {
  const { nowMs, server } = time;
  const before = state.members.find(({ id }) => id === beat.id);
  const wasSet = server !== state.server || before !== undefined &&
      nowMs - before.seenAtMs > (beat.sinceLastMs ?? 0) + MAX_STEP_MS;
  const alive = state.members.flatMap((member): Member[] => {
    // Time that was set back must not make a member look alive for longer.
    const seenAtMs = wasSet ? nowMs : Math.min(member.seenAtMs, nowMs);
    return nowMs - seenAtMs > DEAD_AFTER_MS && member.id !== beat.id
      ? []
      : [{ ...member, seenAtMs }];
  });
  if (before === undefined && beat.sinceLastMs !== undefined) {
    return { state, answer: { kind: "expired" } };
  }
  let { lastNumber } = state;
  const { id, version, address } = beat;
  const member: Member = {
    ...{ id, version, address },
    epoch: before?.epoch ?? ++lastNumber,
    joinedAtMs: before?.joinedAtMs ?? nowMs,
    seenAtMs: nowMs,
    ...(beat.wants.length === 0 ? { isAside: true } : {}),
  };
  const members = before === undefined
    ? [...alive, member]
    : alive.map((one) => one.id === id ? member : one);
  const held = state.duties.filter(({ holder }) =>
    members.some(({ id }) => id === holder)
  );
  // Everybody gets an equal share, so that no instance does everything.
  const sharing = members.filter(({ isAside = false }) => !isAside).length;
  const share = Math.ceil(beat.wants.length / Math.max(1, sharing));
  const kept = held.filter(({ holder, name }) =>
    holder === id && beat.wants.includes(name)
  ).slice(0, share);
  const others = held.filter(({ holder }) => holder !== id);
  const free = beat.wants.filter((name) =>
    !held.some((duty) => duty.name === name)
  );
  const taken = free.slice(0, share - kept.length)
    .map((name): Duty => ({ name, holder: id, fence: ++lastNumber }));
  const duties = [...others, ...kept, ...taken];
  return {
    state: { members, duties, lastNumber, server },
    answer: { kind: "member", members, duties },
  };
}

/** Removes a member that stops, with its duties. */
export function removeMember(state: MemberState, id: string): MemberState {
  return {
    ...state,
    members: state.members.filter((member) => member.id !== id),
    duties: state.duties.filter(({ holder }) => holder !== id),
  };
}
