/**
 * A logger that holds back repeated warnings and errors. On a full disk every
 * request fails in the same way, and the lines about it would fill the rest of
 * the disk.
 *
 * @module
 */

import { BoundedMap } from "../shared/bounded_map.ts";
import type { Clock } from "../shared/clock.ts";

import type { LogFields, Logger } from "../shared/logger.ts";

/** How long a repeated line is held back, in milliseconds. */
const PAUSE_MS = 10_000;
/** Most different lines that are remembered. */
const MAX_LINES = 200;

/** A line that was passed on. */
interface Told {
  readonly atMs: number;
  /** How often the line was held back since. */
  held: number;
}

/**
 * Makes a logger that passes lines on to another one. Of warnings and errors
 * that differ only in the request, one is passed on every ten seconds. The next
 * one tells in `repeated` how many were held back.
 */
export function quietLogger(
  logger: Logger,
  clock: Clock,
): Logger {
  const told = new BoundedMap<string, Told>({ maxEntries: MAX_LINES });

  function pass(
    level: "warn" | "error",
    message: string,
    fields: LogFields = {},
  ): void {
    const { request: _request, ...same } = fields;
    const key = `${level} ${message} ${JSON.stringify(same)}`;
    const nowMs = clock.nowMs();
    const last = told.get(key);
    const ageMs = nowMs - (last?.atMs ?? -Infinity);
    if (last !== undefined && ageMs >= 0 && ageMs < PAUSE_MS) {
      last.held++;
      return;
    }
    told.set(key, { atMs: nowMs, held: 0 });
    const held = last?.held ?? 0;
    logger[level](message, held > 0 ? { ...fields, repeated: held } : fields);
  }

  return {
    debug: (message, fields) => logger.debug(message, fields),
    info: (message, fields) => logger.info(message, fields),
    warn: (message, fields) => pass("warn", message, fields),
    error: (message, fields) => pass("error", message, fields),
  };
}
