/**
 * Schedules as pages show them: the rule in words, and its next times in the
 * zone of the task and in that of the reader.
 *
 * @module
 */

import type { VNode } from "preact";
import { formatLength, Note } from "../../../shared/console/parts.tsx";
import { Table } from "../../../shared/console/table.tsx";
import { formatOffset, formatWall } from "../../domain/time_zone.ts";
import type { OccurrenceWarning } from "../../domain/preview.ts";
import type { RepeatRule } from "../../domain/task.ts";
import type { ApiAnswer } from "../../http/ask_api.ts";
import type { PageCall, Texts } from "../parts/page.ts";
import { durationWords, type ShownTask } from "../tasks/task_parts.tsx";

/** A schedule as the API shows it. */
export type ShownRepeat =
  & Pick<
    RepeatRule,
    "interval" | "cron" | "dialect" | "exclude" | "calendars" | "limit"
  >
  & Partial<Texts<"until" | "catch_up" | "jitter" | "mode" | "on_failure">>;

/** A time of a schedule, also by the clock of its zone. */
type Moment = Texts<"at" | "local" | "offset">;

/** The next times of a schedule, as the API previews them. */
export interface ShownPreview {
  /** The zone that it was read in. */
  readonly timezone: string;
  /** The times, in order. */
  readonly data: readonly (Moment & {
    readonly warnings: readonly OccurrenceWarning[];
  })[];
  /** The times between them that are left out. */
  readonly excluded: readonly (Moment & Texts<never, "calendar">)[];
  /** What may not be as it was meant. */
  readonly warnings: readonly Texts<"message">[];
  /** Whether the schedule ends with these. */
  readonly is_complete: boolean;
}

/** The schedule of a task; undefined for one that runs once. */
export function repeatOf({ repeat }: ShownTask): ShownRepeat | undefined {
  return repeat === null ? undefined : repeat as ShownRepeat;
}

/** What repeats a task: its cron expression or its interval. */
export function RuleText({ repeat }: { readonly repeat: ShownRepeat }): VNode {
  return repeat.cron === undefined
    ? (
      <span>
        {`every ${durationWords(repeat.interval ?? "")}`}
      </span>
    )
    : <code>{repeat.cron}</code>;
}

/** Asks for the next times of a schedule. */
export async function askPreview(
  page: PageCall,
  body: Readonly<Record<string, unknown>>,
): Promise<ApiAnswer> {
  const path = "/v1/schedules/preview";
  return await page.ask({ method: "POST", path, body });
}

/** The next times of a task's schedule, from its next date on. */
export async function previewOfTask(
  page: PageCall,
  task: ShownTask,
  count: number,
): Promise<ShownPreview | undefined> {
  const { repeat, timezone, first_date: date, date: next } = task;
  const from = Date.parse(next) > page.nowMs
    ? next
    : new Date(page.nowMs).toISOString();
  const answer = await askPreview(page, {
    repeat,
    timezone,
    date,
    from,
    count,
  });
  // A schedule that has ended has no next times, which the API calls a fault.
  return answer.status < 400 ? answer.body as ShownPreview : undefined;
}

const WEEKDAYS = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];

/** A local time with the day of the week: `Mon 2030-01-31 08:00`. */
export function localText(local: string): string {
  const day = WEEKDAYS[new Date(`${local.slice(0, 10)}T00:00Z`).getUTCDay()];
  const time = local.slice(11, local.endsWith(":00") ? 16 : 19);
  return `${day} ${local.slice(0, 10)} ${time}`;
}

/** An instant by the clock of a zone. */
export function ZoneTime(
  { at, timezone }: { readonly at: string; readonly timezone: string },
): VNode {
  const atMs = Date.parse(at);
  return (
    <span>
      {localText(formatWall(Math.trunc(atMs / 1_000) * 1_000, timezone))}{" "}
      <span class="dim">{formatOffset(atMs, timezone)}</span>
    </span>
  );
}

const WARNINGS: Readonly<Record<OccurrenceWarning, string>> = {
  gap_moved: "The clock skips the time that is meant, so it is moved.",
  overlap_once: "The clock shows this time twice; it runs at the first.",
  month_short: "The month lacks the day, so its last day is taken.",
  missed_by_limit: "It has passed, and its limits leave it out.",
};

/** Whether a change of the clock moves one of the times. */
export function hasClockChange({ data }: ShownPreview): boolean {
  return data.some(({ warnings }) =>
    warnings.includes("gap_moved") || warnings.includes("overlap_once")
  );
}

function dayOf({ local }: Moment): string {
  return local.slice(0, 10);
}

/** The next times of a schedule, one in each row. */
export function NextTimes(
  { preview, skip }: {
    readonly preview: ShownPreview;
    /**
     * Renders the button that leaves out a day of the task's zone.
     * @default there is none
     */
    readonly skip?: ((day: string) => VNode) | undefined;
  },
): VNode {
  const { timezone, data, excluded, warnings, is_complete: isComplete } =
    preview;
  return (
    <>
      {warnings.map(({ message }) => (
        <Note tone="warn">
          <p>{message}</p>
        </Note>
      ))}
      <Table
        label="Next runs"
        rows={data}
        columns={[
          {
            name: timezone,
            cell: ({ local, offset, warnings }) => (
              <div>
                {localText(local)} <span class="dim">{offset}</span>
                {warnings.map((one) => <div class="warn">{WARNINGS[one]}</div>)}
              </div>
            ),
          },
          { name: "Your time", at: ({ at }) => at },
          ...(skip === undefined ? [] : [{
            name: "Skip",
            cell: (moment: Moment) =>
              data.find((one) => dayOf(one) === dayOf(moment)) === moment
                ? skip(dayOf(moment))
                : null,
          }]),
        ]}
      />
      {isComplete ? <p class="dim">The schedule ends with these.</p> : null}
      {excluded.length === 0 ? null : (
        <details class="more">
          <summary>{`Left out: ${excluded.length}`}</summary>
          <ul>
            {excluded.map(({ local, offset, calendar }) => (
              <li>
                {localText(local)} <span class="dim">{offset}</span>
                {calendar === null ? "" : `, by the calendar ${calendar}`}
              </li>
            ))}
          </ul>
        </details>
      )}
    </>
  );
}

/** A run whose begin is later than this has slipped, in milliseconds. */
const SLIPS_AFTER_MS = 60_000;

/**
 * Says how a schedule falls behind its times; undefined when it keeps them.
 */
export function slipOf(task: ShownTask, nowMs: number): string | undefined {
  const lateMs = nowMs - Date.parse(task.date);
  if (task.status === "waiting" && lateMs > SLIPS_AFTER_MS) {
    return `Its run is due since ${formatLength(lateMs)}, and no worker has ` +
      "taken it.";
  }
  const [next, after] = (task.next ?? []).map((at) => Date.parse(at));
  if (
    task.duration !== null && next !== undefined && after !== undefined &&
    task.duration > after - next
  ) {
    return `A run takes ${formatLength(task.duration)}, longer than the ` +
      "time from one run to the next.";
  }
  if (task.lag !== null && task.lag > SLIPS_AFTER_MS) {
    return `Its last run began ${formatLength(task.lag)} late.`;
  }
  return undefined;
}
