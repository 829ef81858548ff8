/**
 * The pages on which webhooks are created and changed.
 *
 * @module
 */

import type { VNode } from "preact";
import { CheckField, TextField } from "../../../shared/console/form.tsx";
import { CsrfField } from "../../../shared/console/layout.tsx";
import { EVENT_TYPES, meaningOf } from "../../domain/event_types.ts";
import {
  FaultsNote,
  type FormFaults,
  formFaults,
  NO_FAULTS,
  textOf,
} from "../parts/form_faults.tsx";
import { type PageAnswer, type PageCall, refusalOf } from "../parts/page.ts";
import { shownOncePage } from "../parts/shown_once.tsx";
import { fieldsOf } from "../tasks/task_form.tsx";
import { type ShownWebhook, webhookName } from "./webhook_parts.tsx";

const FIELDS = ["url", "name", "types", "worker", "job", "group"];

interface FormState {
  readonly values: URLSearchParams;
  readonly faults: FormFaults;
  /** The webhook that is changed; absent for a new one. */
  readonly webhook?: ShownWebhook;
}

/** The path of the API of the webhook that a page is of. */
export function webhookPath({ params: { id = "" } }: PageCall): string {
  return `/v1/webhooks/${encodeURIComponent(id)}`;
}

/** Shows the form of a new webhook. */
export function newWebhookPage(page: PageCall): Promise<PageAnswer> {
  const values = new URLSearchParams({ types: "task.*", enabled: "true" });
  return Promise.resolve(showForm(page, { values, faults: NO_FAULTS }));
}

/** Shows the form of a webhook that is there. */
export async function editWebhookPage(page: PageCall): Promise<PageAnswer> {
  const answer = await page.ask({ path: webhookPath(page) });
  const refusal = refusalOf(answer);
  if (refusal !== undefined) return refusal;
  const webhook = answer.body as ShownWebhook;
  const { name, url, worker, job, group, types, enabled } = webhook;
  const values = new URLSearchParams({
    etag: answer.headers.etag?.toString() ?? "",
    enabled: String(enabled),
    ...{ name, url, worker: worker ?? "", job: job ?? "", group: group ?? "" },
  });
  for (const type of types) values.append("types", type);
  return showForm(page, { values, faults: NO_FAULTS, webhook });
}

/** Creates a webhook. */
export async function createWebhook(page: PageCall): Promise<PageAnswer> {
  const { form, base } = page;
  const answer = await page.ask({
    method: "POST",
    path: "/v1/webhooks",
    body: bodyOf(form),
  });
  const faults = formFaults(answer, FIELDS);
  if (faults !== undefined) return showForm(page, { values: form, faults });
  const webhook = answer.body as ShownWebhook;
  return shownOncePage({
    title: `Webhook ${webhookName(webhook)}`,
    about: "It is created. Its calls are signed with this secret.",
    secrets: [["Signing secret", webhook.signing_secret ?? ""]],
    back: `${base}/webhooks/${webhook.id}`,
    backText: "To the webhook",
  });
}

/** Changes a webhook. */
export async function changeWebhook(page: PageCall): Promise<PageAnswer> {
  const { form, base } = page;
  const path = webhookPath(page);
  const known = await page.ask({ path });
  const refusal = refusalOf(known);
  if (refusal !== undefined) return refusal;
  const webhook = known.body as ShownWebhook;
  const answer = await page.ask({
    method: "PATCH",
    path,
    body: bodyOf(form),
    headers: { "if-match": textOf(form, "etag") ?? "*" },
  });
  const faults = formFaults(answer, FIELDS);
  return faults === undefined
    ? { kind: "redirect", to: `${base}/webhooks/${webhook.id}?done=saved` }
    : showForm(page, { values: form, faults, webhook });
}

function bodyOf(form: URLSearchParams): Readonly<Record<string, unknown>> {
  return {
    url: textOf(form, "url") ?? "",
    name: textOf(form, "name") ?? "",
    types: form.getAll("types"),
    worker: textOf(form, "worker"),
    job: textOf(form, "job"),
    group: textOf(form, "group"),
    enabled: form.get("enabled") === "true",
  };
}

function showForm(
  page: PageCall,
  { values, faults, webhook }: FormState,
): PageAnswer {
  const { base, path, csrf } = page;
  const field = fieldsOf(values, faults.of);
  const back = webhook === undefined ? "" : `/${webhook.id}`;
  return {
    kind: "page",
    title: webhook === undefined
      ? "New webhook"
      : `Edit ${webhookName(webhook)}`,
    status: faults === NO_FAULTS ? 200 : 422,
    content: (
      <form method="post" action={path.split("?", 1)[0]} class="narrow">
        <FaultsNote faults={faults} />
        <CsrfField csrf={csrf} />
        <input type="hidden" name="etag" value={values.get("etag") ?? ""} />
        <TextField
          {...field("url")}
          label="URL"
          placeholder="https://example.com/hooks/tasks"
          hint="Each event is sent there by POST, as Standard Webhooks says."
          isRequired
        />
        <TextField {...field("name")} label="Name" placeholder="billing" />
        <Types chosen={values.getAll("types")} fault={faults.of.types} />
        <fieldset>
          <legend>Only events of</legend>
          <div class="grid">
            <TextField {...field("worker")} label="Worker" hint="Id or name." />
            <TextField {...field("job")} label="Job" />
            <TextField {...field("group")} label="Group" />
          </div>
        </fieldset>
        <CheckField
          name="enabled"
          label="Events are sent"
          isChecked={values.get("enabled") === "true"}
        />
        <div class="row">
          <button type="submit" class="primary">
            {webhook === undefined ? "Create" : "Save"}
          </button>
          <a class="button" href={`${base}/webhooks${back}`}>Back</a>
        </div>
      </form>
    ),
  };
}

/** All types by what their names begin with. */
const GROUPS = Object.entries(
  Object.groupBy(EVENT_TYPES, (type) => type.slice(0, type.indexOf("."))),
);

function Types(
  { chosen, fault }: {
    readonly chosen: readonly string[];
    readonly fault: string | undefined;
  },
): VNode {
  const box = (pattern: string, text: string): VNode => (
    <label class="check">
      <input
        type="checkbox"
        name="types"
        value={pattern}
        checked={chosen.includes(pattern)}
      />
      <span>
        <code>{pattern}</code> <span class="dim">{text}</span>
      </span>
    </label>
  );
  return (
    <fieldset>
      <legend>Types of events</legend>
      {fault === undefined ? null : <p class="fault">{fault}</p>}
      {box("*", "All, also those of later versions")}
      {GROUPS.map(([prefix, types = []]) => (
        <>
          {types.length === 1 ? null : box(`${prefix}.*`, "All of these")}
          {types.length === 1
            ? types.map((type) => box(type, meaningOf(type)))
            : (
              <details
                class="more"
                open={types.some((type) => chosen.includes(type))}
              >
                <summary>{`Single types of ${prefix}.*`}</summary>
                {types.map((type) => box(type, meaningOf(type)))}
              </details>
            )}
        </>
      ))}
    </fieldset>
  );
}
