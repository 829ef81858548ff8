/**
 * Work with bounds: ended by a deadline or when the client goes away, some items at a
 * time, or in steps between which other work gets its turn.
 *
 * @module
 */

import type { Clock } from "../../shared/clock.ts";
import type { FairKey } from "../../shared/fair_queue.ts";
import type { FairTurns } from "../../shared/fair_turns.ts";
import type { HttpRequest } from "../../shared/http/exchange.ts";
import { NEVER_PAUSING, type Pausing } from "../../shared/slices.ts";

/** What long work heeds. */
export interface WorkOptions {
  /**
   * Ends it early.
   *
   * @default it goes on to its end
   */
  readonly signal?: AbortSignal | undefined;
  /**
   * Gives other work its turn between steps of computing.
   *
   * @default it goes on to its end
   */
  readonly pausing?: Pausing | undefined;
}

/** Options of {@linkcode boundedWork}. */
interface BoundedWorkOptions<Result> {
  /** Measures the time. */
  readonly clock: Clock;
  /**
   * Milliseconds from now.
   *
   * @default no bound
   */
  readonly timeoutMs?: number | undefined;
  /**
   * Ends it early.
   *
   * @default none
   */
  readonly signal?: AbortSignal | undefined;
  /**
   * The work. Its signal is aborted when the time is over; what it does after
   * that is ignored.
   */
  readonly run: (signal: AbortSignal) => Promise<Result>;
}

/** The outcome of {@linkcode boundedWork}. */
type BoundedWorkOutcome<Result> =
  | { readonly kind: "done"; readonly result: Result }
  | { readonly kind: "late" }
  | { readonly kind: "ended" };

/**
 * Runs work within a bound, without waiting for a part that does not listen to
 * its signal.
 *
 * @throws what the work throws before the time is over
 */
export async function boundedWork<Result>(
  options: BoundedWorkOptions<Result>,
): Promise<BoundedWorkOutcome<Result>> {
  const { clock, timeoutMs, signal, run } = options;
  if (signal?.aborted === true) return { kind: "ended" };
  const controller = new AbortController();
  const over = Promise.withResolvers<{ readonly kind: "late" | "ended" }>();
  const finish = (kind: "late" | "ended"): void => {
    over.resolve({ kind });
    controller.abort();
  };
  const end = () => finish("ended");
  signal?.addEventListener("abort", end, { once: true });
  const timer = timeoutMs === undefined
    ? undefined
    : clock.setTimer(() => finish("late"), timeoutMs);
  try {
    return await Promise.race([
      over.promise,
      run(controller.signal).then((result) => ({
        kind: "done" as const,
        result,
      })),
    ]);
  } finally {
    timer?.cancel();
    signal?.removeEventListener("abort", end);
  }
}

/** Options of {@linkcode pooled}. */
interface PooledOptions<Item, Result> {
  /** Most items that are worked on at the same time. */
  readonly parallel: number;
  /** No more items are begun after this. */
  readonly signal: AbortSignal;
  /** Works on one. */
  readonly work: (item: Item) => Promise<Result>;
}

/**
 * Works on all items; the results stand in the order of the items.
 *
 * @throws what `work` throws first, and the signal's reason when it ends early
 */
export async function pooled<Item, Result>(
  items: readonly Item[],
  options: PooledOptions<Item, Result>,
): Promise<readonly Result[]> {
  const { parallel, signal, work } = options;
  const results: Result[] = [];
  let next = 0;
  let hasFailed = false;
  async function worker(): Promise<void> {
    while (next < items.length && !hasFailed) {
      signal.throwIfAborted();
      const at = next++;
      const [item] = items.slice(at, at + 1);
      if (item === undefined) continue;
      try {
        results[at] = await work(item);
      } catch (error) {
        hasFailed = true;
        throw error;
      }
    }
  }
  const workers = Math.min(parallel, items.length);
  await Promise.all(Array.from({ length: workers }, worker));
  signal.throwIfAborted();
  return results;
}

/**
 * Items in their order, some at a time, and as few of large ones as fit the memory; a
 * single one may be larger than that.
 */
export function batchesOf<Item>(
  items: readonly Item[],
  { maxItems, maxBytes, bytesOf }: {
    /** Most items of a batch. */
    readonly maxItems: number;
    /** Most bytes of a batch of several. */
    readonly maxBytes: number;
    /** What an item takes. */
    readonly bytesOf: (item: Item) => number;
  },
): readonly (readonly Item[])[] {
  const batches: Item[][] = [];
  let bytes = 0;
  for (const item of items) {
    const itemBytes = bytesOf(item);
    const last = batches.at(-1);
    const fits = last !== undefined && last.length < maxItems &&
      bytes + itemBytes <= maxBytes;
    if (fits) last.push(item);
    else batches.push([item]);
    bytes = itemBytes + (fits ? bytes : 0);
  }
  return batches;
}

/**
 * A computation in short steps that ends with a `Result`: it can be run to its end at
 * once, or in slices between which other work gets its turn.
 */
export type Steps<Result> = Generator<undefined, Result, undefined>;

/**
 * Computes, and gives way between two steps when it is time to.
 *
 * @throws what a step throws, and the signal's reason when it ends early
 */
export async function finishInSlices<Result>(
  steps: Steps<Result>,
  { pausing, signal }: {
    readonly pausing: Pausing;
    readonly signal?: AbortSignal | undefined;
  },
): Promise<Result> {
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
    const wait = pausing.pause();
    if (wait === undefined) continue;
    await wait;
    signal?.throwIfAborted();
  }
}

/**
 * A turn for work that no client waits for by itself, as reading an owner's memories:
 * where there are no turns, or too much waits for them, it goes on to its end.
 */
export async function ownTurn(
  turns: Pick<FairTurns, "begin"> | undefined,
  key: FairKey,
): Promise<Pausing> {
  const begun = await turns?.begin(key);
  return begun?.kind === "ok" ? begun.turn : NEVER_PAUSING;
}

/** A reading to be compared with others of the same clock, in milliseconds. */
export function steadyMs(clock: Clock): number {
  return clock.monotonicMs?.() ?? clock.nowMs();
}

/** A signal that aborts when the client goes away; has to be released. */
export function goneSignal(
  request: HttpRequest,
): { readonly signal: AbortSignal; release(): void } {
  const controller = new AbortController();
  const release = request.onGone(() => controller.abort());
  return { signal: controller.signal, release };
}
