/**
 * How much a worker has under way.
 *
 * @module
 */

/** Tasks under way. */
export interface RunningCounts {
  /** All of the worker. */
  readonly all: number;
  /** By group, those without one left out. */
  readonly groups: ReadonlyMap<string, number>;
}
