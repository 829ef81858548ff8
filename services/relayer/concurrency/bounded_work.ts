/**
 * Bounds for long work: a timeout or the end of the client's connection, a
 * limit on parallel items, and computing in steps between which other work gets
 * its turn.
 *
 * @module
 */

import type { Clock } from "../../shared/clock.ts";
import type { FairKey } from "../../shared/fair_queue.ts";
import type { FairTurns } from "../../shared/fair_turns.ts";
import type { HttpRequest } from "../../shared/http/exchange.ts";
import { NEVER_PAUSING, type Pausing } from "../../shared/slices.ts";

/** How long work is ended early, and gives way to other work. */
export interface WorkOptions {
  /**
   * Ends the work early when it is aborted.
   *
   * @default the work runs to its end
   */
  readonly signal?: AbortSignal | undefined;
  /**
   * Gives other work its turn between steps of computing.
   *
   * @default the work computes to its end without a pause
   */
  readonly pausing?: Pausing | undefined;
}

/** Options of {@linkcode boundedWork}. */
interface BoundedWorkOptions<Result> {
  /** Sets the timer of the timeout. */
  readonly clock: Clock;
  /**
   * Milliseconds that the work may take, from the call on.
   *
   * @default no timeout
   */
  readonly timeoutMs?: number | undefined;
  /**
   * Ends the work early when it is aborted.
   *
   * @default the work ends by itself or by the timeout
   */
  readonly signal?: AbortSignal | undefined;
  /**
   * The work. Its signal is aborted when the timeout is over or the caller's
   * signal is aborted; what the work gives or throws after that is ignored.
   */
  readonly run: (signal: AbortSignal) => Promise<Result>;
}

/**
 * The outcome of {@linkcode boundedWork}: `late` after the timeout, `ended`
 * when the caller's signal was aborted.
 */
type BoundedWorkOutcome<Result> =
  | { readonly kind: "done"; readonly result: Result }
  | { readonly kind: "late" }
  | { readonly kind: "ended" };

/**
 * Runs work until it is done, its timeout is over or its signal is aborted. It
 * does not wait for work that does not listen to its signal.
 *
 * @throws what the work throws before the timeout or the end by the signal
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
  /** The most items that are worked on at the same time. */
  readonly parallel: number;
  /** When it is aborted, no more items are begun. */
  readonly signal: AbortSignal;
  /** Works on one item. */
  readonly work: (item: Item) => Promise<Result>;
}

/**
 * Works on all items, a limited number at a time; the results stand in the
 * order of the items.
 *
 * @throws the first error of `work`, after which no more items are begun, and
 *   the signal's reason when it is aborted
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
 * Splits items into batches, in their order, bounded by count and by bytes. An
 * item larger than `maxBytes` makes a batch of its own.
 */
export function splitBatches<Item>(
  items: readonly Item[],
  { maxItems, maxBytes, countBytes }: {
    /** The most items of a batch. */
    readonly maxItems: number;
    /** The most bytes of a batch of several items. */
    readonly maxBytes: number;
    /** Bytes of an item. */
    readonly countBytes: (item: Item) => number;
  },
): readonly (readonly Item[])[] {
  const batches: Item[][] = [];
  let bytes = 0;
  for (const item of items) {
    const itemBytes = countBytes(item);
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
 * A computation in short steps that ends with a `Result`. It can be run to its
 * end without a pause, or in slices between which other work gets its turn.
 */
export type Steps<Result> = Generator<undefined, Result, undefined>;

/**
 * Runs a computation to its end, and pauses between two steps when `pausing`
 * says so.
 *
 * @throws what a step throws, and the signal's reason when it is aborted by the
 *   end of a pause
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
 * Waits for a turn for work that no client waits for by itself, such as reading
 * an owner's memories. Without `turns`, or when too much work waits for them,
 * the work computes to its end without a pause.
 */
export async function ownTurn(
  turns: Pick<FairTurns, "begin"> | undefined,
  key: FairKey,
): Promise<Pausing> {
  const begun = await turns?.begin(key);
  return begun?.kind === "ok" ? begun.turn : NEVER_PAUSING;
}

/**
 * A signal that is aborted when the client of a request goes away, or by
 * `end()`. The caller has to release it.
 */
export function goneSignal(
  request: HttpRequest,
): { readonly signal: AbortSignal; end(): void; release(): void } {
  const controller = new AbortController();
  const end = (): void => controller.abort();
  const release = request.onGone(end);
  return { signal: controller.signal, end, release };
}
