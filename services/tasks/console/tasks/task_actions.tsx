/**
 * What can be done to a task, as buttons and as commands for a terminal.
 *
 * @module
 */

import type { VNode } from "preact";
import { PostForm } from "../../../shared/console/form.tsx";
import { Code } from "../../../shared/console/parts.tsx";
import { isFinal, type TaskStatus } from "../../domain/task.ts";
import {
  goTo,
  type PageAnswer,
  type PageCall,
  pathOf,
  refusalOf,
} from "../parts/page.ts";
import type { TaskProps } from "./task_parts.tsx";
import { endWait, WAIT_ACTIONS } from "./task_wait.tsx";

/** An action on a task. */
interface Action {
  /** Its name in the API. */
  readonly name: string;
  /** The text of its button. */
  readonly text: string;
  /** Whether it makes sense for a task of a status; the API decides. */
  readonly fits: (status: TaskStatus) => boolean;
  /** The question that is asked first. @default none */
  readonly question?: string;
}

const ACTIONS: readonly Action[] = [
  { name: "run", text: "Run now", fits: isAtRest },
  {
    name: "retry",
    text: "Retry",
    fits: (status) => isFinal(status) || status === "retry",
  },
  { name: "pause", text: "Pause", fits: isAtRest },
  { name: "resume", text: "Resume", fits: (status) => status === "paused" },
  {
    name: "cancel",
    text: "Cancel",
    fits: (status) => !isFinal(status),
    question: "Cancel this task? It is not run again unless it is retried.",
  },
  {
    name: "remove",
    text: "Remove",
    fits: () => true,
    question: "Remove this task? Its data and its history go with it.",
  },
];

function isAtRest(status: TaskStatus): boolean {
  return !isFinal(status) && status !== "running" && status !== "paused";
}

/** Buttons for the actions that fit a task, and their commands. */
export function TaskActions({ page, task }: TaskProps): VNode {
  const actions = ACTIONS.filter(({ fits }) => fits(task.status));
  const api = `${page.call.baseUrl}/v1/tasks/${task.id}`;
  return (
    <section aria-label="Actions">
      <PostForm
        page={page}
        kind="row"
        buttons={actions.map(({ name, text, question }) => ({
          value: name,
          text,
          question,
        }))}
      />
      <details class="more">
        <summary>As curl and tercet</summary>
        <Code
          id="curl"
          name="curl"
          text={actions.map(({ name }) => curlOf(api, name)).join("\n")}
        />
        <Code
          id="cli"
          name="tercet, with TASKS_URL and TASKS_KEY"
          text={actions.filter(({ name }) => name !== "remove")
            .map(({ name }) => `tercet tasks ${name} ${task.id}`).join("\n")}
        />
      </details>
    </section>
  );
}

function curlOf(api: string, name: string): string {
  const authorization = '-H "Authorization: Bearer $TASKS_KEY"';
  return name === "remove"
    ? `curl -X DELETE ${authorization} ${api}`
    : `curl -X POST ${authorization} ${api}/${name}`;
}

/** Does what a button says on the page of a task or of its schedule. */
export async function actOnTask(page: PageCall): Promise<PageAnswer> {
  const { form, here } = page;
  const name = form.get("action") ?? "";
  if (WAIT_ACTIONS.includes(name)) return await endWait(page);
  const path = pathOf("tasks", page);
  const isRemoval = name === "remove";
  const answer = await page.ask(
    isRemoval
      ? { method: "DELETE", path }
      : { method: "POST", path: `${path}/${encodeURIComponent(name)}` },
  );
  const next = isRemoval ? here.slice(0, here.lastIndexOf("/")) : here;
  return refusalOf(answer) ?? goTo(next, name);
}
