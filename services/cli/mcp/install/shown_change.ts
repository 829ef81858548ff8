/**
 * Shows what a change of a text changes.
 *
 * @module
 */

/** Lines around a change that are shown with it. */
const CONTEXT = 2;
/** Most characters of a line that are shown. */
const MAX_CHARS = 160;

/**
 * Shows the lines that differ, with `-` and `+` before them and some lines
 * around them. One part that changed is shown as one.
 */
export function shownChange(before: string, after: string): string {
  const old = toLines(before);
  const now = toLines(after);
  let head = 0;
  while (head < old.length && head < now.length && old[head] === now[head]) {
    head++;
  }
  let tail = 0;
  while (
    tail < old.length - head && tail < now.length - head &&
    old.at(-1 - tail) === now.at(-1 - tail)
  ) tail++;
  const shown = [
    ...marked(" ", old.slice(Math.max(0, head - CONTEXT), head)),
    ...marked("-", old.slice(head, old.length - tail)),
    ...marked("+", now.slice(head, now.length - tail)),
    ...marked(" ", now.slice(now.length - tail).slice(0, CONTEXT)),
  ];
  return shown.join("\n");
}

function toLines(text: string): readonly string[] {
  const lines = text.split(/\r?\n/);
  return lines.at(-1) === "" ? lines.slice(0, -1) : lines;
}

function marked(mark: string, lines: readonly string[]): readonly string[] {
  return lines.map((line) => {
    // Control characters could rewrite what a terminal shows.
    const plain = line.replaceAll(/[^\P{Cc}\t]/gu, "?");
    return plain.length > MAX_CHARS
      ? `${mark} ${plain.slice(0, MAX_CHARS)}…`
      : `${mark} ${plain}`;
  });
}
