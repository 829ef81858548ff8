/**
 * A logger that keeps what it is told.
 *
 * @module
 */

import type { LogFields, Logger } from "../../services/shared/logger.ts";

type LogLevel = "debug" | "info" | "warning" | "error";

/** One line. */
export interface RecordedLine {
  readonly level: LogLevel;
  readonly message: string;
  readonly fields: LogFields;
}

/** Keeps lines in their order. */
export class RecordingLogger implements Logger {
  /** All lines so far. */
  readonly lines: RecordedLine[] = [];

  /** Keeps a line. */
  debug(message: string, fields: LogFields = {}): void {
    this.lines.push({ level: "debug", message, fields });
  }

  /** Keeps a line. */
  info(message: string, fields: LogFields = {}): void {
    this.lines.push({ level: "info", message, fields });
  }

  /** Keeps a line. */
  warn(message: string, fields: LogFields = {}): void {
    this.lines.push({ level: "warning", message, fields });
  }

  /** Keeps a line. */
  error(message: string, fields: LogFields = {}): void {
    this.lines.push({ level: "error", message, fields });
  }

  /** All messages. */
  get messages(): string[] {
    return this.lines.map(({ message }) => message);
  }

  /** Messages of one level. */
  messagesOf(level: LogLevel): string[] {
    return this.lines.filter((line) => line.level === level)
      .map(({ message }) => message);
  }
}
