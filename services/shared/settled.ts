/**
 * Promises as values: the outcome of an attempt, waiting with a bound, and
 * values that are mostly there already.
 *
 * @module
 */

import type { Clock } from "./clock.ts";
import { withheldPermission } from "./withheld_permission.ts";

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

/** A value that is there already, or one that has to be waited for. */
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
