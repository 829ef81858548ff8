/**
 * What clients write of a task, and how it differs from what is kept; derived
 * from {@linkcode TASK_FIELDS}.
 *
 * @module
 */

import type { ObjectOf } from "../../shared/schema/object.ts";
import { jsonEquals } from "../../shared/schema/read_only.ts";
import type { FieldChange } from "./history.ts";
import { BLANK_DEFINITION, type Task, type TaskDefinition } from "./task.ts";
import { TASK_FIELDS } from "./task_fields.ts";

/** The rows of the table. */
type Fields = typeof TASK_FIELDS;

/** Names of fields whose rows are of a kind. */
type NameOf<Row> = {
  [Name in keyof Fields]: Fields[Name] extends Row ? Name : never;
}[keyof Fields];

/** Names of fields that clients write. */
type InputName = NameOf<{ readonly input: unknown }>;

/** Names of fields that are kept as they are read. */
type PlainName = NameOf<{ readonly kind: "plain" }>;

/** The fields of a definition that are kept as they are read. */
type PlainFields = Pick<TaskDefinition, Fields[PlainName]["key"]>;

/** Fields that requests to make a task and to change one have in common. */
export const INPUT_FIELDS = Object.fromEntries(
  Object.entries(TASK_FIELDS).flatMap(([name, field]) =>
    "input" in field ? [[name, field.input]] : []
  ),
) as { readonly [Name in InputName]: Fields[Name]["input"] };

/** What was read of these fields; absent is what was not given. */
export type DefinitionInput = ObjectOf<typeof INPUT_FIELDS>;

/** A task as answers show it, by the names of its fields. */
export type ShownTask =
  & {
    [
      Name in Exclude<
        NameOf<{ readonly shown: unknown }>,
        NameOf<{ readonly mayLack: true }>
      >
    ]: unknown;
  }
  & { [Name in NameOf<{ readonly mayLack: true }>]?: unknown };

type Draft = { -readonly [Key in keyof TaskDefinition]: TaskDefinition[Key] };

const PLAIN_FIELDS = Object.entries(TASK_FIELDS).flatMap(([name, field]) =>
  "kind" in field && field.kind === "plain"
    ? [{ name: name as PlainName, key: field.key }]
    : []
);

/**
 * The fields that are kept as they are read: what is absent stays as in `base`,
 * and null resets.
 */
export function plainFields(
  input: DefinitionInput,
  base: TaskDefinition,
): PlainFields {
  const kept: Draft = { ...base };
  for (const { name, key } of PLAIN_FIELDS) set(kept, key, input[name]);
  return kept;
}

function set<Key extends keyof TaskDefinition>(
  kept: Draft,
  key: Key,
  given: unknown,
): void {
  if (given === undefined) return;
  // Rows of the kind "plain" read what is kept.
  kept[key] = given === null
    ? BLANK_DEFINITION[key]
    : given as TaskDefinition[Key];
}

/** Rows of fields that answers show and a change may differ in, by name. */
const COMPARED_FIELDS = Object.entries(TASK_FIELDS).flatMap(([name, field]) =>
  "show" in field ? [{ name, show: field.show }] : []
);

/** Most characters of data that a history repeats. */
const MAX_DATA_CHARS = 1_024;

/** Lists the fields that change, for the history; a date has its own record. */
export function definitionChanges(
  task: TaskDefinition,
  next: TaskDefinition,
  workerNames: { readonly from: string; readonly to: string },
): readonly FieldChange[] {
  const changes: FieldChange[] = [];
  if (task.workerId !== next.workerId) {
    changes.push({ field: "worker", ...workerNames });
  }
  if (task.dataJson !== next.dataJson) {
    const from = beginningOf(task.dataJson);
    changes.push({ field: "data", from, to: beginningOf(next.dataJson) });
  }
  for (const { name, show } of COMPARED_FIELDS) {
    const from = show(task);
    const to = show(next);
    // Absent and null differ: one is the worker's policy, the other none.
    const isSame = (from === undefined) === (to === undefined) &&
      jsonEquals(from, to);
    if (!isSame) changes.push({ field: name, from, to });
  }
  return changes;
}

function beginningOf(text: string): string {
  return text.length <= MAX_DATA_CHARS
    ? text
    : `${text.slice(0, MAX_DATA_CHARS)}…`;
}

const CHECKED_FIELDS = Object.entries(TASK_FIELDS).flatMap(([name, field]) =>
  "asWritten" in field && field.asWritten !== undefined
    ? [{ name: name as InputName, asWritten: field.asWritten }]
    : []
);

/**
 * Returns what was sent without the fields that are as the task has them, so
 * that what a client sends back is not checked again: it may not be allowed
 * today, as a job that its worker has dropped since, or the date of a retry
 * behind the end of its schedule.
 *
 * @param dataJson The data that was sent as JSON text; undefined when none was.
 */
export function dropUnchanged<Input extends DefinitionInput>(
  input: Input,
  { task, dataJson }: {
    readonly task: Task;
    readonly dataJson: string | undefined;
  },
): Input {
  const left: { -readonly [Key in keyof Input]: Input[Key] } = { ...input };
  // In data, a member that is null is not one that is absent.
  if (dataJson === task.dataJson) delete left.data;
  for (const { name, asWritten } of CHECKED_FIELDS) {
    const given = input[name];
    if (given !== undefined && jsonEquals(given, asWritten(task))) {
      delete left[name];
    }
  }
  return left;
}
