/**
 * Where configuration comes from, as the service sees it.
 *
 * @module
 */

/** Delivers configuration, at its start and at each change. */
export interface ConfigSource {
  /** Delivers what there is, then each change; a second start does nothing. */
  start(): Promise<void>;
  /** Looks now and delivers even what has not changed. */
  reload(): Promise<void>;
  /** Delivers no more. Double stop and stop before start do no harm. */
  stop(): Promise<void>;
}
