/**
 * `tercet tasks list`, `show` and `tail`: list tasks, show one, and follow its
 * history.
 *
 * @module
 */

import type {
  HistoryRecord,
  TaskFilter,
  TaskStatus,
} from "../../../sdk/tasks.ts";
import { type CommandShape, readCommand } from "../../shared/command_line.ts";
import {
  choiceOption,
  integerOption,
  repeatedOption,
  switchOption,
  textOption,
} from "../../shared/options.ts";
import {
  asking,
  type CliIo,
  connect,
  CONNECTION,
  NOT_SUCCEEDED,
} from "./connection.ts";
import { TaskWatch } from "./events.ts";
import {
  formatLines,
  formatOutcome,
  formatTable,
  shownTime,
  TASK_TITLES,
  taskRow,
} from "./table.ts";

/** Flags that choose tasks. */
export const FILTER = {
  worker: repeatedOption({ help: "Of this worker." }),
  status: repeatedOption({
    help: "With this status, `active` or `final`.",
  }),
  job: textOption({ help: "Of this job." }),
  tag: repeatedOption({ help: "With this tag." }),
  key: textOption({ help: "With this key." }),
  error: textOption({ help: "With this code of the last error." }),
  start: textOption({
    help: "From this time on: 2027-01, 2027-01-31 or RFC " +
      "3339.",
  }),
  end: textOption({ help: "Up to and including this time." }),
} as const;

/** Makes a filter of the flags' values. */
export function buildFilter(values: {
  readonly worker: readonly string[];
  readonly status: readonly string[];
  readonly tag: readonly string[];
  readonly job?: string | undefined;
  readonly key?: string | undefined;
  readonly error?: string | undefined;
  readonly start?: string | undefined;
  readonly end?: string | undefined;
}): TaskFilter {
  const { worker, status, tag, job, key, error, start, end } = values;
  return {
    worker: worker.length === 0 ? undefined : worker,
    // Not checked here: the service refuses an unknown status.
    status: status.length === 0 ? undefined : status as readonly TaskStatus[],
    tag: tag.length === 0 ? undefined : tag,
    ...{ job, key, error, start, end },
  };
}

const LIST_FLAGS = {
  ...CONNECTION,
  ...FILTER,
  by: choiceOption({
    values: {
      date: "date",
      created_at: "created_at",
      finished_at: "finished_at",
    },
    help: "The time that --start and --end filter by.",
  }),
  waiting: choiceOption({
    values: { event: "event", approval: "approval" },
    help: "Those that wait for an event, or for a person to approve.",
  }),
  latest: switchOption({ help: "The latest first." }),
  limit: integerOption({
    ...{ default: 20, min: 1, max: 100_000 },
    help: "The maximum number of tasks.",
  }),
} as const;

const LIST: CommandShape = {
  usage: "tercet tasks list",
  about: "Lists tasks by their dates. Exit codes: 0 success, 1 refused or no " +
    "answer, 2 invalid arguments.",
};

/** Runs `list`; returns the exit code. */
export async function runList(
  args: readonly string[],
  io: CliIo,
): Promise<number> {
  const read = readCommand(LIST_FLAGS, { args, io, command: LIST });
  if (read.kind === "done") return read.exitCode;
  const { values } = read;
  const connected = await connect(values, { io, command: LIST });
  if (connected.kind === "done") return connected.exitCode;
  const { by, waiting, latest, limit, json } = values;
  return await asking(io, async () => {
    const found = await connected.tasks.list({
      ...buildFilter(values),
      by,
      waiting,
      order: latest ? "desc" : "asc",
      limit: Math.min(limit, 200),
    }).take(limit);
    if (json) { for (const task of found) io.out(JSON.stringify(task)); }
    else if (found.length === 0) io.err("No tasks.");
    else io.out(formatTable(TASK_TITLES, found.map(taskRow)));
    return 0;
  });
}

const SHOW: CommandShape = {
  usage: "tercet tasks show ID",
  about: "Shows a task, why it waits, and its last attempts. Exit codes: 0 " +
    "success, 1 unknown task, refused or no answer, 2 invalid arguments.",
  positionals: 1,
};
const SHOWN_ATTEMPTS = 5;

