/**
 * The page of a schedule: its next runs, how the last ones went, and what can be
 * done about it.
 *
 * @module
 */

import type { VNode } from "preact";
import { PostForm } from "../../../shared/console/form.tsx";
import {
  Badge,
  FactList,
  formatLength,
  Live,
  Note,
  Section,
  Time,
} from "../../../shared/console/parts.tsx";
import { Table } from "../../../shared/console/table.tsx";
import { linkButtons } from "../parts/list.tsx";
import {
  goTo,
  may,
  type PageAnswer,
  type PageCall,
  pathOf,
  refusalOf,
  type ShownList,
} from "../parts/page.ts";
import {
  NextTimes,
  previewOfTask,
  repeatOf,
  RuleText,
  type ShownRepeat,
  slipOf,
} from "./schedule_parts.tsx";
import { actOnTask, TaskActions } from "../tasks/task_actions.tsx";
import {
  type ShownTask,
  StatusBadge,
  TaskLink,
  type TaskProps,
} from "../tasks/task_parts.tsx";
import type { ShownAttempt } from "../tasks/task_spans.ts";

/** Times and attempts that the page shows. */
const TIMES = 10;
const ATTEMPTS = 10;

/** Shows a schedule. */
export async function schedulePage(page: PageCall): Promise<PageAnswer> {
  const { base, nowMs } = page;
  const path = pathOf("tasks", page);
  return await page.show<ShownTask>({ path }, async (task) => {
    const repeat = repeatOf(task);
    if (repeat === undefined) return goTo(`${base}/tasks/${task.id}`);
    const [preview, attempts] = await Promise.all([
      previewOfTask(page, task, TIMES),
      page.ask({
        path: `${path}/attempts`,
        query: new URLSearchParams({ order: "desc", limit: String(ATTEMPTS) }),
      }),
    ]);
    const isWriter = may(page, "tasks:write");
    const { data = [] } = attempts.body as Partial<ShownList<ShownAttempt>>;
    return {
      kind: "page",
      title: `Schedule ${task.worker} · ${task.job}`,
      heading: <span>{`${task.worker} · ${task.job}`}</span>,
      actions: linkButtons(page, [
        [`/tasks/${task.id}/edit`, "Edit", "tasks:write"],
      ]),
      content: (
        <Live id="schedule">
          <Lead page={page} task={task} repeat={repeat} />
          {isWriter ? <TaskActions page={page} task={task} /> : null}
          <Section id="next" title="Next runs">
            {preview === undefined || preview.data.length === 0
              ? <p class="dim">The schedule has no run ahead.</p>
              : (
                <NextTimes
                  preview={preview}
                  skip={isWriter
                    ? (day) => <SkipButton page={page} day={day} />
                    : undefined}
                />
              )}
          </Section>
          <div class="grid">
            <Rule page={page} task={task} repeat={repeat} />
            <Attempts attempts={data} nowMs={nowMs} />
          </div>
        </Live>
      ),
    };
  });
}

/** A page, and the schedule that it shows. */
interface ScheduleProps extends TaskProps {
  readonly repeat: ShownRepeat;
}

function Lead({ page: { nowMs }, task, repeat }: ScheduleProps): VNode {
  const slip = slipOf(task, nowMs);
  const isEnding = task.error !== null || slip !== undefined;
  return (
    <Note tone={isEnding ? "warn" : "busy"}>
      <p class="lead">
        <StatusBadge status={task.status} /> It repeats{" "}
        <RuleText repeat={repeat} /> in {task.timezone}; its next run{" "}
        {Date.parse(task.date) > nowMs ? "is at" : "was due at"}{" "}
        <Time at={task.date} />.
      </p>
      {slip === undefined ? null : <p>{slip}</p>}
      {task.missed === 0
        ? null
        : <p>{`So far ${task.missed} of its runs were missed.`}</p>}
      {task.error === null
        ? null
        : <p>{`Its last error: ${task.error.code}, ${task.error.message}`}</p>}
    </Note>
  );
}

function SkipButton(
  { page, day }: { readonly page: PageCall; readonly day: string },
): VNode {
  return (
    <PostForm
      page={page}
      buttons={[{
        value: "skip",
        text: (
          <>
            Skip the day<span class="hidden">{` ${day}`}</span>
          </>
        ),
        kind: "plain",
        question: `Leave out all runs of ${day}?`,
      }]}
    >
      <input type="hidden" name="day" value={day} />
    </PostForm>
  );
}

function Rule({ page: { base }, task, repeat }: ScheduleProps): VNode {
  return (
    <Section id="rule" title="Rule">
      <FactList
        facts={[
          ["Task", <TaskLink base={base} id={task.id} />],
          ["Repeats", <RuleText repeat={repeat} />],
          ["Dialect", repeat.dialect],
          ["Time zone", task.timezone],
          ["Left out", repeat.exclude?.join(", ")],
          ["Calendars", repeat.calendars?.join(", ")],
          ["Ends", repeat.until && <Time at={repeat.until} />],
          ["At most", repeat.limit && `${repeat.limit} repetitions`],
          ["Catch-up", repeat.catch_up],
          ["Jitter", repeat.jitter === "PT0S" ? null : repeat.jitter],
          ["Mode", repeat.mode],
          [
            "A failed run",
            repeat.on_failure === "stop"
              ? "ends the schedule"
              : "leaves the schedule as it is",
          ],
          ["Runs so far", task.run + (task.started_at === null ? 0 : 1)],
          ["Missed", task.missed],
          ["Last lag", task.lag === null ? null : formatLength(task.lag)],
          [
            "Last run took",
            task.duration === null ? null : formatLength(task.duration),
          ],
        ]}
      />
    </Section>
  );
}

function Attempts(
  { attempts, nowMs }: {
    readonly attempts: readonly ShownAttempt[];
    readonly nowMs: number;
  },
): VNode {
  return (
    <Section id="runs" title="Newest attempts">
      {attempts.length === 0 ? <p class="dim">It has not run yet.</p> : (
        <Table
          label="Newest attempts"
          rows={attempts}
          columns={[
            { name: "Run", cell: ({ run }) => run + 1 },
            { name: "Began", at: ({ started_at: at }) => at, nowMs },
            {
              name: "Took",
              cell: ({ started_at: at, ended_at: end }) =>
                formatLength(
                  (end === null ? nowMs : Date.parse(end)) - Date.parse(at),
                ),
            },
            {
              name: "Outcome",
              cell: ({ outcome, error }) => (
                <Badge
                  tone={outcome === "succeeded"
                    ? "good"
                    : outcome === "running"
                    ? "busy"
                    : "bad"}
                >
                  {error?.code ?? outcome}
                </Badge>
              ),
            },
          ]}
        />
      )}
    </Section>
  );
}

/** Does what a button of a schedule's page says. */
export async function actOnSchedule(page: PageCall): Promise<PageAnswer> {
  const { form, here } = page;
  if (form.get("action") !== "skip") return await actOnTask(page);
  const path = pathOf("tasks", page);
  return await page.show<ShownTask>({ path }, async (task, { headers }) => {
    const { exclude = [] } = repeatOf(task) ?? {};
    const changed = await page.ask({
      method: "PATCH",
      path,
      body: { repeat: { exclude: [...exclude, form.get("day") ?? ""] } },
      headers: { "if-match": headers.etag ?? "*" },
    });
    return refusalOf(changed) ?? goTo(here, "skip");
  });
}
