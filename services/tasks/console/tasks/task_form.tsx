/**
 * The form of a task: what people fill in, and the body of the API that it
 * stands for.
 *
 * @module
 */

import type { VNode } from "preact";
import {
  ChoiceField,
  TextArea,
  TextField,
} from "../../../shared/console/form.tsx";
import {
  listOf,
  numberOf,
  pairsOf,
  pairsText,
  textOf,
} from "../parts/form_faults.tsx";
import type { FormFaults } from "../parts/form_faults.tsx";
import type { ShownRepeat } from "../schedules/schedule_parts.tsx";
import { prettyJson, type ShownTask } from "./task_parts.tsx";

/** The fields that the API names as the form does. */
export const TASK_FORM_FIELDS: readonly string[] = [
  ...["worker", "job", "data", "date", "timezone", "cron", "interval"],
  ...["dialect", "exclude", "calendars", "until", "catch_up", "jitter"],
  ...["mode", "on_failure", "key", "group", "priority", "timeout", "tags"],
  ...["metadata", "limit", "retry"],
];

/** The part of the form that says when a task repeats, as the API reads it. */
export function repeatBody(
  form: URLSearchParams,
): Readonly<Record<string, unknown>> | null {
  const cron = textOf(form, "cron");
  const interval = textOf(form, "interval");
  if (cron === null && interval === null) return null;
  return {
    cron,
    interval,
    dialect: textOf(form, "dialect"),
    exclude: listOf(form.get("exclude") ?? ""),
    calendars: listOf(form.get("calendars") ?? ""),
    limit: numberOf(form, "limit"),
    until: textOf(form, "until"),
    catch_up: textOf(form, "catch_up"),
    jitter: textOf(form, "jitter"),
    mode: textOf(form, "mode"),
    on_failure: textOf(form, "on_failure"),
  };
}

/** What a form that was sent says, or why it cannot be read. */
export type TaskFormOutcome =
  | { readonly kind: "ok"; readonly body: Readonly<Record<string, unknown>> }
  | { readonly kind: "invalid"; readonly faults: FormFaults };

/** Reads the form as the body that creates or changes a task. */
export function readTaskForm(form: URLSearchParams): TaskFormOutcome {
  const json: Record<string, unknown> = {};
  for (const name of ["data", "retry"]) {
    const text = textOf(form, name);
    // A reader who does not see data has no field for it, and leaves it alone.
    // A task without a policy of its own has that of its worker; null means
    // no retries.
    if (!form.has(name) || text === null && name === "retry") continue;
    try {
      json[name] = text === null ? null : JSON.parse(text);
    } catch {
      const fault = `Cannot read ${name}: it is not JSON`;
      return {
        kind: "invalid",
        faults: { of: { [name]: fault }, others: [] },
      };
    }
  }
  const date = textOf(form, "date");
  return {
    kind: "ok",
    body: {
      ...json,
      worker: form.get("worker") ?? "",
      job: textOf(form, "job"),
      timezone: textOf(form, "timezone"),
      repeat: repeatBody(form),
      key: textOf(form, "key"),
      group: textOf(form, "group"),
      priority: numberOf(form, "priority"),
      timeout: numberOf(form, "timeout"),
      tags: listOf(form.get("tags") ?? "") ?? [],
      metadata: pairsOf(form.get("metadata") ?? ""),
      ...(date === null ? {} : { date }),
    },
  };
}

/** The values of the form for a task that is there. */
export function taskFormValues(task: ShownTask): URLSearchParams {
  const repeat = (task.repeat ?? {}) as ShownRepeat;
  const { retry } = task;
  const values: Readonly<Record<string, unknown>> = {
    worker: task.worker,
    job: task.job,
    data: task.data === undefined ? undefined : prettyJson(task.data),
    timezone: task.timezone,
    ...repeat,
    exclude: repeat.exclude?.join(", "),
    calendars: repeat.calendars?.join(", "),
    jitter: repeat.jitter === "PT0S" ? undefined : repeat.jitter,
    key: task.key,
    group: task.group,
    priority: task.priority === 0 ? undefined : task.priority,
    timeout: task.timeout,
    tags: task.tags.join(", "),
    metadata: pairsText(task.metadata),
    retry: retry === undefined ? undefined : prettyJson(retry),
  };
  return new URLSearchParams(
    Object.entries(values).flatMap(([name, value]) =>
      value === undefined || value === null ? [] : [[name, String(value)]]
    ),
  );
}

interface FieldsProps {
  /** The values to begin with. */
  readonly values: URLSearchParams;
  readonly faults: FormFaults;
  /** The names of workers to choose from; undefined to write one. */
  readonly workers: readonly string[] | undefined;
  /** Whether the form has a field for data, which not all readers see. */
  readonly hasData: boolean;
}

/** What a task does. */
export function WorkFields(
  { values, faults: { of }, workers, hasData }: FieldsProps,
): VNode {
  const field = fieldsOf(values, of);
  const names = [
    ...new Set([values.get("worker") ?? "", ...workers ?? []]),
  ].filter((name) => name !== "");
  return (
    <fieldset>
      <legend>Work</legend>
      <div class="grid">
        {workers === undefined
          ? <TextField {...field("worker")} label="Worker" isRequired />
          : (
            <ChoiceField
              {...field("worker")}
              label="Worker"
              choices={names.map((name) => [name, name])}
            />
          )}
        <TextField
          {...field("job")}
          label="Job"
          placeholder="default"
          hint="What the worker is to do."
        />
      </div>
      {hasData
        ? <TextArea {...field("data")} label="Data" hint="As JSON." rows={5} />
        : null}
    </fieldset>
  );
}

