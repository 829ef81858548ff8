/**
 * The form of webhooks.
 *
 * @module
 */

import type { VNode } from "preact";
import { TickBox } from "../../../shared/console/form.tsx";
import { EVENT_TYPES, meaningOf } from "../../domain/event_types.ts";
import { textOf, textsOf, valuesOf } from "../parts/form.tsx";
import { recordForm, type RecordPages } from "../parts/record_form.tsx";
import { type ShownWebhook, webhookName } from "./webhook_parts.tsx";

/** The pages on which webhooks are created and changed. */
export const WEBHOOK_FORM: RecordPages = recordForm<ShownWebhook>({
  noun: "webhook",
  nameOf: webhookName,
  names: ["url", "name", "types", "worker", "job", "group"],
  begin: () => new URLSearchParams({ types: "task.*", enabled: "true" }),
  valuesOf({ name, url, worker, job, group, types, enabled }) {
    const values = valuesOf({ name, url, worker, job, group, enabled });
    for (const type of types) values.append("types", type);
    return values;
  },
  read: (form) => ({
    kind: "ok",
    body: {
      url: textOf(form, "url") ?? "",
      name: textOf(form, "name") ?? "",
      types: form.getAll("types"),
      ...textsOf(form, ["worker", "job", "group"]),
      enabled: form.get("enabled") === "true",
    },
  }),
  method: "PATCH",
  about: "It is created. Its calls are signed with this secret.",
  content: ({ text, check }, { values, faults }) => (
    <>
      {text("url", "URL", {
        placeholder: "https://example.com/hooks/tasks",
        hint: "Each event is sent there by POST, as Standard Webhooks says.",
        isRequired: true,
      })}
      {text("name", "Name", { placeholder: "billing" })}
      <Types chosen={values.getAll("types")} fault={faults.of.types} />
      <fieldset>
        <legend>Only events of</legend>
        <div class="grid">
          {text("worker", "Worker", { hint: "Id or name." })}
          {text("job", "Job")}
          {text("group", "Group")}
        </div>
      </fieldset>
      {check("enabled", "Events are sent")}
    </>
  ),
});

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
    <TickBox name="types" value={pattern} isChecked={chosen.includes(pattern)}>
      <span>
        <code>{pattern}</code> <span class="dim">{text}</span>
      </span>
    </TickBox>
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
