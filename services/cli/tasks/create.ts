/**
 * `tercet tasks create`: creates a task and, with `--wait`, waits for its end.
 *
 * @module
 */

import type { NewTask, Retain, Task } from "../../../sdk/tasks.ts";
import {
  type CommandShape,
  readCommand,
  wrongArguments,
} from "../../shared/command_line.ts";
import {
  calendarDurationOption,
  choiceOption,
  integerOption,
  repeatedOption,
  switchOption,
  textOption,
} from "../../shared/options.ts";
import { quote } from "../../shared/quote.ts";
import { describeError } from "../../shared/settled.ts";
import {
  asking,
  type CliIo,
  connect,
  CONNECTION,
  NOT_SUCCEEDED,
} from "./connection.ts";
import { formatLines, formatOutcome, shownTime } from "./table.ts";

/** Flags that say how long tasks are kept. */
export const RETAIN_FLAGS = {
  retainSucceeded: calendarDurationOption({
    help: "How long to keep the task after a success. Default: the plan's " +
      "time.",
  }),
  retainFailed: calendarDurationOption({
    help: "How long to keep the task after it failed, expired or was canceled.",
  }),
} as const;

/** Makes `retain` of the flags' values. */
export function buildRetain(
  { retainSucceeded, retainFailed }: {
    readonly retainSucceeded?: string | undefined;
    readonly retainFailed?: string | undefined;
  },
): Retain | undefined {
  return retainSucceeded === undefined && retainFailed === undefined
    ? undefined
    : { succeeded: retainSucceeded, failed: retainFailed };
}

const FLAGS = {
  ...CONNECTION,
  worker: textOption({ required: true, help: "Name or id of the worker." }),
  job: textOption({ help: "Handler within the worker." }),
  data: textOption({
    help: "Data of the job: JSON, @FILE for a file, @- for standard input.",
  }),
  date: textOption({
    help: "Time of the first run, such as 2027-01-01T08:00:00Z. Default: now.",
  }),
  delay: calendarDurationOption({ help: "Time from now to the first run." }),
  cron: textOption({ help: 'Repeats the task, such as "0 7 * * *".' }),
  dialect: choiceOption({
    values: { cron: "cron", quartz: "quartz", eventbridge: "eventbridge" },
    help: "The dialect of the cron expression.",
  }),
  every: calendarDurationOption({ help: "Repeats the task at this interval." }),
  exclude: repeatedOption({
    help: "A date without a run, such as 2027-12-25.",
  }),
  calendar: repeatedOption({
    help: "The name of a calendar with events without runs.",
  }),
  timezone: textOption({ help: "The IANA time zone of the schedule." }),
  retries: integerOption({
    min: 0,
    help: "Attempts after the first: 3 means up to four in all, 0 one. " +
      "Default: the worker's setting.",
  }),
  timeout: calendarDurationOption({ help: "The time limit of an attempt." }),
  ...RETAIN_FLAGS,
  priority: integerOption({ help: "Higher numbers run first." }),
  key: textOption({
    help: "A worker has one live task with a key; a second create returns it.",
  }),
  onConflict: choiceOption({
    values: {
      return: "return",
      reject: "reject",
      replace: "replace",
      keep_date: "keep_date",
      run_after: "run_after",
    },
    help: "How to treat a live task with the key.",
  }),
  debounce: calendarDurationOption({
    help: "Run once when no request with the key has arrived for this time.",
  }),
  maxWait: calendarDurationOption({
    help: "With --debounce, run at most this time after the first request.",
  }),
  throttle: calendarDurationOption({
    help: "Run at most once in this time, however many requests have the key.",
  }),
  tag: repeatedOption({ help: "A label." }),
  idempotencyKey: textOption({
    help: "Creates the task once, however often the command runs with this " +
      "key.",
  }),
  wait: switchOption({
    help: "Wait for the task's end, and print the result.",
  }),
} as const;

const COMMAND: CommandShape = {
  usage: "tercet tasks create --worker WORKER",
  about:
    "Creates a task of a running service and shows it. Exit codes: 0 created " +
    "(with --wait: succeeded), 3 not succeeded, 1 refused or no answer, 2 " +
    "invalid arguments.",
};

