/**
 * The pages on which workers are created and changed.
 *
 * @module
 */

import type { VNode } from "preact";
import {
  CheckField,
  ChoiceField,
  TextArea,
  TextField,
} from "../../../shared/console/form.tsx";
import { CsrfField } from "../../../shared/console/layout.tsx";
import {
  FaultsNote,
  type FormFaults,
  formFaults,
  listOf,
  NO_FAULTS,
  numberOf,
  textOf,
} from "../parts/form_faults.tsx";
import { type PageAnswer, type PageCall, refusalOf } from "../parts/page.ts";
import { fieldsOf } from "../tasks/task_form.tsx";
import { prettyJson } from "../tasks/task_parts.tsx";
import { workerPath } from "./worker_page.tsx";
import { shownOncePage } from "../parts/shown_once.tsx";
import type { ShownWorker } from "./worker_parts.tsx";

const FIELDS: readonly string[] = [
  ...["name", "url", "method", "headers", "jobs", "concurrency", "limits"],
  ...["timeout", "lease", "retry", "max_lost", "asymmetric"],
];

interface FormState {
  readonly values: URLSearchParams;
  readonly faults: FormFaults;
  /** The worker that is changed; absent for a new one. */
  readonly worker?: ShownWorker;
}

/** Shows the form of a new worker. */
export function newWorkerPage(page: PageCall): Promise<PageAnswer> {
  const values = new URLSearchParams({ method: "POST", concurrency: "10" });
  return Promise.resolve(showForm(page, { values, faults: NO_FAULTS }));
}

/** Shows the form of a worker that is there. */
export async function editWorkerPage(page: PageCall): Promise<PageAnswer> {
  const answer = await page.ask({ path: workerPath(page) });
  const worker = answer.body as ShownWorker;
  return refusalOf(answer) ?? showForm(page, {
    values: valuesOf(worker, answer.headers.etag?.toString() ?? ""),
    faults: NO_FAULTS,
    worker,
  });
}

/** Creates a worker. */
export async function createWorker(page: PageCall): Promise<PageAnswer> {
  const { form, base } = page;
  const read = readForm(form);
  if (read.kind === "invalid") {
    return showForm(page, { values: form, faults: read.faults });
  }
  const given = Object.entries(read.body).filter(([, value]) => value !== null);
  const answer = await page.ask({
    method: "POST",
    path: "/v1/workers",
    body: Object.fromEntries(given),
  });
  const faults = formFaults(answer, FIELDS);
  if (faults !== undefined) return showForm(page, { values: form, faults });
  const { id, name, kind, signing_secret: secret } = answer.body as ShownWorker;
  const back = `${base}/workers/${id}`;
  if (kind === "pull" || typeof secret !== "string") {
    return { kind: "redirect", to: `${back}?done=created` };
  }
  return shownOncePage({
    title: `Worker ${name}`,
    about: "It is created. Its calls are signed with this secret.",
    secrets: [["Signing secret", secret]],
    back,
    backText: "To the worker",
  });
}

/** Changes a worker. */
export async function changeWorker(page: PageCall): Promise<PageAnswer> {
  const { form, base } = page;
  const path = workerPath(page);
  const known = await page.ask({ path });
  const refusal = refusalOf(known);
  if (refusal !== undefined) return refusal;
  const worker = known.body as ShownWorker;
  const read = readForm(form);
  if (read.kind === "invalid") {
    return showForm(page, { values: form, faults: read.faults, worker });
  }
  const answer = await page.ask({
    method: "PUT",
    path,
    body: read.body,
    headers: { "if-match": textOf(form, "etag") ?? "*" },
  });
  const faults = formFaults(answer, FIELDS);
  return faults === undefined
    ? { kind: "redirect", to: `${base}/workers/${worker.id}?done=saved` }
    : showForm(page, { values: form, faults, worker });
}

type FormOutcome =
  | { readonly kind: "ok"; readonly body: Readonly<Record<string, unknown>> }
  | { readonly kind: "invalid"; readonly faults: FormFaults };

function readForm(form: URLSearchParams): FormOutcome {
  const json: Record<string, unknown> = {};
  for (const name of ["limits", "retry"]) {
    const text = textOf(form, name);
    // Without a policy of its own a worker has that of the service.
    if (text === null) {
      if (name === "limits") json[name] = null;
      continue;
    }
    const outcome = parsed(name, text);
    if (outcome.kind === "invalid") return outcome;
    json[name] = outcome.value;
  }
  const jobs = textOf(form, "jobs") ?? "";
  const named = jobs.startsWith("{")
    ? parsed("jobs", jobs)
    : { kind: "ok" as const, value: listOf(jobs) };
  if (named.kind === "invalid") return named;
  return {
    kind: "ok",
    body: {
      ...json,
      name: textOf(form, "name") ?? "",
      url: textOf(form, "url"),
      method: textOf(form, "method"),
      headers: headersOf(form.get("headers") ?? ""),
      jobs: named.value,
      concurrency: numberOf(form, "concurrency"),
      timeout: numberOf(form, "timeout"),
      lease: textOf(form, "lease"),
      max_lost: numberOf(form, "max_lost"),
      asymmetric: form.get("asymmetric") === "true",
    },
  };
}

