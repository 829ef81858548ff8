/**
 * The pages on which alerts are created, from rules that are often wanted, and
 * changed.
 *
 * @module
 */

import type { VNode } from "preact";
import {
  CheckField,
  ChoiceField,
  TextField,
} from "../../../shared/console/form.tsx";
import { CsrfField } from "../../../shared/console/layout.tsx";
import { ALERT_COUNTS, describeCount } from "../../domain/alert_rule.ts";
import { alertName, alertPath, type ShownAlert } from "./alert_pages.tsx";
import {
  FaultsNote,
  type FormFaults,
  formFaults,
  NO_FAULTS,
  numberOf,
  textOf,
} from "../parts/form_faults.tsx";
import {
  type PageAnswer,
  type PageCall,
  refusalOf,
  withQuery,
} from "../parts/page.ts";
import { shownOncePage } from "../parts/shown_once.tsx";
import { fieldsOf } from "../tasks/task_form.tsx";

const FIELDS = [
  ...["name", "count", "over", "within", "worker", "job", "url", "template"],
  ...["from", "to", "authorization", "quiet"],
];

/** Rules that are often wanted, as fields of the form. */
const RULES: readonly (readonly [string, Readonly<Record<string, string>>])[] =
  [
    [
      "More than 10 attempts failed in 5 minutes",
      { kind: "count", count: "failed", over: "10", within: "PT5M" },
    ],
    [
      "A schedule missed a run",
      { kind: "count", count: "missed", over: "0", within: "PT5M" },
    ],
    [
      "Nothing completed for 10 minutes",
      { kind: "nothing", count: "completed", within: "PT10M" },
    ],
  ];

interface FormState {
  readonly values: URLSearchParams;
  readonly faults: FormFaults;
  /** The alert that is changed; absent for a new one. */
  readonly alert?: ShownAlert;
}

/** Shows the form of a new alert. */
export function newAlertPage(page: PageCall): Promise<PageAnswer> {
  const values = new URLSearchParams({
    ...RULES[0]?.[1],
    ...{ template: "slack", quiet: "PT5M", enabled: "true" },
    ...Object.fromEntries(page.query),
  });
  return Promise.resolve(showForm(page, { values, faults: NO_FAULTS }));
}

/** Shows the form of an alert that is there. */
export async function editAlertPage(page: PageCall): Promise<PageAnswer> {
  const answer = await page.ask({ path: alertPath(page) });
  const alert = answer.body as ShownAlert;
  return refusalOf(answer) ?? showForm(page, {
    values: valuesOf(alert, answer.headers.etag?.toString() ?? ""),
    faults: NO_FAULTS,
    alert,
  });
}

/** Creates an alert. */
export async function createAlert(page: PageCall): Promise<PageAnswer> {
  const { form } = page;
  const answer = await page.ask({
    method: "POST",
    path: "/v1/alerts",
    body: bodyOf(form),
  });
  const faults = formFaults(answer, FIELDS);
  return faults === undefined
    ? saved(page, answer.body as ShownAlert, "created")
    : showForm(page, { values: form, faults });
}

/** Changes an alert. */
export async function changeAlert(page: PageCall): Promise<PageAnswer> {
  const { form } = page;
  const path = alertPath(page);
  const known = await page.ask({ path });
  const refusal = refusalOf(known);
  if (refusal !== undefined) return refusal;
  const alert = known.body as ShownAlert;
  const answer = await page.ask({
    method: "PATCH",
    path,
    body: bodyOf(form),
    headers: { "if-match": textOf(form, "etag") ?? "*" },
  });
  const faults = formFaults(answer, FIELDS);
  return faults === undefined
    ? saved(page, answer.body as ShownAlert, "saved")
    : showForm(page, { values: form, faults, alert });
}

/** Goes to the alert; shows its secret before, where it has a new one. */
function saved(
  { base }: PageCall,
  alert: ShownAlert,
  done: string,
): PageAnswer {
  const back = `${base}/alerts/${alert.id}`;
  return typeof alert.signing_secret === "string"
    ? shownOncePage({
      title: `Alert ${alertName(alert)}`,
      about: "Its messages are signed with this secret.",
      secrets: [["Signing secret", alert.signing_secret]],
      back,
      backText: "To the alert",
    })
    : { kind: "redirect", to: `${back}?done=${done}` };
}

function bodyOf(form: URLSearchParams): Readonly<Record<string, unknown>> {
  const count = textOf(form, "count");
  const within = textOf(form, "within");
  const isEmail = form.get("template") === "email";
  return {
    name: textOf(form, "name") ?? "",
    when: {
      ...form.get("kind") === "nothing"
        ? { nothing: count, for: within }
        : { count, within, over: numberOf(form, "over") ?? 0 },
      worker: textOf(form, "worker"),
      job: textOf(form, "job"),
    },
    send: {
      url: textOf(form, "url") ?? "",
      template: textOf(form, "template"),
      ...isEmail ? { from: textOf(form, "from"), to: textOf(form, "to") } : {},
      // Without it, what was given before stays.
      authorization: textOf(form, "authorization") ?? undefined,
    },
    quiet: textOf(form, "quiet") ?? "PT0S",
    enabled: form.get("enabled") === "true",
  };
}

