/**
 * Bars of the benchmarks: a figure that was measured and the limit that it has
 * to meet.
 *
 * @module
 */

/** A measured figure and its limit. */
export interface Bar {
  /** A description of what is measured. */
  readonly name: string;
  /**
   * The least value that meets the bar; a figure without a limit is only
   * reported.
   */
  readonly atLeast?: number;
  /** The greatest value that meets the bar. */
  readonly atMost?: number;
  /** The measured value. */
  readonly value: number;
  /** The unit of the value and of the limits. */
  readonly unit: string;
  /**
   * Digits after the decimal point.
   *
   * @default 0
   */
  readonly digits?: number;
  /** Further information for the reader of the report. */
  readonly note?: string;
  /** Why the bar is not judged in this run; absent when it is judged. */
  readonly unjudged?: string;
}

/** Whether a bar is met; `undefined` when it has no limit or is not judged. */
export function isMet(bar: Bar): boolean | undefined {
  const { atLeast, atMost, value, unjudged } = bar;
  if (unjudged !== undefined) return undefined;
  if (atLeast === undefined && atMost === undefined) return undefined;
  return value >= (atLeast ?? -Infinity) && value <= (atMost ?? Infinity);
}

/** Formats the bars as a table for the terminal. */
export function formatTable(bars: readonly Bar[]): string {
  const rows = [
    ["measure", "bar", "measured", "met", ""],
    ...bars.map((bar) => [
      bar.name,
      formatLimit(bar),
      `${format(bar.value, bar.digits)} ${bar.unit}`,
      formatVerdict(bar),
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

/**
 * Formats the bars as a table for a README, without verdicts, since these hold
 * for one run only.
 */
export function formatMarkdown(bars: readonly Bar[]): string {
  const rows = [
    ["measure", "measured", "beside"],
    ["---", "---:", "---"],
    ...bars.map((bar) => [
      bar.name,
      `${format(bar.value, bar.digits)} ${bar.unit}`,
      [formatLimit(bar) && `aim ${formatLimit(bar)}`, bar.note].filter(Boolean)
        .join("; "),
    ]),
  ];
  return rows.map((cells) => `| ${cells.join(" | ")} |`).join("\n");
}

function formatLimit({ atLeast, atMost, unit, digits }: Bar): string {
  if (atLeast !== undefined) return `≥ ${format(atLeast, digits)} ${unit}`;
  if (atMost !== undefined) return `≤ ${format(atMost, digits)} ${unit}`;
  return "";
}

function formatVerdict(bar: Bar): string {
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
