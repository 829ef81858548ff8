/**
 * Tasks that wait for an event or an approval: what they wait for, the events
 * that are kept for them, and what ended the last wait.
 *
 * @module
 */

import { formatSpan } from "../../shared/duration.ts";
import type { Actor } from "./records.ts";

/** What a task has of its waits, in its current run. */
export interface TaskWait {
  /** What it waits for; present exactly while it waits. */
  readonly for?: AwaitedThing | undefined;
  /** The end of the last wait, for the attempts that follow. */
  readonly resumed?: Resumption | undefined;
  /** What the worker saved for those attempts, as JSON text. */
  readonly stateJson?: string | undefined;
  /** Events that have come before a wait for them, the oldest first. */
  readonly events?: readonly KeptEvent[] | undefined;
}

/**
 * What a task waits for. The wait ends at the task's date unless something ends
 * it before.
 */
export type AwaitedThing = AskedThing & {
  /** When the wait began. */
  readonly sinceMs: number;
  /** What the wait's end without an event or a decision does. */
  readonly onTimeout: TimeoutRule;
  /** What people are asked or told. */
  readonly message?: string | undefined;
};

/** An event by its name, or the decision of a person. */
export type AskedThing =
  | { readonly kind: "event"; readonly event: string }
  | {
    readonly kind: "approval";
    /** The least role of who decides. */
    readonly by: ApproverRole;
    /** Whether the one who created the task may not decide. */
    readonly byAnother: boolean;
  };

/** The roles that may decide about approvals, the least first. */
export const APPROVER_ROLES = ["member", "admin", "owner"] as const;

/** A role that may decide about approvals: each that may write tasks. */
export type ApproverRole = typeof APPROVER_ROLES[number];

/** Whether a wait that is over begins another attempt, or fails the run. */
export type TimeoutRule = "resume" | "fail";

/** An event that has come. */
export interface KeptEvent {
  /** Its name. */
  readonly name: string;
  /** Its data as JSON text. */
  readonly dataJson: string;
  /** When it came, in milliseconds since the epoch. */
  readonly atMs: number;
  /** Who sent it. */
  readonly by: Actor;
}

/** What ended a wait. */
export type Resumption =
  | ({ readonly kind: "event" } & KeptEvent)
  | {
    readonly kind: "approval";
    readonly isApproved: boolean;
    readonly comment?: string | undefined;
    readonly atMs: number;
    readonly by: Actor;
  }
  /** Its time was over. */
  | { readonly kind: "timeout"; readonly atMs: number }
  /** A caller has run the task by hand. */
  | { readonly kind: "run"; readonly atMs: number; readonly by: Actor };

/** The most events that are kept for later waits of a task. */
export const MAX_KEPT_EVENTS = 16;
/** The most characters of all their data together. */
export const MAX_KEPT_CHARS = 65_536;
/** How long an event is kept, in milliseconds. */
export const EVENT_KEPT_MS = 7 * 86_400_000;

/** The number by which stores find tasks that wait, by what they wait for. */
export const WAIT_CODES: Readonly<Record<AskedThing["kind"], number>> = {
  event: 1,
  approval: 2,
};

/** The events that are young enough to be taken. */
export function freshEvents(
  events: readonly KeptEvent[] | undefined,
  nowMs: number,
): readonly KeptEvent[] {
  return (events ?? []).filter(({ atMs }) => nowMs - atMs < EVENT_KEPT_MS);
}

/** The characters of the events and the state that a task keeps. */
export function countWaitChars(wait: TaskWait | undefined): number {
  if (wait === undefined) return 0;
  const { resumed, stateJson = "", events = [] } = wait;
  return stateJson.length +
    (resumed?.kind === "event" ? resumed.dataJson.length : 0) +
    events.reduce((sum, { dataJson }) => sum + dataJson.length, 0);
}

/** What a task waits for, as the end of a sentence. */
export function describeAwaited(thing: AskedThing): string {
  return thing.kind === "event"
    ? `the event "${thing.event}"`
    : `the approval of ${thing.by === "member" ? "a" : "an"} ${thing.by}${
      thing.byAnother ? " who did not create it" : ""
    }`;
}

/** Why no further event can be kept; undefined when it can. */
export function refuseEvent(
  kept: readonly KeptEvent[],
  { dataJson }: Pick<KeptEvent, "dataJson">,
): string | undefined {
  const chars = kept.reduce((sum, one) => sum + one.dataJson.length, 0);
  if (
    kept.length < MAX_KEPT_EVENTS && chars + dataJson.length <= MAX_KEPT_CHARS
  ) {
    return undefined;
  }
  return `${kept.length} events with ${chars} characters are kept that no ` +
    `wait has taken; ${MAX_KEPT_EVENTS} and ${MAX_KEPT_CHARS} are the most, ` +
    `for ${formatSpan(EVENT_KEPT_MS)}`;
}
