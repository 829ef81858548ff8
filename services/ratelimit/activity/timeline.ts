/**
 * What happened lately: rules loaded and refused, stores lost and found again,
 * threads replaced. It takes what the parts of the service log, whatever the
 * level of the log is.
 *
 * @module
 */

import type { Clock } from "../../shared/clock.ts";
import type { LogFields, Logger } from "../../shared/logger.ts";

/** The parts that events are told apart by. */
export type TimelineArea =
  | "rules"
  | "discovery"
  | "candidate"
  | "store"
  | "threads"
  | "service";

/** How much an event matters, least first. */
type EventLevel = "info" | "warning" | "error";

/** Something that happened. */
export interface TimelineEvent {
  /** Number of the event since the start; later ones have higher numbers. */
  readonly number: number;
  /** When it happened last, in milliseconds since the Unix epoch. */
  readonly timeMs: number;
  /** The part that it is about. */
  readonly area: TimelineArea;
  /** How much it matters. */
  readonly level: EventLevel;
  /** What happened, as the log has it. */
  readonly text: string;
  /** What stands beside that in the log. */
  readonly fields: Readonly<Record<string, string>>;
  /** How often it happened in a row; 1 for what is no fault. */
  readonly times: number;
}

/** Events that are kept. */
const MAX_EVENTS = 500;
/** Most characters of a text or field. */
const MAX_CHARS = 2_000;
const MAX_FIELDS = 10;

/** Keeps the last events. */
export class Timeline {
  readonly #clock: Pick<Clock, "nowMs">;
  readonly #events: TimelineEvent[] = [];
  #number = 0;

  /** Makes an empty timeline. */
  constructor(clock: Pick<Clock, "nowMs">) {
    this.#clock = clock;
  }

  /** Returns a logger whose lines, but those of debug, are events as well. */
  watch(logger: Logger, area: TimelineArea): Logger {
    const noted = (
      method: "info" | "warn" | "error",
      level: EventLevel,
    ): Logger["info"] =>
    (message, fields = {}) => {
      logger[method](message, fields);
      this.#note({ area, level, text: message }, fields);
    };
    return {
      debug: (message, fields) => logger.debug(message, fields),
      info: noted("info", "info"),
      warn: noted("warn", "warning"),
      error: noted("error", "error"),
    };
  }

  /** Returns the events, the last first. */
  list(): readonly TimelineEvent[] {
    return this.#events.toReversed();
  }

  #note(
    event: Pick<TimelineEvent, "area" | "level" | "text">,
    logged: LogFields,
  ): void {
    const text = cut(event.text);
    const fields = Object.fromEntries(
      Object.entries(logged).filter(([, value]) => value !== undefined)
        .slice(0, MAX_FIELDS)
        .map(([name, value]) => [name, cut(String(value))]),
    );
    const last = this.#events.at(-1);
    // Rules that are loaded twice are two events.
    const isSame = event.level !== "info" && last?.area === event.area &&
      last.text === text &&
      JSON.stringify(last.fields) === JSON.stringify(fields);
    if (isSame) this.#events.pop();
    this.#events.push({
      ...event,
      ...{ text, fields },
      number: ++this.#number,
      timeMs: this.#clock.nowMs(),
      times: isSame ? last.times + 1 : 1,
    });
    if (this.#events.length > MAX_EVENTS) this.#events.shift();
  }
}

function cut(text: string): string {
  return text.length <= MAX_CHARS ? text : `${text.slice(0, MAX_CHARS)}…`;
}
