/**
 * Formats tasks as tables and lines of text.
 *
 * @module
 */

import type { Task, TaskPart } from "../../../sdk/tasks.ts";

/**
 * Most characters of a cell; a longer text is cut and ends with an ellipsis.
 */
const MAX_CELL = 60;

/** Formats a table; each column is as wide as its widest cell. */
export function formatTable(
  titles: readonly string[],
  rows: readonly (readonly string[])[],
): string {
  const cells = [titles, ...rows].map((row) => row.map(cut));
  const widths = titles.map((_, column) =>
    Math.max(...cells.map((row) => row[column]!.length))
  );
  return cells.map((row) =>
    row.map((cell, column) => cell.padEnd(widths[column]!)).join("  ").trimEnd()
  ).join("\n");
}

function cut(text: string): string {
  // A line break or another control character would break the table.
  const line = text.replaceAll(/\p{Cc}+/gu, " ");
  return line.length <= MAX_CELL ? line : `${line.slice(0, MAX_CELL - 1)}…`;
}

/** The titles of {@linkcode taskRow}. */
export const TASK_TITLES: readonly string[] = [
  "ID",
  "STATUS",
  "WORKER",
  "JOB",
  "DATE",
  "RUNS",
  "LAST ERROR",
];

/** A task as a row. */
export function taskRow(task: TaskPart): readonly string[] {
  return [
    task.id ?? "",
    task.status ?? "",
    task.worker ?? "",
    task.job ?? "",
    shownTime(task.date),
    String(task.executions ?? 0),
    task.error?.message ?? "",
  ];
}

/** Formats a time to the second, in UTC; an absent time as an empty text. */
export function shownTime(time: string | null | undefined): string {
  return time === null || time === undefined
    ? ""
    : time.replace("T", " ").replace(/\.\d+Z$/, "Z");
}

/** Formats one line for each name and value; leaves out empty values. */
export function formatLines(
  fields: readonly (readonly [name: string, value: string])[],
): string {
  const shown = fields.filter(([, value]) => value !== "");
  const width = Math.max(...shown.map(([name]) => name.length));
  return shown.map(([name, value]) => `${name.padEnd(width)}  ${value}`)
    .join("\n");
}

/** How a task ended, in one line. */
export function formatOutcome(task: Task): string {
  if (task.status === "complete" || task.last_outcome === "succeeded") {
    return task.result === null || task.result === undefined
      ? "succeeded"
      : `succeeded: ${JSON.stringify(task.result)}`;
  }
  return task.error === null
    ? task.status
    : `${task.status}: ${task.error.code}: ${task.error.message}`;
}
