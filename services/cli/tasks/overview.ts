/**
 * `tercet tasks overview`: shows what tasks do and what needs attention.
 *
 * @module
 */

import type { Overview } from "../../../sdk/tasks.ts";
import { type CommandShape, readCommand } from "../../shared/command_line.ts";
import { asking, type CliIo, connect, CONNECTION } from "./connection.ts";
import { formatTable, shownTime } from "./table.ts";

const COMMAND: CommandShape = {
  usage: "tercet tasks overview",
  about:
    "Shows what tasks do: by status, worker and job, in the last 24 hours, " +
    "and what needs attention. Exit codes: 0 success, 1 refused or no answer, " +
    "2 invalid arguments.",
};

/** Runs the command; returns the exit code. */
export async function runOverview(
  args: readonly string[],
  io: CliIo,
): Promise<number> {
  const read = readCommand(CONNECTION, { args, io, command: COMMAND });
  if (read.kind === "done") return read.exitCode;
  const connected = await connect(read.values, { io, command: COMMAND });
  if (connected.kind === "done") return connected.exitCode;
  return await asking(io, async () => {
    const overview = await connected.tasks.overview();
    io.out(
      read.values.json ? JSON.stringify(overview) : formatOverview(overview),
    );
    return 0;
  });
}

function formatOverview(overview: Overview): string {
  const { counts, activity } = overview;
  const sum = (values: readonly number[]): number =>
    values.reduce((all, value) => all + value, 0);
  const others = Object.entries(counts).filter(([status, count]) =>
    count > 0 && status !== "waiting" && status !== "running"
  );
  return [
    [
      `${counts.waiting} waiting`,
      `${counts.running} running`,
      ...others.map(([status, count]) => `${count} ${status}`),
      ...overview.late === 0 ? [] : [`${formatLate(overview)} late`],
    ].join(", "),
    "In 24 hours: " + [
      `${sum(activity.created)} created`,
      `${sum(activity.succeeded)} attempts succeeded`,
      `${sum(activity.failed)} failed`,
      `${sum(activity.lost)} lost`,
      `${sum(activity.missed)} slots missed`,
    ].join(", "),
    "",
    formatTable(
      ["WORKER", "JOB", "WAITING", "RUNNING", "RETRY", "FAILED", "LATE"],
      [
        ...overview.workers.map((queue) => queueRow(queue, "(all)")),
        ...overview.jobs.map((queue) => queueRow(queue, queue.job)),
      ],
    ),
    ...listNeeds(overview),
  ].join("\n");
}

function queueRow(
  queue: Overview["workers"][number],
  job: string,
): readonly string[] {
  const { worker, waiting, running, retry, failed } = queue;
  const counts = [waiting, running, retry, failed].map(String);
  return [worker, job, ...counts, formatLate(queue)];
}

function formatLate(
  { late, late_is_exact: isExact }: Pick<Overview, "late" | "late_is_exact">,
): string {
  return isExact ? String(late) : `${late} or more`;
}

/** What needs attention, a line each. */
function listNeeds(overview: Overview): readonly string[] {
  const { failing_schedules: failing, near_limits: limits } = overview;
  const { approvals, approvals_is_exact: isExact } = overview;
  const needs = [
    ...approvals === 0 ? [] : [
      `${approvals}${isExact ? "" : " or more"} tasks wait for approval; ` +
      "`tercet tasks list --waiting approval` shows them",
    ],
    ...overview.silent_workers.map((queue) =>
      `Worker "${queue.worker}" ${sinceSeen(queue)}, and ` +
      `${formatLate(queue)} of its tasks are late`
    ),
    ...overview.unasked_jobs.map((queue) =>
      `No process asks for job "${queue.job}" of worker "${queue.worker}", and ` +
      `${formatLate(queue)} of its tasks are late`
    ),
    ...failing.map(({ id, worker, job, failed_at: at, error }) =>
      `Schedule ${id} (${worker}, ${job}) failed at ${shownTime(at)}` +
      (error === null ? "" : `: ${error.message}`)
    ),
    ...(limits ?? []).map(({ limit, used, allowed }) =>
      `${used} of ${allowed} ${limit.replaceAll("_", " ")} of the plan are used`
    ),
  ];
  return needs.length === 0 ? [] : ["", "What needs attention:", ...needs];
}

function sinceSeen(
  { last_seen_at: at }: Overview["silent_workers"][number],
): string {
  return at === null
    ? "has asked for nothing since the service was started"
    : `has asked for nothing since ${shownTime(at)}`;
}
