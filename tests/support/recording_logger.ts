/**
 * A logger for tests that records its lines.
 *
 * @module
 */

import type { LogFields, Logger } from "../../services/shared/logger.ts";

type LogLevel = "debug" | "info" | "warning" | "error";

/** A recorded line. */
export interface RecordedLine {
  readonly level: LogLevel;
  readonly message: string;
  readonly fields: LogFields;
}

/** A logger that records lines in their order. */
export class RecordingLogger implements Logger {
  /** All lines recorded so far. */
  readonly lines: RecordedLine[] = [];

  /** Records a line of level "debug". */
  debug(message: string, fields: LogFields = {}): void {
    this.lines.push({ level: "debug", message, fields });
  }

  /** Records a line of level "info". */
  info(message: string, fields: LogFields = {}): void {
    this.lines.push({ level: "info", message, fields });
  }

  /** Records a line of level "warning". */
  warn(message: string, fields: LogFields = {}): void {
    this.lines.push({ level: "warning", message, fields });
  }

  /** Records a line of level "error". */
  error(message: string, fields: LogFields = {}): void {
    this.lines.push({ level: "error", message, fields });
  }

  /** The messages of all lines. */
  get messages(): string[] {
    return this.lines.map(({ message }) => message);
  }

  /** Returns the messages of the lines of one level. */
  listMessages(level: LogLevel): string[] {
    return this.lines.filter((line) => line.level === level)
      .map(({ message }) => message);
  }
}
