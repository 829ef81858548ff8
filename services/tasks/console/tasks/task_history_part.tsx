/**
 * The history of a task on its page.
 *
 * @module
 */

import type { VNode } from "preact";
import { Note, Section } from "../../../shared/console/parts.tsx";
import { Table } from "../../../shared/console/table.tsx";
import type { FieldChange, HistoryRecord } from "../../domain/history.ts";
import type { Actor } from "../../domain/records.ts";
import type { TaskStatus } from "../../domain/task.ts";
import type { ShownList, Texts } from "../parts/page.ts";
import { type ShownError, type ShownTask, StatusBadge } from "./task_parts.tsx";

/** A history record as the API shows it. */
export type ShownRecord =
  & Pick<HistoryRecord, "seq" | "prev" | "hash">
  & Texts<"at" | "type">
  & Partial<Texts<"instance" | "message">>
  & {
    /** The status after it. */
    readonly status: TaskStatus;
    /** The user, key or worker that caused it. */
    readonly actor: Actor;
    /** The failure, where it is one. */
    readonly error?: ShownError;
    /** What an update changed. */
    readonly changes?: readonly FieldChange[];
  };

/** The outcome of checking a history, and what does not fit. */
export type ShownCheck = Texts<never, "reason"> & {
  /** Whether all records fit together. */
  readonly is_whole: boolean;
  /** Records that were checked. */
  readonly records: number;
};

/** The longest history that a page checks without being asked. */
export const CHECKED_AT_ONCE = 500;

function Check(
  { check: { is_whole: isWhole, records, reason } }: {
    readonly check: ShownCheck;
  },
): VNode {
  return isWhole
    ? (
      <p class="good">
        {records === 1
          ? "The chain is whole: 1 record."
          : `The chain is whole: ${records} records, each with the hash of ` +
            "the one before."}
      </p>
    )
    : (
      <Note tone="bad">
        <p>{`The history does not fit together. ${reason}.`}</p>
      </Note>
    );
}

/** Shows the newest records of a history. */
export function TaskHistory(
  { task, base, check, list: { data, next } }: {
    readonly task: Pick<ShownTask, "id" | "worker" | "worker_id">;
    readonly base: string;
    /** Whether its chain is whole; absent when it was not checked. */
    readonly check: ShownCheck | undefined;
    readonly list: ShownList<ShownRecord>;
  },
): VNode {
  return (
    <Section id="history" title="History">
      {check === undefined
        ? (
          <p>
            <a href={`${base}/tasks/${task.id}?check=true#history`}>
              {`Check the chain of all ${data[0]?.seq ?? 0} records`}
            </a>
          </p>
        )
        : <Check check={check} />}
      <Table
        label="History, the newest first"
        rows={data}
        columns={[
          { name: "Number", cell: ({ seq }) => seq },
          { name: "At", at: ({ at }) => at },
          {
            name: "What",
            cell: ({ type }) => type.replaceAll("_", " "),
            isShort: true,
          },
          {
            name: "Status after",
            cell: ({ status }) => <StatusBadge status={status} />,
          },
          {
            name: "By",
            cell: ({ actor }) => <ActorName actor={actor} task={task} />,
          },
          { name: "Details", cell: details },
        ]}
      />
      {next === null
        ? null
        : <p class="dim">{`The newest ${data.length} records are shown.`}</p>}
    </Section>
  );
}

/** Who did something, by name where the task tells it. */
export function ActorName(
  { actor: { type, id }, task }: {
    readonly actor: Actor;
    readonly task: Pick<ShownTask, "worker" | "worker_id">;
  },
): VNode {
  if (type === "system") return <span>the service</span>;
  return id === task.worker_id ? <span>{`worker ${task.worker}`}</span> : (
    <span>
      {type} <span class="mono">{id}</span>
    </span>
  );
}

function details(
  { message, error, changes = [], instance }: ShownRecord,
): string {
  return [
    message,
    error && `${error.code}: ${error.message}`,
    ...changes.map(({ field, from, to }) =>
      from === undefined && to === undefined
        ? field
        : `${field}: ${JSON.stringify(from)} → ${JSON.stringify(to)}`
    ),
    instance && `at ${instance}`,
  ].filter((text) => text !== undefined && text !== "").join("; ");
}
