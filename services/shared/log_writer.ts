/**
 * The logger of the services: lines of a level, in one of two forms, to
 * whatever takes lines.
 *
 * @module
 */

import type { Clock } from "./clock.ts";
import type { LogFields, Logger, LogLevel } from "./logger.ts";
import { formatJsonLine } from "./logger_json.ts";
import { formatTextLine } from "./logger_text.ts";

/** The forms of a line. */
export type LogFormat = "text" | "json";

/** Options of {@linkcode createLogger}. */
export interface CreateLoggerOptions {
  /** Form of the lines. */
  readonly format: LogFormat;
  /** Lines that matter less are dropped. */
  readonly level: LogLevel;
  /** Gives the time of a line. */
  readonly clock: Pick<Clock, "nowMs">;
  /** Takes a line, without line end; must not throw. */
  readonly write: (line: string) => void;
  /**
   * Most characters of a message, and of the value of a field; the rest is cut
   * and counted.
   *
   * @default {8192}
   */
  readonly maxChars?: number;
}

const RANK: Readonly<Record<LogLevel, number>> = {
  debug: 0,
  info: 1,
  warning: 2,
  error: 3,
};

/** Makes a logger that writes one line a call, none below its level. */
export function createLogger(options: CreateLoggerOptions): Logger {
  const { clock, level: least, maxChars = 8192, write } = options;
  const form = options.format === "json" ? formatJsonLine : formatTextLine;
  const log = (level: LogLevel, message: string, fields: LogFields): void => {
    if (RANK[level] < RANK[least]) return;
    write(form({ timeMs: clock.nowMs(), level, message, fields }, maxChars));
  };
  return {
    debug: (message, fields = {}) => log("debug", message, fields),
    info: (message, fields = {}) => log("info", message, fields),
    warn: (message, fields = {}) => log("warning", message, fields),
    error: (message, fields = {}) => log("error", message, fields),
  };
}
