/**
 * The counter port: what a decision asks of whatever keeps the counts.
 *
 * @module
 */

/** How a counter counts. */
type Algorithm = "fixed_window";

/** One counter to touch. */
export interface CounterOperation {
  /** How this counter counts. */
  readonly algorithm: Algorithm;
  /** First byte of the counter's key within {@linkcode CounterBatch.keys}. */
  readonly keyStart: number;
  /** One past the last byte of the key. The window is not part of the key. */
  readonly keyEnd: number;
  /**
   * Hits to add, a whole number. 0 reads without counting; less than 0 gives
   * hits back, and the count never falls below 0.
   */
  readonly hits: number;
  /** Requests allowed in one window. */
  readonly limit: number;
  /** Length of the window; windows are multiples of it since the Unix epoch. */
  readonly windowSeconds: number;
}

/**
 * The counters that one call touches. A store reads it before `apply` returns
 * and not after, even while a promise is pending: the caller uses it again.
 */
export interface CounterBatch {
  /**
   * The domain of the call, for what treats domains differently.
   *
   * @default {""}
   */
  readonly domain?: string;
  /** The bytes of all keys, one after the other. */
  readonly keys: Uint8Array;
  /** The operations, in the order the answer has. */
  readonly operations: readonly CounterOperation[];
  /** The time of the call in whole Unix seconds. */
  readonly nowSeconds: number;
  /**
   * When an operation that takes hits would go over its limit, those that
   * would not are only read, so that a refused call costs nothing elsewhere.
   *
   * @default {false}
   */
  readonly stopWhenOver?: boolean;
}

/** What was decided without a plain count: by the over-limit cache, or by a
 * store whose algorithm has none. */
export interface CounterVerdict {
  /** True when the limit is exceeded. */
  readonly isOver: boolean;
  /** How many of the operation's hits are over the limit. */
  readonly hitsOver: number;
  /** Hits that remain. */
  readonly remaining: number;
  /** Whole seconds until the limit is whole again. */
  readonly resetSeconds: number;
  /**
   * True when the over-limit cache knew without asking the store.
   *
   * @default {false}
   */
  readonly isFromCache?: boolean;
}

/** The count after the operation, or the store's own verdict. */
export type CounterResult = number | CounterVerdict;

/** The outcome of a batch. */
export type CounterAnswer =
  /** One result for each operation, in their order. */
  | { readonly kind: "counted"; readonly results: readonly CounterResult[] }
  /**
   * The store did not answer in time or not at all; `reason` holds no secret.
   */
  | { readonly kind: "unavailable"; readonly reason: string };

/** Keeps counters. */
export interface CounterStore {
  /**
   * Applies all operations of a batch, each of them once and in order: two
   * operations on one key see each other.
   *
   * @returns The answer as a value when the store has it at once, else as a
   * promise that settles within the store's own time limit and never rejects.
   */
  apply(batch: CounterBatch): CounterAnswer | Promise<CounterAnswer>;
  /** True while the store can be expected to answer. */
  isHealthy(): boolean;
  /** Connects; returns at once, whether or not the store can be reached. */
  start(): Promise<void>;
  /** Lets go of connections and timers; tolerates a second call. */
  stop(): Promise<void>;
}
