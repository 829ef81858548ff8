/**
 * The page of a task: why it is where it is, what happened, and what can be
 * done about it.
 *
 * @module
 */

import type { VNode } from "preact";
import {
  Code,
  FactList,
  formatLength,
  lines,
  Live,
  Note,
  Section,
  Time,
} from "../../../shared/console/parts.tsx";
import { Timeline } from "../../../shared/console/timeline.tsx";
import { prettyJson } from "../parts/form.tsx";
import { linkButtons } from "../parts/list.tsx";
import {
  may,
  type PageAnswer,
  type PageCall,
  pathOf,
  refusalOf,
  type ShownList,
  type Texts,
  withQuery,
} from "../parts/page.ts";
import { repeatOf, RuleText } from "../schedules/schedule_parts.tsx";
import { TaskActions } from "./task_actions.tsx";
import {
  ActorName,
  CHECKED_AT_ONCE,
  type ShownCheck,
  type ShownRecord,
  TaskHistory,
} from "./task_history_part.tsx";
import {
  type ShownError,
  type ShownTask,
  StatusBadge,
  TaskLink,
  type TaskProps,
} from "./task_parts.tsx";
import { type ShownAttempt, spansOf } from "./task_spans.ts";
import { TaskWaitForm } from "./task_wait.tsx";
import type { ShownWorker, WorkerProps } from "../workers/worker_parts.tsx";

/** Attempts and history records that the page shows. */
const ATTEMPTS = 20;
const RECORDS = 50;

interface Explanation {
  readonly hindrances: readonly Texts<"code" | "message", "until">[];
}

/** Shows a task. */
export async function taskPage(page: PageCall): Promise<PageAnswer> {
  const path = pathOf("tasks", page);
  return await page.show<ShownTask>(
    { path },
    (task) => showTask({ page, task, path }),
  );
}

async function showTask(
  { page, task, path }: TaskProps & { readonly path: string },
): Promise<PageAnswer> {
  const newest = (limit: number): URLSearchParams =>
    new URLSearchParams({ order: "desc", limit: String(limit) });
  const [explained, attempts, history] = await Promise.all([
    page.ask({ path: `${path}/explain` }),
    page.ask({ path: `${path}/attempts`, query: newest(ATTEMPTS) }),
    page.ask({ path: `${path}/history`, query: newest(RECORDS) }),
  ]);
  // A task that was removed meanwhile has none of these.
  const gone = refusalOf(explained) ?? refusalOf(attempts) ??
    refusalOf(history);
  if (gone !== undefined) return gone;
  const explanation = explained.body as Explanation;
  const silent = await silentWorker(page, task, explanation);
  const isWriter = may(page, "tasks:write");
  const records = history.body as ShownList<ShownRecord>;
  const isChecked = page.query.has("check") ||
    (records.data[0]?.seq ?? 0) <= CHECKED_AT_ONCE;
  const check = isChecked
    ? await page.ask({ path: `${path}/history/check` })
    : undefined;
  return {
    kind: "page",
    title: `${task.worker} · ${task.job}`,
    heading: <span>{`${task.worker} · ${task.job}`}</span>,
    actions: (
      <>
        <TaskLink base={page.base} id={task.id} />
        {linkButtons(page, [
          ...task.repeat === null
            ? []
            : [[`/schedules/${task.id}`, "Schedule"] as const],
          [`/deliveries?task=${task.id}`, "Deliveries", "webhooks:read"],
          [`/tasks/${task.id}/edit`, "Edit", "tasks:write"],
        ])}
      </>
    ),
    content: (
      <Live id="task">
        <Lead
          page={page}
          task={task}
          explanation={explanation}
          silent={silent}
        />
        {isWriter && task.waiting_for !== undefined
          ? <TaskWaitForm page={page} task={task} wait={task.waiting_for} />
          : null}
        {isWriter ? <TaskActions page={page} task={task} /> : null}
        <Section id="timeline" title="Timeline">
          <Timeline
            label="Attempts and waits"
            spans={spansOf(task, {
              attempts: (attempts.body as ShownList<ShownAttempt>).data,
              nowMs: page.nowMs,
            })}
          />
        </Section>
        {task.error === null ? null : <Failure error={task.error} />}
        <div class="grid">
          <Facts task={task} page={page} />
          <Payloads task={task} />
        </div>
        <TaskHistory
          task={task}
          base={page.base}
          list={records}
          check={check?.status === 200 ? check.body as ShownCheck : undefined}
        />
      </Live>
    ),
  };
}

/** The worker that a task waits for, when it asks for nothing. */
async function silentWorker(
  page: PageCall,
  { worker_id: id }: ShownTask,
  { hindrances: [first] }: Explanation,
): Promise<ShownWorker | undefined> {
  if (first?.code !== "worker_silent" || !may(page, "workers:read")) {
    return undefined;
  }
  const { status, body } = await page.ask({ path: `/v1/workers/${id}` });
  return status === 200 ? body as ShownWorker : undefined;
}

