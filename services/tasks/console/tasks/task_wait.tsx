/**
 * What a task waits for, and the forms that let it go on: the event with its
 * data, or the decision with a comment.
 *
 * @module
 */

import type { VNode } from "preact";
import { TextArea, TextField } from "../../../shared/console/form.tsx";
import { CsrfField } from "../../../shared/console/layout.tsx";
import { type PageAnswer, type PageCall, refusalOf } from "../parts/page.ts";
import type { ShownTask, ShownWait } from "./task_parts.tsx";

/** The form that ends the wait; the page says above what it is for. */
export function TaskWaitForm(
  { page, task, wait }: {
    readonly page: PageCall;
    readonly task: ShownTask;
    readonly wait: ShownWait;
  },
): VNode {
  const { event, approval } = wait;
  return (
    <section aria-labelledby="wait">
      <h2 id="wait">
        {approval === undefined ? "Waits for an event" : "Waits for approval"}
      </h2>
      <p>
        {approval === undefined ? "Without it" : "Without a decision"} by then
        {wait.on_timeout === "fail"
          ? " the task fails."
          : " its worker goes on, and is told so."}
      </p>
      <form method="post" action={page.path.split("?", 1)[0]}>
        <CsrfField csrf={page.csrf} />
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
          {approval === undefined
            ? (
              <button
                type="submit"
                name="action"
                value="event"
                class="primary"
              >
                Send the event
              </button>
            )
            : (
              <>
                <button
                  type="submit"
                  name="action"
                  value="approve"
                  class="primary"
                >
                  Approve
                </button>
                <button
                  type="submit"
                  name="action"
                  value="reject"
                  class="danger"
                >
                  Reject
                </button>
              </>
            )}
        </div>
      </form>
    </section>
  );
}

/** The actions of that form. */
export const WAIT_ACTIONS: readonly string[] = ["event", "approve", "reject"];

/** Sends the event, or the decision about the task as the reader has seen it. */
export async function endWait(page: PageCall): Promise<PageAnswer> {
  const { form, params } = page;
  const action = form.get("action") ?? "";
  const task = `/v1/tasks/${encodeURIComponent(params.id ?? "")}`;
  const headers = { "if-match": `"${form.get("version") ?? ""}"` };
  const comment = form.get("comment")?.trim() ?? "";
  const data = readData(form.get("data")?.trim() ?? "");
  if (data === undefined) return notJson();
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
        headers,
        body: {
          decision: action,
          ...comment === "" ? {} : { comment },
        },
      },
  );
  const [here = ""] = page.path.split("?", 1);
  return refusalOf(answer) ??
    { kind: "redirect", to: `${here}?done=${encodeURIComponent(action)}` };
}

/** The data that was typed; undefined when that is not JSON. */
function readData(text: string): { readonly value: unknown } | undefined {
  if (text === "") return { value: null };
  try {
    return { value: JSON.parse(text) };
  } catch {
    return undefined;
  }
}

function notJson(): PageAnswer {
  return {
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
}