function valuesOf(
  { when, send, name, quiet, enabled }: ShownAlert,
  etag: string,
): URLSearchParams {
  const values: Readonly<Record<string, unknown>> = {
    ...{ etag, name, quiet, enabled },
    kind: when.nothing === undefined ? "count" : "nothing",
    count: when.count ?? when.nothing,
    over: when.over,
    within: when.within ?? when.for,
    worker: when.worker,
    job: when.job,
    url: send.url,
    template: send.template,
    from: send.from,
    to: send.to,
  };
  return new URLSearchParams(
    Object.entries(values).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, String(value)]]
    ),
  );
}

type Field = ReturnType<typeof fieldsOf>;

function showForm(
  page: PageCall,
  { values, faults, alert }: FormState,
): PageAnswer {
  const { base, path, csrf } = page;
  const field = fieldsOf(values, faults.of);
  const [here = ""] = path.split("?", 1);
  return {
    kind: "page",
    title: alert === undefined ? "New alert" : `Edit ${alertName(alert)}`,
    status: faults === NO_FAULTS ? 200 : 422,
    content: (
      <form method="post" action={here} class="narrow">
        <FaultsNote faults={faults} />
        <CsrfField csrf={csrf} />
        <input type="hidden" name="etag" value={values.get("etag") ?? ""} />
        {alert === undefined ? <Rules here={here} /> : null}
        <Condition field={field} />
        <Message field={field} alert={alert} />
        <div class="grid">
          <TextField
            {...field("name")}
            label="Name"
            placeholder="Mails fail"
            hint="What messages call it."
          />
          <TextField
            {...field("quiet")}
            label="Quiet time"
            placeholder="PT5M"
            hint="How long after it was raised it is not raised again."
          />
        </div>
        <CheckField
          name="enabled"
          label="It is judged"
          isChecked={values.get("enabled") === "true"}
        />
        <div class="row">
          <button type="submit" class="primary">
            {alert === undefined ? "Create" : "Save"}
          </button>
          <a
            class="button"
            href={`${base}/alerts${alert === undefined ? "" : `/${alert.id}`}`}
          >
            Back
          </a>
        </div>
      </form>
    ),
  };
}

function Rules({ here }: { readonly here: string }): VNode {
  return (
    <p>
      Begin with: {RULES.map(([text, values], index) => (
        <>
          {index === 0 ? "" : " · "}
          <a href={withQuery(here, values)}>{text}</a>
        </>
      ))}
    </p>
  );
}

function Condition({ field }: { readonly field: Field }): VNode {
  return (
    <fieldset>
      <legend>When it is raised</legend>
      <div class="grid">
        <ChoiceField
          {...field("kind")}
          label="There were"
          choices={[["count", "more than"], ["nothing", "none"]]}
        />
        <TextField
          {...field("over")}
          label="How many"
          placeholder="10"
          hint="Of more than so many."
        />
        <ChoiceField
          {...field("count")}
          label="Of what"
          choices={ALERT_COUNTS.map((count) => [count, describeCount(count)])}
        />
        <TextField
          {...field("within")}
          label="Within"
          placeholder="PT5M"
          hint="A minute to a day."
          isRequired
        />
        <TextField
          {...field("worker")}
          label="Only of the worker"
          hint="Id or name."
        />
        <TextField {...field("job")} label="Only of its job" />
      </div>
    </fieldset>
  );
}

function Message(
  { field, alert }: {
    readonly field: Field;
    readonly alert: ShownAlert | undefined;
  },
): VNode {
  return (
    <fieldset>
      <legend>Who is told</legend>
      <ChoiceField
        {...field("template")}
        label="As"
        choices={[
          ["slack", "Slack: an incoming webhook"],
          ["discord", "Discord: a webhook of a channel"],
          ["email", "E-mail: a gateway that takes JSON"],
          ["standard", "A program: Standard Webhooks, signed"],
        ]}
      />
      <TextField
        {...field("url")}
        label="URL"
        placeholder="https://hooks.slack.com/services/…"
        isRequired
      />
      <div class="grid">
        <TextField {...field("from")} label="From" hint="Of e-mails." />
        <TextField {...field("to")} label="To" hint="Of e-mails." />
      </div>
      <TextField
        {...field("authorization")}
        value=""
        type="password"
        label="Authorization"
        hint={alert?.send.has_authorization === true
          ? "Kept as it is when empty, unless the URL changes."
          : "The value of the header; sealed, and never shown."}
      />
    </fieldset>
  );
}
