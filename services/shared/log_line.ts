/**
 * A log line before it has a form.
 *
 * @module
 */

import type { LogFields, LogLevel } from "./logger.ts";

/** What a line holds before it has a form. */
export interface LogLine {
  /** Milliseconds since the Unix epoch, UTC. */
  readonly timeMs: number;
  /** How much it matters. */
  readonly level: LogLevel;
  /** What happened. */
  readonly message: string;
  /** What stands beside the message. */
  readonly fields: LogFields;
}
