/**
 * Decides what a request to create a task does when another task has its key,
 * and when the runs of a key begin that many requests ask for.
 *
 * @module
 */

import { type CallWindow, isFinal, type Task } from "./task.ts";

/** What becomes of a live task that has the key of a request. */
export const KEY_POLICIES = [
  "return",
  "reject",
  "replace",
  "keep_date",
  "run_after",
] as const;

/**
 * How the runs of a key are spaced that many requests ask for: `debounce` runs
 * once when no request has come for the window, `throttle` once a window.
 */
export type Pacing =
  | {
    readonly kind: "debounce";
    /** How long no request has to come, in milliseconds. */
    readonly windowMs: number;
    /** How long after the first request the run comes at the latest. */
    readonly maxWaitMs?: number | undefined;
  }
  | {
    readonly kind: "throttle";
    /** The least time from one run to the next, in milliseconds. */
    readonly windowMs: number;
  };

/** What a request with a key asks for. */
export interface KeyRequest {
  /** What becomes of a live task that has the key. */
  readonly onConflict: typeof KEY_POLICIES[number];
  /**
   * How runs are spaced; it takes the place of `onConflict` and of a date.
   *
   * @default {as they are asked for}
   */
  readonly pacing?: Pacing | undefined;
  /**
   * The date asked for, in milliseconds since the epoch.
   *
   * @default {now, or as the schedule says}
   */
  readonly dateMs?: number | undefined;
}

/** The fields of a task with the key that decide. */
export type KeyHolder = Pick<
  Task,
  | "status"
  | "pausedFrom"
  | "isDue"
  | "dateMs"
  | "startedAtMs"
  | "repeat"
  | "calls"
  | "again"
  | "wait"
>;

/** When a run begins, and the window of requests that it is for. */
interface RunWish {
  /** Its date; the date stays, or is that of the schedule, when absent. */
  readonly dateMs?: number | undefined;
  /** The window of requests; that of the task stays when absent. */
  readonly calls?: CallWindow | undefined;
}

/** What a request with a key does. */
export type KeyDecision =
  /** It creates a task, since no live one has the key. */
  | ({ readonly kind: "create" } & RunWish)
  /** It is answered with the live task as that is. */
  | { readonly kind: "return" }
  /** It gives the live task its values, and perhaps another date. */
  | ({ readonly kind: "update" } & RunWish)
  /**
   * It gives the live task its values, and makes it run once more after the run
   * that has begun.
   */
  | ({ readonly kind: "run_after"; readonly dateMs: number } & RunWish)
  /** It is refused. */
  | { readonly kind: "conflict"; readonly reason: string };

/** Options of {@linkcode decideByKey}. */
interface DecideOptions {
  /** What the request asks for. */
  readonly request: KeyRequest;
  /** Whether the task of the request repeats. */
  readonly repeats: boolean;
  /** The present, in milliseconds since the epoch. */
  readonly nowMs: number;
}

/**
 * Decides what a request with a key does.
 *
 * @param holder the live task that has the key, or the last one that had it;
 * undefined when there is none
 */
export function decideByKey(
  holder: KeyHolder | undefined,
  options: DecideOptions,
): KeyDecision {
  const { request: { pacing, dateMs } } = options;
  const isLive = holder !== undefined && !isFinal(holder.status);
  if (pacing !== undefined) {
    const paced = pacing.kind === "debounce"
      ? debounced(isLive ? holder : undefined, pacing, options)
      : throttled(holder, pacing, options);
    return isLive && holder.repeat !== undefined ? REPEATS : paced;
  }
  return isLive ? inConflict(holder, options) : { kind: "create", dateMs };
}

const REPEATS: KeyDecision = {
  kind: "conflict",
  reason: "the one that has the key repeats",
};