/** Runs the command; returns the exit code. */
export async function runCreate(
  args: readonly string[],
  io: CliIo,
): Promise<number> {
  const read = readCommand(FLAGS, { args, io, command: COMMAND });
  if (read.kind === "done") return read.exitCode;
  const { values } = read;
  const { wait, json, retries, cron, every, timezone } = values;
  const data = await readData(values.data, io);
  if (data.kind === "fault") {
    return wrongArguments(data.fault, { io, command: COMMAND }).exitCode;
  }
  if (cron !== undefined && every !== undefined) {
    const fault = "Cannot use both --cron and --every: a task repeats by one";
    return wrongArguments(fault, { io, command: COMMAND }).exitCode;
  }
  if (values.maxWait !== undefined && values.debounce === undefined) {
    const fault = "Cannot use --max-wait: it needs --debounce";
    return wrongArguments(fault, { io, command: COMMAND }).exitCode;
  }
  const isScheduled = cron !== undefined || every !== undefined;
  const detail = values.dialect ?? values.exclude[0] ?? values.calendar[0];
  if (!isScheduled && detail !== undefined) {
    const fault = "Cannot use --dialect, --exclude or --calendar: the task " +
      "does not repeat; give --cron or --every";
    return wrongArguments(fault, { io, command: COMMAND }).exitCode;
  }
  const connected = await connect(values, { io, command: COMMAND });
  if (connected.kind === "done") return connected.exitCode;
  const { tasks } = connected;
  const task: NewTask = {
    worker: values.worker,
    job: values.job,
    ...(data.value === undefined ? {} : { data: data.value }),
    date: values.date,
    delay: values.delay,
    repeat: !isScheduled ? undefined : {
      cron,
      interval: every,
      dialect: values.dialect,
      exclude: toList(values.exclude),
      calendars: toList(values.calendar),
    },
    timezone,
    retry: retries === undefined
      ? undefined
      : retries === 0
      ? null
      : { limit: retries },
    timeout: values.timeout,
    retain: buildRetain(values),
    priority: values.priority,
    key: values.key,
    on_conflict: values.onConflict,
    debounce: buildDebounce(values),
    throttle: values.throttle === undefined
      ? undefined
      : { window: values.throttle },
    tags: toList(values.tag),
  };
  return await asking(io, async () => {
    const made = await tasks.create(task, {
      idempotencyKey: values.idempotencyKey,
    });
    for (const { detail } of made.warnings ?? []) io.err(`warning: ${detail}`);
    if (!wait) {
      io.out(json ? JSON.stringify(made) : shown(made));
      return 0;
    }
    const ended = await tasks.wait(made.id, {
      onProgress: ({ id, status }) => io.progress?.(`${id} ${status}`),
    });
    io.progress?.("");
    io.out(json ? JSON.stringify(ended) : formatOutcome(ended));
    return ended.status === "complete" ? 0 : NOT_SUCCEEDED;
  });
}

/** What `--debounce` and `--max-wait` ask for. */
function buildDebounce(
  { debounce, maxWait }: {
    readonly debounce: string | undefined;
    readonly maxWait: string | undefined;
  },
): NewTask["debounce"] {
  return debounce === undefined
    ? undefined
    : { window: debounce, max_wait: maxWait };
}

/** Parses `--data`: JSON in the argument, in a file or on standard input. */
export async function readData(
  text: string | undefined,
  io: CliIo,
): Promise<
  | { readonly kind: "data"; readonly value: unknown }
  | { readonly kind: "fault"; readonly fault: string }
> {
  if (text === undefined) return { kind: "data", value: undefined };
  let json = text;
  try {
    if (text === "@-") json = await io.readInput();
    else if (text.startsWith("@")) json = await io.readText(text.slice(1));
    return { kind: "data", value: JSON.parse(json) };
  } catch (error) {
    const why = error instanceof SyntaxError
      ? `it is not JSON: ${error.message}; a text needs quotes of its own`
      : describeError(error);
    return {
      kind: "fault",
      fault: `Cannot take --data ${quote(text)}: ${why}`,
    };
  }
}

function toList(values: readonly string[]): readonly string[] | undefined {
  return values.length === 0 ? undefined : values;
}

function shown(task: Task): string {
  return formatLines([
    ["id", task.id],
    ["status", task.status],
    ["date", shownTime(task.date)],
    [
      "next",
      task.repeat === null ? "" : (task.next ?? []).map(shownTime).join(", "),
    ],
  ]);
}
