/**
 * Divides log lines into reports that the service accepts.
 *
 * @module
 */

/** Most lines of a report; the service has the same limit. */
const MAX_LINES = 100;
/** Most characters of a report's lines; the service has the same limit. */
const MAX_CHARS = 262_144;

/**
 * Returns log lines in parts, each for a report of its own. A line that is too
 * long for a report is cut: the service keeps the beginning of each line.
 */
export function logParts(
  lines: readonly string[],
): readonly (readonly string[])[] {
  const parts: string[][] = [];
  let chars = Infinity;
  for (const given of lines) {
    // The lines may come from code that is not checked for types.
    const line = String(given).slice(0, MAX_CHARS);
    const last = parts.at(-1);
    chars += line.length;
    if (last === undefined || last.length === MAX_LINES || chars > MAX_CHARS) {
      parts.push([line]);
      chars = line.length;
    } else {
      last.push(line);
    }
  }
  return parts;
}
