/**
 * Log lines for people: `time="…" level=info msg="…" key=value`.
 *
 * @module
 */

import type { LogLine } from "./log_line.ts";
import { quote } from "./quote.ts";

/** Values of these characters stand without quotes. */
const PLAIN = /^[\w.:/@+^-]+$/;

const OWN_KEYS: ReadonlySet<string> = new Set(["time", "level", "msg"]);

/**
 * Writes a line in the text form, without a line end. A field named like one
 * of the line's own keys gets the prefix `fields.`; every value is escaped, so
 * nothing in it can pass for a key or another line.
 */
export function formatTextLine(line: LogLine, maxChars: number): string {
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
  return OWN_KEYS.has(safe) ? `fields.${safe}` : safe;
}
