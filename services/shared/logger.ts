/**
 * The logger of the services: its levels, its text and JSON forms, and warnings
 * that are limited to one a minute.
 *
 * @module
 */

import { type Clock, steadyClock } from "./clock.ts";
import { choiceOption } from "./options.ts";
import { quote } from "./quote.ts";

/** How much a line matters, least first. */
type LogLevel = "debug" | "info" | "warning" | "error";

/** What stands beside the message; values are quoted where they need it. */
export type LogFields = Readonly<
  Record<string, string | number | boolean | undefined>
>;

/** Takes log lines. */
export interface Logger {
  /** Details for those who look for a fault. */
  debug(message: string, fields?: LogFields): void;
  /** Normal events: start, reload, stop. */
  info(message: string, fields?: LogFields): void;
  /** Problems that can wait. */
  warn(message: string, fields?: LogFields): void;
  /** Problems that need attention now. */
  error(message: string, fields?: LogFields): void;
}

/** The forms of a line. */
type LogFormat = "text" | "json";

/** The settings of a log. */
export interface LogSettings {
  /** The form of its lines. */
  readonly logFormat: LogFormat;
  /** Lines that matter less are dropped. */
  readonly logLevel: LogLevel;
}

/** Options of {@linkcode createLogger}. */
interface CreateLoggerOptions {
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

/** What a line holds before it has a form. */
interface LogLine {
  /** Milliseconds since the Unix epoch, UTC. */
  readonly timeMs: number;
  /** How much it matters. */
  readonly level: LogLevel;
  /** What happened. */
  readonly message: string;
  /** What stands beside the message. */
  readonly fields: LogFields;
}

const JSON_KEYS: ReadonlySet<string> = new Set([
  "@timestamp",
  "level",
  "@message",
]);

/**
 * Writes a line in the JSON form, without a line end. The time is RFC 3339
 * with nine decimals. A field named like one of the line's own keys gets the
 * prefix `fields.`, so it never takes the place of that key.
 */
function formatJsonLine(line: LogLine, maxChars: number): string {
  const time = new Date(line.timeMs).toISOString().replace("Z", "000000Z");
  const members = [
    `"@timestamp":"${time}"`,
    `"level":"${line.level}"`,
    `"@message":${quote(line.message, { maxChars })}`,
  ];
  for (const [key, value] of Object.entries(line.fields)) {
    if (value === undefined) continue;
    const name = JSON_KEYS.has(key) ? `fields.${key}` : key;
    members.push(`${quote(name, { maxChars })}:${jsonValue(value, maxChars)}`);
  }
  return `{${members.join(",")}}`;
}

/** JSON has no NaN and no infinity; they are written as texts. */
function jsonValue(value: string | number | boolean, maxChars: number): string {
  const isText = typeof value === "string" ||
    (typeof value === "number" && !Number.isFinite(value));
  return isText ? quote(String(value), { maxChars }) : String(value);
}

/** Values of these characters stand without quotes. */
const PLAIN = /^[\w.:/@+^-]+$/;

const TEXT_KEYS: ReadonlySet<string> = new Set(["time", "level", "msg"]);

/**
 * Writes a line in the text form, without a line end. A field named like one
 * of the line's own keys gets the prefix `fields.`; every value is escaped, so
 * nothing in it can pass for a key or another line.
 */
function formatTextLine(line: LogLine, maxChars: number): string {
  const parts = [
    `time="${new Date(line.timeMs).toISOString()}"`,
    `level=${line.level}`,
    `msg=${quote(line.message, { maxChars })}`,
  ];
  for (const [key, value] of Object.entries(line.fields)) {
    if (value === undefined) continue;
    const text = String(value);
    const shown = PLAIN.test(text) && text.length <= maxChars
      ? text
      : quote(text, { maxChars });
    parts.push(`${textKey(key)}=${shown}`);
  }
  return parts.join(" ");
}

function textKey(key: string): string {
  const safe = key.replace(/[^\w.@-]/g, "_");
  if (safe === "") return "_";
  return TEXT_KEYS.has(safe) ? `fields.${safe}` : safe;
}

/**
 * Settings of what is logged and how, by the names that services know them
 * under.
 */
export const logSettings = {
  logLevel: choiceOption({
    name: "LOG_LEVEL",
    values: { debug: "debug", info: "info", warn: "warning", error: "error" },
    default: "info",
    group: "Listener",
    help: "The lowest level that is logged.",
  }),
  logFormat: choiceOption({
    name: "LOG_FORMAT",
    values: { text: "text", json: "json" },
    default: "text",
    group: "Listener",
    help: "The format of log lines.",
  }),
};

/** Least time between two warnings of a kind. */
const PAUSE_MS = 60_000;

/**
 * Logs a kind of warning once a minute at most: for what clients cause, so that
 * they can't flood the log.
 */
export class RateLimitedLog {
  readonly #logger: Logger;
  readonly #clock: Clock;
  #nextMs = -Infinity;

  /** The first warning is logged at once. */
  constructor(logger: Logger, clock: Clock) {
    this.#logger = logger;
    this.#clock = steadyClock(clock);
  }

  /** Logs a warning, unless one was logged within the last minute. */
  warn(message: string, fields: LogFields): void {
    const nowMs = this.#clock.nowMs();
    if (nowMs < this.#nextMs) return;
    this.#nextMs = nowMs + PAUSE_MS;
    this.#logger.warn(message, fields);
  }
}