function inConflict(
  holder: KeyHolder,
  { request: { onConflict, dateMs }, repeats, nowMs }: DecideOptions,
): KeyDecision {
  const isRunning = holder.status === "running" || hasWaited(holder);
  const askedMs = dateMs ?? nowMs;
  switch (onConflict) {
    case "return":
      return { kind: "return" };
    case "reject":
      return { kind: "conflict", reason: "a live one has the key" };
    case "replace":
    case "keep_date":
      // A task that does not repeat would never run with the new values.
      if (isRunning && !repeats) {
        return {
          kind: "conflict",
          reason: "the one that has the key is running; ask for `run_after` " +
            "to have one more run with these values",
        };
      }
      if (onConflict === "keep_date") return { kind: "update" };
      // The schedule knows the date of its next run.
      return { kind: "update", dateMs: repeats ? dateMs : askedMs };
    case "run_after": {
      if (holder.repeat !== undefined) return REPEATS;
      if (hasBegun(holder)) {
        const soonestMs = Math.min(askedMs, holder.again?.dateMs ?? Infinity);
        return { kind: "run_after", dateMs: soonestMs };
      }
      return { kind: "update", dateMs: Math.min(askedMs, holder.dateMs) };
    }
  }
}

/**
 * Debounces requests. The first one makes a run at the end of the window. Each
 * further one before that moves the run to the end of a new window, but never
 * behind the longest wait from the first one on. Once the run is due, its date
 * stays; as long as no worker has taken it, it still gets the newest values.
 * Then the next request is a first one again.
 */
function debounced(
  holder: KeyHolder | undefined,
  { windowMs, maxWaitMs = Infinity }: Extract<Pacing, { kind: "debounce" }>,
  { nowMs }: DecideOptions,
): KeyDecision {
  const isBegun = holder !== undefined && hasBegun(holder);
  const isDue = holder !== undefined && !isBegun &&
    (holder.isDue || holder.dateMs <= nowMs);
  if (isDue) return { kind: "update" };
  const again = isBegun ? holder.again : undefined;
  if (again !== undefined && again.dateMs <= nowMs) {
    return { kind: "run_after", ...again };
  }
  const open = isBegun ? again?.calls : holder?.calls;
  const sinceMs = open?.kind === "debounce" ? open.sinceMs : nowMs;
  const endMs = Math.min(nowMs + windowMs, sinceMs + maxWaitMs);
  return {
    kind: holder === undefined ? "create" : isBegun ? "run_after" : "update",
    dateMs: Math.max(nowMs, endMs),
    calls: { kind: "debounce", sinceMs },
  };
}

/**
 * Throttles requests. The first one makes a run at once, whose date opens a
 * window. The first one within the window makes a run at its end, which opens
 * the next window; each further one gives that run the newest values. A request
 * behind the window is a first one again.
 */
function throttled(
  holder: KeyHolder | undefined,
  { windowMs }: Pacing,
  { nowMs }: DecideOptions,
): KeyDecision {
  const isBegun = holder !== undefined && hasBegun(holder);
  if (holder !== undefined && !isFinal(holder.status)) {
    if (!isBegun) return { kind: "update" };
    const { again } = holder;
    if (again !== undefined) return { kind: "run_after", ...again };
  }
  const dateMs = Math.max(nowMs, closesAtMs(holder, { windowMs, nowMs }));
  return {
    kind: isBegun ? "run_after" : "create",
    dateMs,
    calls: { kind: "throttle", untilMs: dateMs + windowMs },
  };
}

/** When the window closes in which a task began, or was to begin. */
function closesAtMs(
  holder: KeyHolder | undefined,
  { windowMs, nowMs }: { readonly windowMs: number; readonly nowMs: number },
): number {
  if (holder === undefined) return nowMs;
  const { calls, dateMs, startedAtMs, status } = holder;
  if (calls?.kind !== "throttle") {
    // A live task that other requests made opens the window as it starts.
    return isFinal(status) ? nowMs : (startedAtMs ?? nowMs) + windowMs;
  }
  // One that ended before it began leaves its own date free.
  return startedAtMs === undefined ? dateMs : calls.untilMs;
}

/** Tells whether a run waits for an event or an approval, or has done so. */
function hasWaited({ wait }: KeyHolder): boolean {
  return wait?.for !== undefined || wait?.resumed !== undefined;
}

/**
 * Tells whether a run has begun with values from before, so that new values
 * need another one: it is under way, or waits to be retried.
 */
function hasBegun(holder: KeyHolder): boolean {
  const { status, pausedFrom } = holder;
  return hasWaited(holder) || status === "running" ||
    (status === "paused" ? pausedFrom : status) === "retry";
}
