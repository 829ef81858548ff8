/**
 * Schemas of what records show of themselves: ids and times.
 *
 * @module
 */

import { described, type Schema } from "../../shared/schema/schema.ts";
import { text } from "../../shared/schema/values.ts";

/** An id that begins with this prefix. */
export function shownId(prefix: string): Schema<string> {
  return described(
    text({ minLength: 1, maxLength: 64 }),
    `Its id, which begins with \`${prefix}_\``,
  );
}

/** A time as the API shows it: RFC 3339 in UTC with milliseconds. */
export function shownTime(description: string): Schema<string> {
  return described(text({ maxLength: 27, format: "date-time" }), description);
}
