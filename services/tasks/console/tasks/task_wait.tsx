/**
 * What a task waits for, and the forms that let it go on: the event with its
 * data, or the decision with a comment.
 *
 * @module
 */

import type { VNode } from "preact";
import {
  Buttons,
  type FormButton,
  PostForm,
  TextArea,
  TextField,
} from "../../../shared/console/form.tsx";
import { Section } from "../../../shared/console/parts.tsx";
import { jsonOf, textOf } from "../parts/form.tsx";
import {
  goTo,
  type PageAnswer,
  type PageCall,
  pathOf,
  refusalOf,
} from "../parts/page.ts";
import type { ShownWait, TaskProps } from "./task_parts.tsx";

/** The form that ends the wait; the page says above what it is for. */
export function TaskWaitForm(
  { page, task, wait }: TaskProps & { readonly wait: ShownWait },
): VNode {
  const { event, approval } = wait;
  return (
    <Section
      id="wait"
      title={approval === undefined
        ? "Waits for an event"
        : "Waits for approval"}
    >
      <p>
        {approval === undefined ? "Without it" : "Without a decision"} by then
        {wait.on_timeout === "fail"
          ? " the task fails."
          : " its worker goes on, and is told so."}
      </p>
      <PostForm page={page}>
        <input type="hidden" name="version" value={String(task.version)} />
        {approval === undefined
          ? (
            <>
              <input type="hidden" name="event" value={event} />
              <TextArea
                name="data"
                label="Data"
                hint="JSON for the worker; null when empty."
                rows={3}
              />
            </>
          )
          : (
            <TextField
              name="comment"
              label="Comment"
              hint="The worker gets it, and the history keeps it."
            />
          )}
        <div class="row">
          <Buttons buttons={approval === undefined ? [SEND] : DECIDE} />
        </div>
      </PostForm>
    </Section>
  );
}

const SEND: FormButton = {
  value: "event",
  text: "Send the event",
  kind: "primary",
};
const DECIDE: readonly FormButton[] = [
  { value: "approve", text: "Approve", kind: "primary" },
  { value: "reject", text: "Reject", kind: "danger" },
];

/** The actions of that form. */
export const WAIT_ACTIONS: readonly string[] = ["event", "approve", "reject"];

/** Sends the event, or the decision about the task as the reader has seen it. */
export async function endWait(page: PageCall): Promise<PageAnswer> {
  const { form, here } = page;
  const action = form.get("action") ?? "";
  const task = pathOf("tasks", page);
  const comment = textOf(form, "comment");
  const data = jsonOf(form, "data");
  if (data.kind === "invalid") return NOT_JSON;
  const answer = await page.ask(
    action === "event"
      ? {
        method: "POST",
        path: `${task}/events`,
        body: { event: form.get("event") ?? "", data: data.value },
      }
      : {
        method: "POST",
        path: `${task}/approval`,
        headers: { "if-match": `"${form.get("version") ?? ""}"` },
        body: { decision: action, ...comment === null ? {} : { comment } },
      },
  );
  return refusalOf(answer) ?? goTo(here, action);
}

const NOT_JSON: PageAnswer = {
  kind: "refused",
  answer: {
    status: 422,
    headers: {},
    body: {
      code: "invalid",
      title: "The request is not valid",
      detail: "Cannot send the event: its data is not JSON; a text needs " +
        "quotes",
    },
  },
};
