/**
 * The history of a task on its page.
 *
 * @module
 */

import type { VNode } from "preact";
import { Time } from "../../shared/console/parts.tsx";
import { Table } from "../../shared/console/table.tsx";
import type { TaskStatus } from "../domain/task.ts";
import type { ShownList } from "./page.ts";
import { type ShownError, StatusBadge } from "./task_parts.tsx";

/** A history record as the API shows it. */
export interface ShownRecord {
  readonly seq: number;
  readonly at: string;
  readonly type: string;
  readonly status: TaskStatus;
  readonly actor: { readonly type: string; readonly id: string };
  readonly instance?: string;
  readonly message?: string;
  readonly error?: ShownError;
  readonly changes?: readonly {
    readonly field: string;
    readonly from?: unknown;
    readonly to?: unknown;
  }[];
  readonly prev: string;
  readonly hash: string;
}

/** Shows the newest records of a history. */
export function TaskHistory(
  { list: { data, next } }: { readonly list: ShownList<ShownRecord> },
): VNode {
  return (
    <section aria-labelledby="history">
      <h2 id="history">History</h2>
      <Table
        label="History, the newest first"
        rows={data}
        columns={[
          { name: "Number", cell: ({ seq }) => seq },
          { name: "At", cell: ({ at }) => <Time at={at} /> },
          { name: "What", cell: ({ type }) => type.replaceAll("_", " ") },
          {
            name: "Status after",
            cell: ({ status }) => <StatusBadge status={status} />,
          },
          { name: "By", cell: ({ actor }) => `${actor.type} ${actor.id}` },
          { name: "Details", cell: (record) => <Details record={record} /> },
        ]}
      />
      {next === null
        ? null
        : <p class="dim">{`The newest ${data.length} records are shown.`}</p>}
    </section>
  );
}

function Details({ record }: { readonly record: ShownRecord }): VNode {
  const { message, error, changes = [], instance } = record;
  return (
    <span>
      {[
        message,
        error && `${error.code}: ${error.message}`,
        ...changes.map(({ field, from, to }) =>
          from === undefined && to === undefined
            ? field
            : `${field}: ${JSON.stringify(from)} → ${JSON.stringify(to)}`
        ),
        instance && `at ${instance}`,
      ].filter((text) => text !== undefined && text !== "").join("; ")}
    </span>
  );
}
