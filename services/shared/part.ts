/**
 * What a service is made of: its parts start and stop with it.
 *
 * @module
 */

/** Something that lives as long as the service. */
export interface Part {
  /** Name in logs. */
  readonly name: string;
  /**
   * Starts it. A part that cannot start rejects and leaves nothing open.
   */
  start(): Promise<void>;
  /**
   * Stops it: waits at most `graceMs` milliseconds for work under way, then
   * ends what is left. May be called while the start still runs, and must then
   * end that.
   */
  stop(graceMs: number): Promise<void>;
}