function Lead(
  { page, task, explanation, silent }: TaskProps & {
    readonly explanation: Explanation;
    readonly silent: ShownWorker | undefined;
  },
): VNode {
  const { hindrances: [first, ...others] } = explanation;
  return (
    <Note tone={task.status === "failed" ? "bad" : "busy"}>
      <p class="lead">
        <StatusBadge status={task.status} /> {silent !== undefined
          ? <Silence page={page} worker={silent} />
          : first === undefined
          ? null
          : `${first.message}.`}
        {first?.until === null || first === undefined ? null : (
          <>
            {" "}Until <Time at={first.until} />.
          </>
        )}
      </p>
      {others.length === 0
        ? null
        : <ul>{others.map(({ message }) => <li>{`${message}.`}</li>)}</ul>}
    </Note>
  );
}

function Silence(
  { page: { base }, worker: { id, name, last_seen_at: at } }: WorkerProps,
): VNode {
  return (
    <span>
      It waits for the worker{" "}
      <a href={`${base}/workers/${id}`}>{name}</a>, which has asked for nothing
      since {at === null ? "the service was started" : <Time at={at} />}.
    </span>
  );
}

function Failure({ error }: { readonly error: ShownError }): VNode {
  return (
    <Section id="error" title="Last error">
      <FactList
        facts={[
          ["Code", <code>{error.code}</code>],
          ["HTTP status", error.http_status],
          ["At", <Time at={error.at} />],
        ]}
      />
      <Code id="error-text" name="Message" text={error.message} wraps />
      {error.detail === undefined ? null : (
        <Code
          id="error-detail"
          name="Details"
          text={detailText(error.detail)}
        />
      )}
    </Section>
  );
}

/** Traces are read as they are, with their lines. */
function detailText(detail: unknown): string {
  if (typeof detail === "string") return detail;
  const { stack } = detail as { readonly stack?: unknown };
  return typeof stack === "string" && Object.keys(detail ?? {}).length === 1
    ? stack
    : prettyJson(detail);
}

function Facts({ task, page: { base } }: TaskProps): VNode {
  const list = (by: Readonly<Record<string, string>>): string =>
    withQuery(`${base}/tasks`, by);
  const { group, key, parent, lag, duration } = task;
  const { finished_at: ended, kept_until: keptUntil } = task;
  const repeat = repeatOf(task);
  return (
    <Section id="facts" title="Facts">
      <FactList
        facts={[
          ["Worker", <a href={list({ worker: task.worker })}>{task.worker}</a>],
          ["Job", <a href={list({ job: task.job })}>{task.job}</a>],
          ["Date", <Time at={task.date} />],
          ["Time zone", task.timezone],
          [
            "Repeats",
            repeat && (
              <a href={`${base}/schedules/${task.id}`}>
                <RuleText repeat={repeat} />
              </a>
            ),
          ],
          ["Next dates", lines(task.next, (at) => <Time at={at} />)],
          ["Warnings", lines(task.warnings, ({ message }) => message)],
          [
            "Attempts",
            task.retries === 0
              ? task.executions || "none"
              : `${task.executions}, ${task.retries} of them retries`,
          ],
          ["Runs", task.repetitions === 0 ? null : task.run + 1],
          [
            "Lost, missed",
            task.lost + task.missed === 0 ? null : (
              `${task.lost}, ${task.missed}`
            ),
          ],
          ["Lag", lag === null ? null : formatLength(lag)],
          ["Took", duration === null ? null : formatLength(duration)],
          ["Key", key && <a href={list({ key })}>{key}</a>],
          ["Group", group && <a href={list({ group })}>{group}</a>],
          ["Priority", task.priority === 0 ? null : task.priority],
          [
            "Tags",
            task.tags.map((tag) => (
              <>
                <a class="tag" href={list({ tag })}>{tag}</a>
                {" "}
              </>
            )),
          ],
          [
            "Metadata",
            lines(Object.entries(task.metadata), ([name, value]) => {
              const metadata = `${name}=${value}`;
              return <a href={list({ metadata })}>{metadata}</a>;
            }),
          ],
          [
            "Depends on",
            lines(task.dependencies, (id) => <TaskLink base={base} id={id} />),
          ],
          ["Made by", parent && <TaskLink base={base} id={parent} />],
          ["Created", <Time at={task.created_at} />],
          ["Created by", <ActorName actor={task.created_by} task={task} />],
          ["Ended", ended && <Time at={ended} />],
          ["Kept until", keptUntil && <Time at={keptUntil} />],
        ]}
      />
    </Section>
  );
}

function Payloads({ task }: Pick<TaskProps, "task">): VNode {
  const { data, result, attempt } = task;
  const progress = attempt?.progress ?? null;
  return (
    <Section id="payloads" title="Data and result">
      {data === undefined
        ? <Note>Data and results are hidden: your key does not see them.</Note>
        : (
          <>
            <Code id="data" name="Data" text={prettyJson(data)} />
            {Object.entries({ Progress: progress, Result: result })
              .map(([name, value]) =>
                value === null ? null : (
                  <Code
                    id={name.toLowerCase()}
                    name={name}
                    text={prettyJson(value)}
                  />
                )
              )}
          </>
        )}
    </Section>
  );
}