function parsed(
  name: string,
  text: string,
):
  | { readonly kind: "ok"; readonly value: unknown }
  | Extract<FormOutcome, { readonly kind: "invalid" }> {
  try {
    return { kind: "ok", value: JSON.parse(text) };
  } catch {
    const of = { [name]: `Cannot read ${name}: it is not JSON` };
    return { kind: "invalid", faults: { of, others: [] } };
  }
}

/** The lines `Name: value` of the field as an object. */
function headersOf(text: string): Readonly<Record<string, string>> {
  return Object.fromEntries(
    text.split("\n").map((line) => line.trim()).filter((line) => line !== "")
      .map((line) => {
        const at = line.indexOf(":");
        return at === -1
          ? [line, ""]
          : [line.slice(0, at).trim(), line.slice(at + 1).trim()];
      }),
  );
}

function valuesOf(worker: ShownWorker, etag: string): URLSearchParams {
  const { jobs, limits, retry } = worker;
  const hasOwn = Object.values(jobs ?? {}).some((job) =>
    Object.keys(job).length > 0
  );
  const values: Readonly<Record<string, unknown>> = {
    etag,
    name: worker.name,
    url: worker.url,
    method: worker.method,
    headers: Object.entries(worker.headers)
      .map(([name, value]) => `${name}: ${value}`).join("\n"),
    jobs: jobs === null
      ? null
      : hasOwn
      ? prettyJson(jobs)
      : Object.keys(jobs).join(", "),
    concurrency: worker.concurrency,
    limits: limits === null ? null : prettyJson(limits),
    timeout: worker.timeout,
    lease: worker.lease,
    retry: retry === undefined ? null : prettyJson(retry),
    max_lost: worker.max_lost,
    asymmetric: worker.asymmetric,
  };
  return new URLSearchParams(
    Object.entries(values).flatMap(([name, value]) =>
      value === null ? [] : [[name, String(value)]]
    ),
  );
}

function showForm(
  page: PageCall,
  { values, faults, worker }: FormState,
): PageAnswer {
  const { base, path, csrf } = page;
  const field = fieldsOf(values, faults.of);
  return {
    kind: "page",
    title: worker === undefined ? "New worker" : `Edit ${worker.name}`,
    status: faults === NO_FAULTS ? 200 : 422,
    content: (
      <form method="post" action={path.split("?", 1)[0]} class="narrow">
        <FaultsNote faults={faults} />
        <CsrfField csrf={csrf} />
        <input type="hidden" name="etag" value={values.get("etag") ?? ""} />
        <TextField
          {...field("name")}
          label="Name"
          placeholder="mailer"
          hint="Tasks name their worker by it."
          isRequired
        />
        <Calls
          field={field}
          isAsymmetric={values.get("asymmetric") === "true"}
        />
        <Rules field={field} />
        <div class="row">
          <button type="submit" class="primary">
            {worker === undefined ? "Create" : "Save"}
          </button>
          <a
            class="button"
            href={`${base}/workers${
              worker === undefined ? "" : `/${worker.id}`
            }`}
          >
            Back
          </a>
        </div>
      </form>
    ),
  };
}

type Field = ReturnType<typeof fieldsOf>;

function Calls(
  { field, isAsymmetric }: {
    readonly field: Field;
    readonly isAsymmetric: boolean;
  },
): VNode {
  return (
    <fieldset>
      <legend>Calls</legend>
      <TextField
        {...field("url")}
        label="URL"
        placeholder="https://mailer.example.com/tasks"
        hint="The service calls it for each task. Empty for a worker that asks for tasks itself."
      />
      <ChoiceField
        {...field("method")}
        label="Method"
        choices={["POST", "PUT", "PATCH"].map((one) => [one, one])}
      />
      <TextArea
        {...field("headers")}
        label="Headers"
        rows={3}
        hint={
          <>
            <code>Name: value</code>, one a line; values may hold{" "}
            <code>{"{{secrets.NAME}}"}</code>.
          </>
        }
      />
      <CheckField
        name="asymmetric"
        label="Sign calls with a key pair as well"
        isChecked={isAsymmetric}
      />
    </fieldset>
  );
}

function Rules({ field }: { readonly field: Field }): VNode {
  return (
    <fieldset>
      <legend>Tasks</legend>
      <TextArea
        {...field("jobs")}
        label="Jobs"
        rows={2}
        hint="Names with commas, or JSON of what each has of its own; any job when empty."
      />
      <div class="grid">
        <TextField
          {...field("concurrency")}
          label="At once"
          hint="0 for as many as the plan allows."
        />
        <TextField
          {...field("timeout")}
          label="Time of an attempt"
          placeholder="PT30S"
          hint="Milliseconds or a duration."
        />
        <TextField {...field("lease")} label="Lease" placeholder="PT30S" />
        <TextField
          {...field("max_lost")}
          label="Lost attempts in a row"
          placeholder="3"
        />
      </div>
      <TextArea
        {...field("limits")}
        label="Limits"
        rows={3}
        hint={
          <>
            As JSON, such as <code>{'{"rate": 100, "period": "PT1M"}'}</code>.
          </>
        }
      />
      <TextArea
        {...field("retry")}
        label="Retries"
        rows={3}
        hint={
          <>
            As JSON, such as{" "}
            <code>{'{"limit": 5, "interval": "PT1M"}'}</code>, or{" "}
            <code>null</code> for none.
          </>
        }
      />
    </fieldset>
  );
}
