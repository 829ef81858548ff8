/**
 * Log lines for machines: one JSON object a line with `@timestamp`, `level`
 * and `@message`.
 *
 * @module
 */

import type { LogLine } from "./log_line.ts";
import { quote } from "./quote.ts";

const OWN_KEYS: ReadonlySet<string> = new Set([
  "@timestamp",
  "level",
  "@message",
]);

/**
 * Writes a line in the JSON form, without a line end. The time is RFC 3339
 * with nine decimals. A field named like one of the line's own keys gets the
 * prefix `fields.`, so it never takes the place of that key.
 */
export function formatJsonLine(line: LogLine, maxChars: number): string {
  const time = new Date(line.timeMs).toISOString().replace("Z", "000000Z");
  const members = [
    `"@timestamp":"${time}"`,
    `"level":"${line.level}"`,
    `"@message":${quote(line.message, { maxChars })}`,
  ];
  for (const [key, value] of Object.entries(line.fields)) {
    if (value === undefined) continue;
    const name = OWN_KEYS.has(key) ? `fields.${key}` : key;
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
