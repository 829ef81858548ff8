/**
 * Bars: what the service must do, and what it did.
 *
 * @module
 */

/** A bar and what was measured. */
export interface Bar {
  /** What is measured. */
  readonly name: string;
  /** What must be reached; absent for what is only told. */
  readonly atLeast?: number;
  /** What must not be exceeded. */
  readonly atMost?: number;
  /** What was measured. */
  readonly value: number;
  /** The unit of all of them. */
  readonly unit: string;
  /** Digits behind the point. */
  readonly digits?: number;
  /** What else is worth knowing. */
  readonly note?: string;
  /** Why the bar is not judged here, if it is not. */
  readonly unjudged?: string;
}

/** Whether a bar is met; undefined when there is none, or it is not judged. */
export function isMet(bar: Bar): boolean | undefined {
  const { atLeast, atMost, value, unjudged } = bar;
  if (unjudged !== undefined) return undefined;
  if (atLeast === undefined && atMost === undefined) return undefined;
  return value >= (atLeast ?? -Infinity) && value <= (atMost ?? Infinity);
}

/** The bars as a table. */
export function tableOf(bars: readonly Bar[]): string {
  const rows = [
    ["measure", "bar", "measured", "met", ""],
    ...bars.map((bar) => [
      bar.name,
      limitOf(bar),
      `${format(bar.value, bar.digits)} ${bar.unit}`,
      verdictOf(bar),
      [bar.unjudged, bar.note].filter((text) => text !== undefined)
        .join("; "),
    ]),
  ];
  const widths = [0, 1, 2, 3].map((column) =>
    Math.max(...rows.map((row) => row[column]?.length ?? 0))
  );
  return rows.map((row) =>
    row.map((cell, column) =>
      column === 2 || column === 1
        ? cell.padStart(widths[column] ?? 0)
        : cell.padEnd(widths[column] ?? 0)
    ).join("  ").trimEnd()
  ).join("\n");
}

/** The bars as a table for a README: without verdicts, which belong to one run. */
export function markdownOf(bars: readonly Bar[]): string {
  const rows = [
    ["measure", "measured", "beside"],
    ["---", "---:", "---"],
    ...bars.map((bar) => [
      bar.name,
      `${format(bar.value, bar.digits)} ${bar.unit}`,
      [limitOf(bar) && `aim ${limitOf(bar)}`, bar.note].filter(Boolean)
        .join("; "),
    ]),
  ];
  return rows.map((cells) => `| ${cells.join(" | ")} |`).join("\n");
}

function limitOf({ atLeast, atMost, unit, digits }: Bar): string {
  if (atLeast !== undefined) return `≥ ${format(atLeast, digits)} ${unit}`;
  if (atMost !== undefined) return `≤ ${format(atMost, digits)} ${unit}`;
  return "";
}

function verdictOf(bar: Bar): string {
  switch (isMet(bar)) {
    case true:
      return "yes";
    case false:
      return "NO";
    case undefined:
      return "-";
  }
}

function format(value: number, digits = 0): string {
  return value.toLocaleString("en-US", {
    minimumFractionDigits: digits,
    maximumFractionDigits: digits,
  });
}
