/**
 * The form of workers.
 *
 * @module
 */

import type { VNode } from "preact";
import type { FormFields } from "../../../shared/console/form.tsx";
import {
  type FormOutcome,
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
import { recordForm, type RecordPages } from "../parts/record_form.tsx";
import type { ShownWorker } from "./worker_parts.tsx";

/** The pages on which workers are created and changed. */
export const WORKER_FORM: RecordPages = recordForm<ShownWorker>({
  noun: "worker",
  nameOf: ({ name }) => name,
  names: [
    ...["name", "url", "method", "headers", "jobs", "concurrency", "limits"],
    ...["timeout", "lease", "retry", "max_lost", "asymmetric"],
  ],
  begin: () => new URLSearchParams({ method: "POST", concurrency: "10" }),
  valuesOf({ jobs, limits, retry, headers, ...worker }) {
    const hasOwn = Object.values(jobs ?? {}).some((job) =>
      Object.keys(job).length > 0
    );
    return valuesOf({
      // Values that the form has no field for are not shown.
      ...worker,
      headers: pairsText(headers, ": "),
      jobs: hasOwn ? prettyJson(jobs) : jobs && Object.keys(jobs).join(", "),
      limits: limits && prettyJson(limits),
      retry: retry === undefined ? null : prettyJson(retry),
    });
  },
  read,
  method: "PUT",
  about: "It is created. Its calls are signed with this secret.",
  isSigner: ({ kind }) => kind === "push",
  content: (fields) => (
    <>
      {fields.text("name", "Name", {
        placeholder: "mailer",
        hint: "Tasks name their worker by it.",
        isRequired: true,
      })}
      <Calls fields={fields} />
      <Rules fields={fields} />
    </>
  ),
});

function read(form: URLSearchParams): FormOutcome {
  const limits = jsonOf(form, "limits");
  if (limits.kind === "invalid") return limits;
  const retry = jsonOf(form, "retry");
  if (retry.kind === "invalid") return retry;
  const named = textOf(form, "jobs") ?? "";
  const jobs = named.startsWith("{")
    ? jsonOf(form, "jobs")
    : { kind: "ok" as const, value: listOf(named) };
  if (jobs.kind === "invalid") return jobs;
  return {
    kind: "ok",
    body: {
      limits: limits.value,
      // Without a policy of its own a worker has that of the service.
      ...textOf(form, "retry") === null ? {} : { retry: retry.value },
      name: textOf(form, "name") ?? "",
      ...textsOf(form, ["url", "method", "lease"]),
      headers: pairsOf(form.get("headers") ?? "", { sign: ":" }),
      jobs: jobs.value,
      concurrency: numberOf(form, "concurrency"),
      timeout: numberOf(form, "timeout"),
      max_lost: numberOf(form, "max_lost"),
      asymmetric: form.get("asymmetric") === "true",
    },
  };
}

function Calls(
  { fields: { text, area, choice, check } }: { readonly fields: FormFields },
): VNode {
  return (
    <fieldset>
      <legend>Calls</legend>
      {text("url", "URL", {
        placeholder: "https://mailer.example.com/tasks",
        hint: "The service calls it for each task. Empty for a worker that " +
          "asks for tasks itself.",
      })}
      {choice("method", "Method", { choices: ["POST", "PUT", "PATCH"] })}
      {area("headers", "Headers", {
        rows: 3,
        hint: (
          <>
            <code>Name: value</code>, one a line; values may hold{" "}
            <code>{"{{secrets.NAME}}"}</code>.
          </>
        ),
      })}
      {check("asymmetric", "Sign calls with a key pair as well")}
    </fieldset>
  );
}

function Rules(
  { fields: { text, area } }: { readonly fields: FormFields },
): VNode {
  return (
    <fieldset>
      <legend>Tasks</legend>
      {area("jobs", "Jobs", {
        rows: 2,
        hint: "Names with commas, or JSON of what each has of its own; any " +
          "job when empty.",
      })}
      <div class="grid">
        {text("concurrency", "At once", {
          hint: "0 for as many as the plan allows.",
        })}
        {text("timeout", "Time of an attempt", {
          placeholder: "PT30S",
          hint: "Milliseconds or a duration.",
        })}
        {text("lease", "Lease", { placeholder: "PT30S" })}
        {text("max_lost", "Lost attempts in a row", { placeholder: "3" })}
      </div>
      {area("limits", "Limits", {
        rows: 3,
        hint: (
          <>
            As JSON, such as <code>{'{"rate": 100, "period": "PT1M"}'}</code>.
          </>
        ),
      })}
      {area("retry", "Retries", {
        rows: 3,
        hint: (
          <>
            As JSON, such as{" "}
            <code>{'{"limit": 5, "interval": "PT1M"}'}</code>, or{" "}
            <code>null</code> for none.
          </>
        ),
      })}
    </fieldset>
  );
}
