/**
 * Helpers for promises and errors: outcomes as values, waiting with a timeout,
 * values that need no promise, and errors as text for people.
 *
 * @module
 */

import type { Clock } from "./clock.ts";

/** The outcome of an attempt. */
export type Settled<T> =
  | { readonly kind: "ok"; readonly value: T }
  | { readonly kind: "failed"; readonly error: unknown };

/** Runs `attempt`; a throw and a rejection become values. Never rejects. */
export async function settle<T>(
  attempt: () => T | Promise<T>,
): Promise<Settled<T>> {
  try {
    return { kind: "ok", value: await attempt() };
  } catch (error) {
    return { kind: "failed", error };
  }
}

/**
 * Waits for a promise within a time limit; leaves no timer behind.
 *
 * @returns What the promise gave, or `"late"`.
 */
export async function waitAtMost<T>(
  promise: Promise<T>,
  { clock, timeoutMs }: { readonly clock: Clock; readonly timeoutMs: number },
): Promise<T | "late"> {
  const late = Promise.withResolvers<"late">();
  const timer = clock.setTimer(() => late.resolve("late"), timeoutMs);
  try {
    return await Promise.race([promise, late.promise]);
  } finally {
    timer.cancel();
  }
}

/**
 * An error as one text for people and logs: the message, or the value as text.
 * Where the runtime withholds a permission, its flags are not named.
 */
export function describeError(error: unknown): string {
  if (error instanceof Deno.errors.NotCapable) {
    return withheldPermission(error.message);
  }
  return error instanceof Error && error.message !== ""
    ? error.message
    : String(error);
}

/**
 * Waits for work until a signal ends the wait; the work itself goes on.
 *
 * @param reasonOf Gives the error of a wait that was ended; the signal's own
 * reason when left out.
 * @throws what the work throws, or that error
 */
export async function unlessAborted<T>(
  work: Promise<T>,
  signal: AbortSignal,
  getReason: () => unknown = () => signal.reason,
): Promise<T> {
  const aborted = Promise.withResolvers<never>();
  const abort = (): void => aborted.reject(getReason());
  if (signal.aborted) abort();
  else signal.addEventListener("abort", abort, { once: true });
  try {
    return await Promise.race([work, aborted.promise]);
  } finally {
    signal.removeEventListener("abort", abort);
  }
}

/** A value or a promise of one. */
export type MaybePromise<T> = T | Promise<T>;

/**
 * Calls `next` at once with a value that is there, and later with a promised
 * one.
 */
export function andThen<A, B>(
  value: MaybePromise<A>,
  next: (value: A) => MaybePromise<B>,
): MaybePromise<B> {
  return value instanceof Promise ? value.then(next) : next(value);
}

/** What each permission of the runtime is for, in words. */
const ACTS: Readonly<Record<string, string>> = {
  read: "to read",
  write: "to write to",
  net: "to connect to or listen on",
  env: "to read the variable",
  run: "to run",
  sys: "to ask the system for",
  ffi: "to load",
  import: "to import",
};

/**
 * Says what an error of a missing permission says, without the flags of the
 * runtime's command line, which an executable does not have.
 *
 * @param message The runtime's own words.
 */
export function withheldPermission(message: string): string {
  const found = /^Requires (\w+) access(?: to ("[^"]*"))?/.exec(message);
  const [, name = "", target = ""] = found ?? [];
  // Special files need all permissions, and a program never has all.
  if (name === "all" && target !== "") {
    return `${target} is a special file, which the program may not open`;
  }
  const act = ACTS[name];
  if (act === undefined) {
    return "the program was started without a permission that this needs";
  }
  const whole = target === "" && name === "env" ? "to read variables" : act;
  return `the program was started without the permission ${whole}` +
    (target === "" ? "" : ` ${target}`);
}
