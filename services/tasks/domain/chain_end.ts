/**
 * Where a chain of records ends.
 *
 * @module
 */

/** The end of a chain. */
export interface ChainEnd {
  /** The number of its records. */
  readonly count: number;
  /** The hash of its last record; empty when it has none. */
  readonly hash: string;
}