/** When a task is done. */
export function TimeFields({ values, faults: { of } }: FieldsProps): VNode {
  const field = fieldsOf(values, of);
  return (
    <fieldset>
      <legend>Schedule</legend>
      <div class="grid">
        <TextField
          {...field("cron")}
          label="Cron expression"
          placeholder="30 6 * * MON-FRI"
          hint="Empty for a task that runs once."
        />
        <TextField
          {...field("interval")}
          label="Or interval"
          placeholder="PT15M, 15 minutes"
          hint="Months and days are those of the time zone."
        />
        <TextField
          {...field("timezone")}
          label="Time zone"
          placeholder="Europe/Berlin"
          hint="The tenant's when empty."
        />
        <TextField
          {...field("date")}
          label="Date"
          placeholder="2030-01-31T08:00:00Z"
          hint="Of the first run; empty for the next time of the schedule, or now."
        />
      </div>
      <details class="more" open={isUsed(values, SCHEDULE_DETAILS, of)}>
        <summary>Days left out, end, catch-up</summary>
        <div class="grid">
          <TextField
            {...field("exclude")}
            label="Days left out"
            placeholder="2030-12-24, 2030-12-25"
          />
          <TextField
            {...field("calendars")}
            label="Calendars left out"
            placeholder="holidays"
          />
          <TextField
            {...field("until")}
            label="Ends at"
            placeholder="2031-01-01T00:00:00Z"
          />
          <TextField {...field("limit")} label="Most repetitions" />
          <ChoiceField
            {...field("catch_up")}
            label="Runs that were missed"
            choices={[
              ["", "As usual: one for all"],
              ["one", "One for all"],
              ["all", "All within the window"],
              ["none", "None"],
            ]}
          />
          <TextField
            {...field("jitter")}
            label="Random delay at most"
            placeholder="PT30S"
          />
          <ChoiceField
            {...field("mode")}
            label="Each run"
            choices={[
              ["", "As usual: the same task"],
              ["same", "The same task"],
              ["spawn", "A task of its own"],
            ]}
          />
          <ChoiceField
            {...field("on_failure")}
            label="When a run has failed for good"
            choices={[
              ["", "As usual: cron goes on, an interval ends"],
              ["continue", "The schedule goes on"],
              ["stop", "The schedule ends"],
            ]}
          />
          <ChoiceField
            {...field("dialect")}
            label="Cron dialect"
            choices={[
              ["", "crontab"],
              ["cron", "crontab, said so"],
              ["quartz", "Quartz"],
              ["eventbridge", "EventBridge"],
            ]}
          />
        </div>
      </details>
    </fieldset>
  );
}

/** How a task is found, and how it is tried. */
export function MoreFields({ values, faults: { of } }: FieldsProps): VNode {
  const field = fieldsOf(values, of);
  return (
    <details class="more section" open={isUsed(values, MORE, of)}>
      <summary>Key, labels, retries</summary>
      <div class="grid">
        <TextField
          {...field("key")}
          label="Key"
          hint="One live task of the worker has it at a time."
        />
        <TextField {...field("group")} label="Group" />
        <TextField {...field("priority")} label="Priority" placeholder="0" />
        <TextField
          {...field("timeout")}
          label="Time of an attempt"
          placeholder="PT30S"
          hint="The worker's when empty."
        />
        <TextField {...field("tags")} label="Tags" placeholder="eu, nightly" />
        <TextArea
          {...field("metadata")}
          label="Metadata"
          hint="name=value, one a line."
          rows={3}
        />
        <TextArea
          {...field("retry")}
          label="Retries"
          hint={
            <>
              As JSON, such as{" "}
              <code>{'{"limit": 5, "interval": "PT1M"}'}</code>, or{" "}
              <code>null</code> for none; the worker's when never set.
            </>
          }
          rows={3}
        />
      </div>
    </details>
  );
}

const SCHEDULE_DETAILS = [
  ...["exclude", "calendars", "until", "limit", "catch_up", "jitter"],
  ...["mode", "on_failure", "dialect"],
];
const MORE = [
  ...["key", "group", "priority", "timeout", "tags", "metadata", "retry"],
];

function isUsed(
  values: URLSearchParams,
  names: readonly string[],
  faults: FormFaults["of"],
): boolean {
  return names.some((name) =>
    (values.get(name) ?? "") !== "" || name in faults
  );
}

/** What a field of a form has: its name, value and fault. */
interface FieldValues {
  readonly name: string;
  readonly value: string;
  readonly fault: string | undefined;
}

/** Gives fields of a form their name, value and fault. */
export function fieldsOf(
  values: URLSearchParams,
  faults: FormFaults["of"],
): (name: string) => FieldValues {
  return (name) => ({
    name,
    value: values.get(name) ?? "",
    fault: faults[name],
  });
}
