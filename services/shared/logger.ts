/**
 * Logs: what the services call, and the two forms they are written in.
 *
 * @module
 */

/** How much a line matters, least first. */
export type LogLevel = "debug" | "info" | "warning" | "error";

/** What stands beside the message; values are quoted where they need it. */
export type LogFields = Readonly<
  Record<string, string | number | boolean | undefined>
>;

/** Takes log lines. */
export interface Logger {
  /** Details for somebody who looks for a fault. */
  debug(message: string, fields?: LogFields): void;
  /** What happens in a normal life: start, reload, stop. */
  info(message: string, fields?: LogFields): void;
  /** What somebody should look at some day. */
  warn(message: string, fields?: LogFields): void;
  /** What somebody should look at now. */
  error(message: string, fields?: LogFields): void;
}
