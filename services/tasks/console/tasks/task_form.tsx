/**
 * The form of a task: what people fill in, and the body of the API that it
 * stands for.
 *
 * @module
 */

import type { VNode } from "preact";
import type { FormFields } from "../../../shared/console/form.tsx";
import {
  fieldsOf,
  type FormOutcome,
  type FormState,
  jsonOf,
  listOf,
  numberOf,
  pairsOf,
  pairsText,
  prettyJson,
  textOf,
  textsOf,
  valuesOf,
} from "../parts/form.tsx";
import type { ShownRepeat } from "../schedules/schedule_parts.tsx";
import type { ShownTask } from "./task_parts.tsx";

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
  const texts = textsOf(form, [
    ...["cron", "interval", "dialect", "until", "catch_up", "jitter", "mode"],
    "on_failure",
  ]);
  if (texts.cron === null && texts.interval === null) return null;
  return {
    ...texts,
    exclude: listOf(form.get("exclude") ?? ""),
    calendars: listOf(form.get("calendars") ?? ""),
    limit: numberOf(form, "limit"),
  };
}

/** Reads the form as the body that creates or changes a task. */
export function readTaskForm(form: URLSearchParams): FormOutcome {
  const json: Record<string, unknown> = {};
  for (const name of ["data", "retry"]) {
    // A reader who does not see data has no field for it, and leaves it alone.
    // A task without a policy of its own has that of its worker; null means
    // no retries.
    if (!form.has(name) || textOf(form, name) === null && name === "retry") {
      continue;
    }
    const read = jsonOf(form, name);
    if (read.kind === "invalid") return read;
    json[name] = read.value;
  }
  const date = textOf(form, "date");
  return {
    kind: "ok",
    body: {
      ...json,
      worker: form.get("worker") ?? "",
      ...textsOf(form, ["job", "timezone", "key", "group"]),
      repeat: repeatBody(form),
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
  return valuesOf({
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
  });
}

/** What the fields of a task's form need. */
interface FieldsProps extends FormState {
  /** The names of workers to choose from; undefined to write one. */
  readonly workers: readonly string[] | undefined;
  /** Whether the form has a field for data, which not all readers see. */
  readonly hasData: boolean;
}

/** The fields of the form. */
export function TaskFields(props: FieldsProps): VNode {
  const fields = fieldsOf(props);
  const isUsed = (names: readonly string[]): boolean =>
    names.some((name) =>
      (props.values.get(name) ?? "") !== "" || name in props.faults.of
    );
  return (
    <>
      <Work {...props} fields={fields} />
      <fieldset>
        <legend>Schedule</legend>
        <Times fields={fields} />
        <details class="more" open={isUsed(SCHEDULE_DETAILS)}>
          <summary>Days left out, end, catch-up</summary>
          <ScheduleDetails fields={fields} />
        </details>
      </fieldset>
      <details class="more section" open={isUsed(MORE)}>
        <summary>Key, labels, retries</summary>
        <More fields={fields} />
      </details>
    </>
  );
}

function Work(
  { values, workers, hasData, fields: { text, area, choice } }: FieldsProps & {
    readonly fields: FormFields;
  },
): VNode {
  const names = new Set([values.get("worker") ?? "", ...workers ?? []]);
  names.delete("");
  return (
    <fieldset>
      <legend>Work</legend>
      <div class="grid">
        {workers === undefined
          ? text("worker", "Worker", { isRequired: true })
          : choice("worker", "Worker", { choices: [...names] })}
        {text("job", "Job", {
          placeholder: "default",
          hint: "What the worker is to do.",
        })}
      </div>
      {hasData ? area("data", "Data", { hint: "As JSON.", rows: 5 }) : null}
    </fieldset>
  );
}

function Times({ fields: { text } }: { readonly fields: FormFields }): VNode {
  return (
    <div class="grid">
      {text("cron", "Cron expression", {
        placeholder: "30 6 * * MON-FRI",
        hint: "Empty for a task that runs once.",
      })}
      {text("interval", "Or interval", {
        placeholder: "PT15M, 15 minutes",
        hint: "Months and days are those of the time zone.",
      })}
      {text("timezone", "Time zone", {
        placeholder: "Europe/Berlin",
        hint: "The tenant's when empty.",
      })}
      {text("date", "Date", {
        placeholder: "2030-01-31T08:00:00Z",
        hint: "Of the first run; empty for the next time of the schedule, " +
          "or now.",
      })}
    </div>
  );
}

const SCHEDULE_DETAILS = [
  ...["exclude", "calendars", "until", "limit", "catch_up", "jitter"],
  ...["mode", "on_failure", "dialect"],
];

function ScheduleDetails(
  { fields: { text, choice } }: { readonly fields: FormFields },
): VNode {
  return (
    <div class="grid">
      {text("exclude", "Days left out", {
        placeholder: "2030-12-24, 2030-12-25",
      })}
      {text("calendars", "Calendars left out", { placeholder: "holidays" })}
      {text("until", "Ends at", { placeholder: "2031-01-01T00:00:00Z" })}
      {text("limit", "Most repetitions")}
      {choice("catch_up", "Runs that were missed", {
        choices: [
          ["", "As usual: one for all"],
          ["one", "One for all"],
          ["all", "All within the window"],
          ["none", "None"],
        ],
      })}
      {text("jitter", "Random delay at most", { placeholder: "PT30S" })}
      {choice("mode", "Each run", {
        choices: [
          ["", "As usual: the same task"],
          ["same", "The same task"],
          ["spawn", "A task of its own"],
        ],
      })}
      {choice("on_failure", "When a run has failed for good", {
        choices: [
          ["", "As usual: cron goes on, an interval ends"],
          ["continue", "The schedule goes on"],
          ["stop", "The schedule ends"],
        ],
      })}
      {choice("dialect", "Cron dialect", {
        choices: [
          ["", "crontab"],
          ["cron", "crontab, said so"],
          ["quartz", "Quartz"],
          ["eventbridge", "EventBridge"],
        ],
      })}
    </div>
  );
}

const MORE = [
  ...["key", "group", "priority", "timeout", "tags", "metadata", "retry"],
];

function More(
  { fields: { text, area } }: { readonly fields: FormFields },
): VNode {
  return (
    <div class="grid">
      {text("key", "Key", {
        hint: "One live task of the worker has it at a time.",
      })}
      {text("group", "Group")}
      {text("priority", "Priority", { placeholder: "0" })}
      {text("timeout", "Time of an attempt", {
        placeholder: "PT30S",
        hint: "The worker's when empty.",
      })}
      {text("tags", "Tags", { placeholder: "eu, nightly" })}
      {area("metadata", "Metadata", {
        hint: "name=value, one a line.",
        rows: 3,
      })}
      {area("retry", "Retries", {
        hint: (
          <>
            As JSON, such as{" "}
            <code>{'{"limit": 5, "interval": "PT1M"}'}</code>, or{" "}
            <code>null</code> for none; the worker's when never set.
          </>
        ),
        rows: 3,
      })}
    </div>
  );
}
