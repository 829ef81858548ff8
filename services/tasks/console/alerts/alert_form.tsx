/**
 * The form of alerts, which begins with one of the rules that are often wanted.
 *
 * @module
 */

import type { VNode } from "preact";
import type { FormFields } from "../../../shared/console/form.tsx";
import { ALERT_COUNTS, describeCount } from "../../domain/alert_rule.ts";
import { numberOf, textOf, textsOf, valuesOf } from "../parts/form.tsx";
import { withQuery } from "../parts/page.ts";
import { recordForm, type RecordPages } from "../parts/record_form.tsx";
import { alertName, type ShownAlert } from "./alert_pages.tsx";

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

/** The pages on which alerts are created and changed. */
export const ALERT_FORM: RecordPages = recordForm<ShownAlert>({
  noun: "alert",
  nameOf: alertName,
  names: [
    ...["name", "count", "over", "within", "worker", "job", "url", "template"],
    ...["from", "to", "authorization", "quiet"],
  ],
  begin: ({ query }) =>
    new URLSearchParams({
      ...RULES[0]?.[1],
      ...{ template: "slack", quiet: "PT5M", enabled: "true" },
      ...Object.fromEntries(query),
    }),
  valuesOf: ({ when, send, name, quiet, enabled }) =>
    valuesOf({
      ...{ name, quiet, enabled },
      kind: when.nothing === undefined ? "count" : "nothing",
      count: when.count ?? when.nothing,
      over: when.over,
      within: when.within ?? when.for,
      worker: when.worker,
      job: when.job,
      ...send,
    }),
  read: (form) => ({ kind: "ok", body: bodyOf(form) }),
  method: "PATCH",
  about: "Its messages are signed with this secret.",
  content: (fields, { record }, { here }) => (
    <>
      {record === undefined ? <Rules here={here} /> : null}
      <Condition fields={fields} />
      <Message fields={fields} alert={record} />
      <div class="grid">
        {fields.text("name", "Name", {
          placeholder: "Mails fail",
          hint: "What messages call it.",
        })}
        {fields.text("quiet", "Quiet time", {
          placeholder: "PT5M",
          hint: "How long after it was raised it is not raised again.",
        })}
      </div>
      {fields.check("enabled", "It is judged")}
    </>
  ),
});

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
      ...textsOf(form, ["worker", "job"]),
    },
    send: {
      url: textOf(form, "url") ?? "",
      template: textOf(form, "template"),
      ...isEmail ? textsOf(form, ["from", "to"]) : {},
      // Without it, what was given before stays.
      authorization: textOf(form, "authorization") ?? undefined,
    },
    quiet: textOf(form, "quiet") ?? "PT0S",
    enabled: form.get("enabled") === "true",
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

function Condition(
  { fields: { text, choice } }: { readonly fields: FormFields },
): VNode {
  return (
    <fieldset>
      <legend>When it is raised</legend>
      <div class="grid">
        {choice("kind", "There were", {
          choices: [["count", "more than"], ["nothing", "none"]],
        })}
        {text("over", "How many", {
          placeholder: "10",
          hint: "Of more than so many.",
        })}
        {choice("count", "Of what", {
          choices: ALERT_COUNTS.map((count) => [count, describeCount(count)]),
        })}
        {text("within", "Within", {
          placeholder: "PT5M",
          hint: "A minute to a day.",
          isRequired: true,
        })}
        {text("worker", "Only of the worker", { hint: "Id or name." })}
        {text("job", "Only of its job")}
      </div>
    </fieldset>
  );
}

function Message(
  { fields: { text, choice }, alert }: {
    readonly fields: FormFields;
    readonly alert: ShownAlert | undefined;
  },
): VNode {
  return (
    <fieldset>
      <legend>Who is told</legend>
      {choice("template", "As", {
        choices: [
          ["slack", "Slack: an incoming webhook"],
          ["discord", "Discord: a webhook of a channel"],
          ["email", "E-mail: a gateway that takes JSON"],
          ["standard", "A program: Standard Webhooks, signed"],
        ],
      })}
      {text("url", "URL", {
        placeholder: "https://hooks.slack.com/services/…",
        isRequired: true,
      })}
      <div class="grid">
        {text("from", "From", { hint: "Of e-mails." })}
        {text("to", "To", { hint: "Of e-mails." })}
      </div>
      {text("authorization", "Authorization", {
        value: "",
        type: "password",
        hint: alert?.send.has_authorization === true
          ? "Kept as it is when empty, unless the URL changes."
          : "The value of the header; sealed, and never shown.",
      })}
    </fieldset>
  );
}
