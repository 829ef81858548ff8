/**
 * The JSON body of a task as clients write it, and how it differs from the
 * stored task; derived from {@linkcode TASK_FIELDS}.
 *
 * @module
 */

import { jsonEquals } from "../../shared/schema/json_value.ts";
import type { ObjectOf } from "../../shared/schema/object.ts";
import type { FieldChange } from "./history.ts";
import { BLANK_DEFINITION, type Task, type TaskDefinition } from "./task.ts";
import { TASK_FIELDS } from "./task_fields.ts";

/** The type of the table of fields. */
type Fields = typeof TASK_FIELDS;

/** The names of the fields whose row has a given type. */
type NameOf<Row> = {
  [Name in keyof Fields]: Fields[Name] extends Row ? Name : never;
}[keyof Fields];

/** Names of fields that clients write. */
type InputName = NameOf<{ readonly input: unknown }>;

/** The names of the fields that are stored as they are read. */
type PlainName = NameOf<{ readonly kind: "plain" }>;

/** The fields of a definition that are stored as they are read. */
type PlainFields = Pick<TaskDefinition, Fields[PlainName]["key"]>;

/**
 * The fields that requests to create a task and requests to change one share.
 */
export const INPUT_FIELDS = Object.fromEntries(
  Object.entries(TASK_FIELDS).flatMap(([name, field]) =>
    "input" in field ? [[name, field.input]] : []
  ),
) as { readonly [Name in InputName]: Fields[Name]["input"] };

/** The parsed values of these fields; a field that was not given is absent. */
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
 * Returns the fields that are stored as they are read. A field that the input
 * lacks keeps its value from `base`; null resets it to its default.
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
  // The schema of a "plain" row parses to the type of the stored field.
  kept[key] = given === null
    ? BLANK_DEFINITION[key]
    : given as TaskDefinition[Key];
}

/**
 * The fields whose changes are recorded in the history and that answers show.
 */
const COMPARED_FIELDS = Object.entries(TASK_FIELDS).flatMap(([name, field]) =>
  "show" in field ? [{ name, show: field.show }] : []
);

/** The most characters of a task's data that a history record repeats. */
const MAX_DATA_CHARS = 1_024;

/**
 * Lists the fields that change, for the history. The date is left out, since it
 * has a record of its own.
 */
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
    const from = cutBeginning(task.dataJson);
    changes.push({ field: "data", from, to: cutBeginning(next.dataJson) });
  }
  for (const { name, show } of COMPARED_FIELDS) {
    const from = show(task);
    const to = show(next);
    // Absent and null differ: absent means the worker's policy, null no
    // retries.
    const isSame = (from === undefined) === (to === undefined) &&
      jsonEquals(from, to);
    if (!isSame) changes.push({ field: name, from, to });
  }
  return changes;
}

function cutBeginning(text: string): string {
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
 * Returns the input without the fields that equal those of the task, so that a
 * value that a client reads and sends back is not checked again. The value may
 * not be allowed today: the worker may have dropped the job, or the date may be
 * that of a retry after the end of the schedule.
 *
 * @param dataJson the data of the request as JSON text; undefined when it has
 * no data
 */
export function dropUnchanged<Input extends DefinitionInput>(
  input: Input,
  { task, dataJson }: {
    readonly task: Task;
    readonly dataJson: string | undefined;
  },
): Input {
  const left: { -readonly [Key in keyof Input]: Input[Key] } = { ...input };
  // The comparison is of texts, since in data, null and an absent member
  // differ.
  if (dataJson === task.dataJson) delete left.data;
  for (const { name, asWritten } of CHECKED_FIELDS) {
    const given = input[name];
    if (given !== undefined && jsonEquals(given, asWritten(task))) {
      delete left[name];
    }
  }
  return left;
}
