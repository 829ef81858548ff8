/**
 * The bodies that make and change tasks.
 *
 * @module
 */

import { TASK_STATUSES, type TaskStatus } from "../../domain/task.ts";
import { nullable } from "../../../shared/schema/composite.ts";
import {
  described,
  named,
  type Schema,
  shape,
} from "../../../shared/schema/schema.ts";
import { type Fault, report } from "../../../shared/schema/fault.ts";
import { choice } from "../../../shared/schema/values.ts";
import {
  object,
  optional,
  readOnly,
  type ReadOnlyField,
  withDefault,
} from "../../../shared/schema/object.ts";
import { NEW_TASK_EXAMPLE } from "./task_example.ts";
import {
  CONFLICT_FIELD,
  type ConflictChoice,
  DEFINITION_FIELDS,
  type DefinitionInput,
  WORKER_FIELD,
} from "./task_fields.ts";
import { READ_ONLY_PROPERTIES } from "./task_shape.ts";

/** Fields that the service alone decides. */
export const READ_ONLY_FIELDS: Readonly<Record<string, ReadOnlyField>> = Object
  .fromEntries(
    Object.entries(READ_ONLY_PROPERTIES).map(([name, json]) => [
      name,
      readOnly(shape(json)),
    ]),
  );

/**
 * Those of them that depend on the instant they are shown at, so that a client
 * that sends them back cannot know them.
 */
const MOMENTARY: readonly string[] = ["due", "next", "attempt"];

/** Fields that must be sent back as they are, or not at all. */
export const COMPARED_FIELDS: Readonly<Record<string, ReadOnlyField>> = Object
  .fromEntries(
    Object.entries(READ_ONLY_FIELDS).filter(([name]) =>
      !MOMENTARY.includes(name)
    ),
  );

/** The body that makes a task, as it was read. */
export interface NewTaskInput extends DefinitionInput {
  /** The name or the id of the worker. */
  readonly worker: string;
  /** What becomes of it when a live task has its key. */
  readonly on_conflict: ConflictChoice;
  /** Whether it is made paused. */
  readonly status?: "waiting" | "scheduled" | "paused";
}

/** The body that changes a task, as it was read; read-only fields are as they came. */
export interface TaskChangesInput extends DefinitionInput {
  /** The name or the id of the worker. */
  readonly worker?: string;
  /** The status that is asked for. */
  readonly status?: TaskStatus | null;
}

/** The body that makes a task. */
export const NEW_TASK: Schema<NewTaskInput> = namingReadOnly(named(
  "NewTask",
  described(
    object({
      worker: WORKER_FIELD,
      ...DEFINITION_FIELDS,
      on_conflict: withDefault(CONFLICT_FIELD, "return"),
      status: optional(described(
        choice(["waiting", "scheduled", "paused"]),
        "`paused` makes it paused; the other two say what is so anyway",
      )),
    }),
    { description: "A task to be made", examples: [NEW_TASK_EXAMPLE] },
  ),
));

/** The body that changes a task. */
export const TASK_CHANGES: Schema<TaskChangesInput> = named(
  "TaskChanges",
  described(
    object({
      worker: optional(WORKER_FIELD),
      ...DEFINITION_FIELDS,
      status: optional(nullable(described(
        choice(TASK_STATUSES, {
          aliases: { cancel: "canceled", cancelled: "canceled" },
        }),
        "`canceled` cancels it, `paused` pauses it, `waiting` lets it go on " +
          "or runs it again; the status it has already changes nothing",
      ))),
      ...READ_ONLY_FIELDS,
    }),
    {
      description: "What is given is changed, what is not stays, and null " +
        "resets a field to its default; fields that the service decides may " +
        "be sent back as they are",
      examples: [{ date: "2027-02-01T08:00:00Z", tags: ["urgent"] }],
    },
  ),
);

/** Tells fields that only the service writes as such, not as unknown ones. */
function namingReadOnly<T>(schema: Schema<T>): Schema<T> {
  function read(value: unknown, at: string, faults: Fault[]): T | undefined {
    const own = [...faults];
    const taken = schema.read(value, at, own);
    for (const fault of own.slice(faults.length)) {
      report(faults, named(fault, at));
    }
    return taken;
  }
  function named(fault: Fault, at: string): Fault {
    const name = fault.pointer.slice(at.length + 1);
    const isOurs = fault.code === "unknown_field" &&
      Object.hasOwn(READ_ONLY_FIELDS, name);
    return !isOurs ? fault : {
      ...fault,
      code: "read_only",
      detail: `Cannot set field "${name}": the service decides it`,
    };
  }
  return { ...schema, read };
}