/** Runs `show`; returns the exit code. */
export async function runShow(
  args: readonly string[],
  io: CliIo,
): Promise<number> {
  const read = readCommand(CONNECTION, { args, io, command: SHOW });
  if (read.kind === "done") return read.exitCode;
  const { values, positionals: [id = ""] } = read;
  const connected = await connect(values, { io, command: SHOW });
  if (connected.kind === "done") return connected.exitCode;
  const { tasks } = connected;
  return await asking(io, async () => {
    const task = await tasks.get(id);
    if (values.json) {
      io.out(JSON.stringify(task));
      return 0;
    }
    const hasEnded = task.finished_at !== null;
    const waits = hasEnded ? [] : (await tasks.explain(id)).hindrances;
    const attempts = await tasks.attempts(id, { order: "desc" })
      .take(SHOWN_ATTEMPTS);
    io.out(formatLines([
      ["id", task.id],
      ["status", task.status],
      ["worker", `${task.worker}, job ${task.job}`],
      ["data", task.data === undefined ? "" : JSON.stringify(task.data)],
      ["date", hasEnded ? "" : shownTime(task.date)],
      ["next", (task.next ?? []).map(shownTime).join(", ")],
      ["key", task.key ?? ""],
      ["tags", task.tags.join(", ")],
      ["created", shownTime(task.created_at)],
      ["ended", shownTime(task.finished_at)],
      ["kept until", shownTime(task.kept_until)],
      ["outcome", task.executions === 0 ? "" : formatOutcome(task)],
      ...waits.map(({ message }) => ["waits", message] as const),
    ]));
    if (attempts.length === 0) return 0;
    io.out("");
    io.out(formatTable(
      ["RUN", "STARTED", "ENDED", "OUTCOME", "INSTANCE", "ERROR"],
      attempts.map((attempt) => [
        String(attempt.run),
        shownTime(attempt.started_at),
        shownTime(attempt.ended_at),
        attempt.outcome ?? "",
        attempt.instance ?? "",
        attempt.error?.message ?? "",
      ]),
    ));
    return 0;
  });
}

const TAIL_FLAGS = {
  ...CONNECTION,
  past: switchOption({ help: "Stop after the past records." }),
  follow: switchOption({
    help: "Go on after the task has ended, until it is removed.",
  }),
} as const;

const TAIL: CommandShape = {
  usage: "tercet tasks tail ID",
  about:
    "Prints the history of a task and follows it until the task ends. Exit " +
    "codes: 0 succeeded (with --past: always), 3 not succeeded, 1 refused or " +
    "no answer, 2 invalid arguments.",
  positionals: 1,
};
/** Runs `tail`; returns the exit code. */
export async function runTail(
  args: readonly string[],
  io: CliIo,
): Promise<number> {
  const read = readCommand(TAIL_FLAGS, { args, io, command: TAIL });
  if (read.kind === "done") return read.exitCode;
  const { values, positionals: [id = ""] } = read;
  const connected = await connect(values, { io, command: TAIL });
  if (connected.kind === "done") return connected.exitCode;
  const { tasks } = connected;
  return await asking(io, async () => {
    using watch = values.past ? undefined : new TaskWatch(tasks, id);
    let last = -1;
    while (true) {
      // Read before the history: the records of a task that has ended are
      // complete.
      const task = await tasks.get(id);
      for await (const record of tasks.history(id, { limit: 200 })) {
        if (record.seq <= last) continue;
        last = record.seq;
        io.out(values.json ? JSON.stringify(record) : formatLine(record));
      }
      if (values.past) return 0;
      if (task.finished_at !== null && !values.follow) {
        return task.status === "complete" ? 0 : NOT_SUCCEEDED;
      }
      await watch?.next();
    }
  });
}

function formatLine(record: HistoryRecord): string {
  const { at, type, run, message, error, progress, instance } = record;
  const said = error === undefined
    ? message ?? (progress === undefined ? "" : JSON.stringify(progress))
    : `${error.code}: ${error.message}`;
  const by = instance === undefined ? "" : ` by ${instance}`;
  const head = `${shownTime(at)}  run ${run}  ${type}${by}`;
  return said === "" ? head : `${head}  ${said.replaceAll(/\p{Cc}+/gu, " ")}`;
}
