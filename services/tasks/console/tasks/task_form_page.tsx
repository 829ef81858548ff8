/**
 * The pages on which tasks are created and changed, with a preview of their
 * schedule.
 *
 * @module
 */

import type { VNode } from "preact";
import { CsrfField } from "../../../shared/console/form.tsx";
import { Note } from "../../../shared/console/parts.tsx";
import { seesPayloads } from "../../access/caller.ts";
import type { ApiQuestion } from "../../http/ask_api.ts";
import {
  FaultsNote,
  formFaults,
  type FormState,
  NO_FAULTS,
  statusOf,
  textOf,
  withoutNulls,
} from "../parts/form.tsx";
import {
  goTo,
  type PageAnswer,
  type PageCall,
  pathOf,
  type ShownList,
} from "../parts/page.ts";
import {
  askPreview,
  NextTimes,
  type ShownPreview,
} from "../schedules/schedule_parts.tsx";
import {
  readTaskForm,
  repeatBody,
  TASK_FORM_FIELDS,
  TaskFields,
  taskFormValues,
} from "./task_form.tsx";
import type { ShownTask } from "./task_parts.tsx";

/** Most workers that a form gives to choose from, and times of a preview. */
const WORKERS = 200;
const TIMES = 10;

/** The form as it is shown. */
interface TaskFormState extends FormState {
  /** The task that is changed; absent for a new one. */
  readonly task?: ShownTask;
  /** The entity tag of the task as the form shows it. */
  readonly etag?: string | undefined;
}

/** Shows the form of a new task. */
export async function newTaskPage(page: PageCall): Promise<PageAnswer> {
  return await showForm(page, { values: page.query, faults: NO_FAULTS });
}

/** Shows the form of a task that is there. */
export async function editTaskPage(page: PageCall): Promise<PageAnswer> {
  const question = { path: pathOf("tasks", page) };
  return await page.show<ShownTask>(
    question,
    (task, { headers }) =>
      showForm(page, {
        values: taskFormValues(task),
        faults: NO_FAULTS,
        task,
        etag: headers.etag?.toString(),
      }),
  );
}

/** Creates a task, or shows the preview that was asked for. */
export async function createTask(page: PageCall): Promise<PageAnswer> {
  return await sendForm(page, {
    state: { values: page.form },
    done: "created",
    // A key that a live task has is told, and that task is left alone.
    question: (body) => ({
      method: "POST",
      path: "/v1/tasks",
      body: {
        ...withoutNulls(body),
        ...(body.key === null ? {} : { on_conflict: "reject" }),
      },
    }),
  });
}

/** Changes a task, or shows the preview that was asked for. */
export async function changeTask(page: PageCall): Promise<PageAnswer> {
  const { form: values } = page;
  const path = pathOf("tasks", page);
  const etag = textOf(values, "etag") ?? undefined;
  return await page.show<ShownTask>({ path }, (task) =>
    sendForm(page, {
      state: { values, task, etag },
      done: "saved",
      question: (body) => ({
        method: "PUT",
        path,
        body: withOthers(body, task),
        headers: etag === undefined ? {} : { "if-match": etag },
      }),
    }));
}

async function sendForm(
  page: PageCall,
  { state, done, question }: {
    readonly state: Omit<TaskFormState, "faults">;
    readonly done: string;
    /** What the API is asked to do with the form. */
    readonly question: (body: Readonly<Record<string, unknown>>) => ApiQuestion;
  },
): Promise<PageAnswer> {
  const { form, base } = page;
  if (form.get("do") === "preview") {
    return await showForm(page, { ...state, faults: NO_FAULTS });
  }
  const read = readTaskForm(form);
  if (read.kind === "invalid") {
    return await showForm(page, { ...state, faults: read.faults });
  }
  const answer = await page.ask(question(read.body));
  const faults = formFaults(answer, TASK_FORM_FIELDS);
  return faults === undefined
    ? goTo(base + placeOf(answer.body as ShownTask), done)
    : await showForm(page, { ...state, faults });
}

/** The path of a task's page, or of its schedule, below that of the console. */
function placeOf({ id, repeat }: Pick<ShownTask, "id" | "repeat">): string {
  return `/${repeat === null ? "tasks" : "schedules"}/${id}`;
}

/** The changes, with the members of the schedule that the form does not have. */
function withOthers(
  body: Readonly<Record<string, unknown>>,
  task: ShownTask,
): Readonly<Record<string, unknown>> {
  if (body.repeat === null || task.repeat === null) return body;
  const { catch_up_window: window, on_time: onTime } = task.repeat as Readonly<
    Record<string, unknown>
  >;
  const others = { catch_up_window: window, on_time: onTime };
  return { ...body, repeat: { ...others, ...body.repeat as object } };
}

async function showForm(
  page: PageCall,
  { values, faults, task, etag }: TaskFormState,
): Promise<PageAnswer> {
  const { base, here, csrf, caller } = page;
  const [workers, preview] = await Promise.all([
    workerNames(page),
    previewOf(page, values, task),
  ]);
  const hasData = caller !== undefined && seesPayloads(caller);
  const back = base + (task === undefined ? "/tasks" : placeOf(task));
  return {
    kind: "page",
    title: task === undefined
      ? "New task"
      : `Edit ${task.worker} · ${task.job}`,
    status: statusOf(faults),
    content: (
      <form method="post" action={here} class="beside" data-preview="">
        <div>
          <FaultsNote faults={faults} />
          <CsrfField csrf={csrf} />
          {etag === undefined
            ? null
            : <input type="hidden" name="etag" value={etag} />}
          <TaskFields
            values={values}
            faults={faults}
            workers={workers}
            hasData={hasData}
          />
          <div class="row">
            <button type="submit" class="primary" name="do" value="save">
              {task === undefined ? "Create" : "Save"}
            </button>
            <button type="submit" name="do" value="preview">
              Preview the schedule
            </button>
            <a class="button" href={back}>Back</a>
          </div>
        </div>
        {preview}
      </form>
    ),
  };
}

async function workerNames(
  page: PageCall,
): Promise<readonly string[] | undefined> {
  const answer = await page.ask({
    path: "/v1/workers",
    query: new URLSearchParams({ limit: String(WORKERS) }),
  });
  if (answer.status >= 400) return undefined;
  const { data, next } = answer.body as ShownList<{ readonly name: string }>;
  // Those who have more workers than a list shows write the name.
  return next === null && data.length > 0
    ? data.map(({ name }) => name)
    : undefined;
}

/** The next times of the schedule that the form has now. */
async function previewOf(
  page: PageCall,
  values: URLSearchParams,
  task: ShownTask | undefined,
): Promise<VNode> {
  const repeat = repeatBody(values);
  const answer = repeat === null ? undefined : await askPreview(
    page,
    withoutNulls({
      repeat,
      count: TIMES,
      date: textOf(values, "date") ?? task?.first_date ?? null,
      timezone: textOf(values, "timezone"),
      from: task === undefined ? null : new Date(page.nowMs).toISOString(),
    }),
  );
  const faults = answer === undefined
    ? []
    : formFaults(answer, [])?.others ?? [];
  return (
    <section id="preview" aria-label="Preview of the schedule">
      <h2>Next runs</h2>
      <div aria-live="polite">
        {answer === undefined
          ? (
            <p class="dim">
              It runs once. A cron expression or an interval repeats it.
            </p>
          )
          : answer.status >= 400
          ? <Note tone="warn">{faults.map((text) => <p>{text}</p>)}</Note>
          : <NextTimes preview={answer.body as ShownPreview} />}
      </div>
    </section>
  );
}
