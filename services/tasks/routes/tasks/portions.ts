/**
 * Writes in portions that shrink while the store has no room for them.
 *
 * @module
 */

import type { Clock } from "../../../shared/clock.ts";
import { StoreBusyError } from "../../store/store.ts";

/** Refusals in a row after which the rest is given up. */
const MAX_REFUSALS = 12;

/** Options of {@linkcode inPortions}. */
export interface PortionOptions<Item, Result> {
  /** The time. */
  readonly clock: Clock;
  /**
   * Does some items and answers for each in their order; an item that the store
   * had no room for is answered with its refusal, and comes again.
   */
  readonly work: (
    items: readonly Item[],
    options: { readonly isFirst: boolean },
  ) => Promise<readonly (Result | StoreBusyError)[]>;
  /** What is answered for an item that is given up. */
  readonly giveUp: (item: Item) => Result;
}

/**
 * Does all items at once if the store has room for that, and in smaller and
 * smaller portions after pauses if not.
 *
 * @throws {Error} what `work` throws
 */
export async function inPortions<Item, Result>(
  items: readonly Item[],
  { clock, work, giveUp }: PortionOptions<Item, Result>,
): Promise<readonly Result[]> {
  const results = new Map<Item, Result>();
  let open = items;
  let size = items.length;
  let refusals = 0;
  for (let isFirst = true; open.length > 0; isFirst = false) {
    const portion = open.slice(0, size);
    const outcomes = await work(portion, { isFirst });
    let busy: StoreBusyError | undefined;
    for (const [index, item] of portion.entries()) {
      const outcome = outcomes[index];
      if (outcome instanceof StoreBusyError) busy = outcome;
      else if (outcome !== undefined) results.set(item, outcome);
    }
    const left = open.filter((item) => !results.has(item));
    refusals = left.length < open.length ? 0 : refusals + 1;
    open = left;
    if (refusals === MAX_REFUSALS) break;
    if (busy === undefined) continue;
    size = Math.max(1, Math.floor(portion.length / 2));
    const { retryAfterMs } = busy;
    await new Promise<void>((resolve) => {
      clock.setTimer(resolve, retryAfterMs);
    });
  }
  return items.map((item) => results.get(item) ?? giveUp(item));
}

/**
 * Makes a value of a refusal, for {@linkcode PortionOptions.work}.
 *
 * @throws {unknown} any other error
 */
export function refusalOf(error: unknown): StoreBusyError {
  if (error instanceof StoreBusyError) return error;
  throw error;
}
