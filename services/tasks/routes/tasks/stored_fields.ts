/**
 * What of a change is one: what a client sends back as it was told stays as it
 * is, and is not judged anew. What was taken once may not be taken today, as the
 * job that its worker has dropped since, or the date of a retry behind the end
 * of its schedule.
 *
 * @module
 */

import type { Task } from "../../domain/task.ts";
import { jsonEquals } from "../../../shared/schema/read_only.ts";
import { repeatInputOf } from "../../domain/repeat_rule.ts";
import type { TaskChangesInput } from "./task_schema.ts";

/**
 * Fields that are judged when they change. The others are good at any time, or
 * are compared where they are used.
 */
const JUDGED_FIELDS = [
  "job",
  "data",
  "date",
  "repeat",
  "expires",
  "dependencies",
  "callback",
] as const;

type JudgedField = typeof JUDGED_FIELDS[number];

type Draft = {
  -readonly [Key in keyof TaskChangesInput]: TaskChangesInput[Key];
};

/** Options of {@linkcode withoutStored}. */
export interface StoredOptions {
  /** The task. */
  readonly task: Task;
  /** The data that was sent as JSON text; undefined when none was. */
  readonly dataJson: string | undefined;
}

/** Returns what was sent without the fields that are as the task has them. */
export function withoutStored(
  input: TaskChangesInput,
  stored: StoredOptions,
): TaskChangesInput {
  const left: Draft = { ...input };
  for (const field of storedFields(input, stored)) delete left[field];
  return left;
}

function storedFields(
  input: TaskChangesInput,
  { task, dataJson }: StoredOptions,
): readonly JudgedField[] {
  const { repeat, expiresAtMs } = task;
  const stored: Readonly<Record<Exclude<JudgedField, "data">, unknown>> = {
    job: task.job,
    date: task.dateMs,
    repeat: repeat === undefined ? null : repeatInputOf(repeat),
    expires: expiresAtMs === undefined
      ? null
      : { kind: "at", atMs: expiresAtMs },
    dependencies: task.dependencies,
    callback: task.callback ?? null,
  };
  return JUDGED_FIELDS.filter((field) => {
    const given = input[field];
    if (given === undefined) return false;
    // In data, a member that is null is not one that is absent.
    return field === "data"
      ? dataJson === task.dataJson
      : jsonEquals(given, stored[field]);
  });
}
