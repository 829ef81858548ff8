/**
 * The pages on which tasks are created and changed, with a preview of their
 * schedule.
 *
 * @module
 */

import type { VNode } from "preact";
import { CsrfField } from "../../../shared/console/layout.tsx";
import { Note } from "../../../shared/console/parts.tsx";
import { seesPayloads } from "../../access/caller.ts";
import {
  FaultsNote,
  type FormFaults,
  formFaults,
  NO_FAULTS,
  textOf,
} from "../parts/form_faults.tsx";
import {
  type PageAnswer,
  type PageCall,
  refusalOf,
  type ShownList,
  type ShownProblem,
} from "../parts/page.ts";
import {
  askPreview,
  NextTimes,
  type ShownPreview,
} from "../schedules/schedule_parts.tsx";
import {
  MoreFields,
  readTaskForm,
  repeatBody,
  TASK_FORM_FIELDS,
  taskFormValues,
  TimeFields,
  WorkFields,
} from "./task_form.tsx";
import type { ShownTask } from "./task_parts.tsx";

/** Most workers that a form gives to choose from, and times of a preview. */
const WORKERS = 200;
const TIMES = 10;

/** The form as it is shown. */
interface FormState {
  readonly values: URLSearchParams;
  /** What was wrong with the form that was sent. */
  readonly faults: FormFaults;
  /** The task that is changed; absent for a new one. */
  readonly task?: ShownTask | undefined;
  /** The entity tag of the task as the form shows it. */
  readonly etag?: string | undefined;
}

/** Shows the form of a new task. */
export async function newTaskPage(page: PageCall): Promise<PageAnswer> {
  return await showForm(page, { values: page.query, faults: NO_FAULTS });
}

/** Shows the form of a task that is there. */
export async function editTaskPage(page: PageCall): Promise<PageAnswer> {
  const answer = await page.ask({ path: pathOf(page) });
  const task = answer.body as ShownTask;
  return refusalOf(answer) ?? await showForm(page, {
    values: taskFormValues(task),
    faults: NO_FAULTS,
    task,
    etag: answer.headers.etag?.toString(),
  });
}

/** Creates a task, or shows the preview that was asked for. */
export async function createTask(page: PageCall): Promise<PageAnswer> {
  const { form, base } = page;
  const read = readTaskForm(form);
  if (form.get("do") === "preview") {
    return await showForm(page, { values: form, faults: NO_FAULTS });
  }
  if (read.kind === "invalid") {
    return await showForm(page, { values: form, faults: read.faults });
  }
  const answer = await page.ask({
    method: "POST",
    path: "/v1/tasks",
    // A key that a live task has is told, and that task is left alone.
    body: {
      ...withoutNulls(read.body),
      ...(read.body.key === null ? {} : { on_conflict: "reject" }),
    },
  });
  const faults = formFaults(answer, TASK_FORM_FIELDS);
  if (faults !== undefined) {
    return await showForm(page, { values: form, faults });
  }
  const { id, repeat } = answer.body as ShownTask;
  const list = repeat === null ? "tasks" : "schedules";
  return { kind: "redirect", to: `${base}/${list}/${id}?done=created` };
}

/** Changes a task, or shows the preview that was asked for. */
export async function changeTask(page: PageCall): Promise<PageAnswer> {
  const { form, base } = page;
  const path = pathOf(page);
  const known = await page.ask({ path });
  const refusal = refusalOf(known);
  if (refusal !== undefined) return refusal;
  const task = known.body as ShownTask;
  const etag = textOf(form, "etag") ?? undefined;
  const state = { values: form, task, etag };
  if (form.get("do") === "preview") {
    return await showForm(page, { ...state, faults: NO_FAULTS });
  }
  const read = readTaskForm(form);
  if (read.kind === "invalid") {
    return await showForm(page, { ...state, faults: read.faults });
  }
  const answer = await page.ask({
    method: "PUT",
    path,
    body: withOthers(read.body, task),
    headers: etag === undefined ? {} : { "if-match": etag },
  });
  const faults = formFaults(answer, TASK_FORM_FIELDS);
  if (faults !== undefined) return await showForm(page, { ...state, faults });
  const { id, repeat } = answer.body as ShownTask;
  const list = repeat === null ? "tasks" : "schedules";
  return { kind: "redirect", to: `${base}/${list}/${id}?done=saved` };
}

function pathOf({ params: { id = "" } }: PageCall): string {
  return `/v1/tasks/${encodeURIComponent(id)}`;
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

/** Members that are null leave a new task its defaults. */
function withoutNulls(
  body: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    Object.entries(body).filter(([, value]) => value !== null),
  );
}

async function showForm(
  page: PageCall,
  { values, faults, task, etag }: FormState,
): Promise<PageAnswer> {
  const { base, path, csrf, caller } = page;
  const [workers, preview] = await Promise.all([
    workerNames(page),
    previewOf(page, values, task),
  ]);
  const hasFaults = faults !== NO_FAULTS;
  const hasData = caller !== undefined && seesPayloads(caller);
  const fields = { values, faults, workers, hasData };
  const back = task === undefined
    ? `${base}/tasks`
    : `${base}/${task.repeat === null ? "tasks" : "schedules"}/${task.id}`;
  return {
    kind: "page",
    title: task === undefined
      ? "New task"
      : `Edit ${task.worker} · ${task.job}`,
    status: hasFaults ? 422 : 200,
    content: (
      <form
        method="post"
        action={path.split("?", 1)[0]}
        class="beside"
        data-preview=""
      >
        <div>
          <FaultsNote faults={faults} />
          <CsrfField csrf={csrf} />
          {etag === undefined
            ? null
            : <input type="hidden" name="etag" value={etag} />}
          <WorkFields {...fields} />
          <TimeFields {...fields} />
          <MoreFields {...fields} />
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
  const date = textOf(values, "date") ?? task?.first_date;
  const timezone = textOf(values, "timezone");
  const answer = repeat === null ? undefined : await askPreview(page, {
    repeat,
    count: TIMES,
    ...(date === undefined ? {} : { date }),
    ...(timezone === null ? {} : { timezone }),
    ...(task === undefined ? {} : { from: new Date(page.nowMs).toISOString() }),
  });
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
          ? <Faults problem={answer.body as ShownProblem} />
          : <NextTimes preview={answer.body as ShownPreview} />}
      </div>
    </section>
  );
}

function Faults({ problem }: { readonly problem: ShownProblem }): VNode {
  const { title, detail, errors = [] } = problem;
  return (
    <Note tone="warn">
      {errors.length === 0
        ? <p>{detail ?? title}</p>
        : errors.map((error) => <p>{error.detail}</p>)}
    </Note>
  );
}
