/**
 * `tercet tasks retry`, `cancel`, `pause`, `resume` and `run`: act on tasks by
 * id, or on all tasks that a filter matches.
 *
 * @module
 */

import { type Task, type TasksClient, TasksError } from "../../../sdk/tasks.ts";
import {
  type CommandShape,
  readCommand,
  wrongArguments,
} from "../../shared/command_line.ts";
import { switchOption, textOption } from "../../shared/options.ts";
import { asking, type CliIo, connect, CONNECTION } from "./connection.ts";
import { buildFilter, FILTER } from "./show.ts";

const FLAGS = {
  ...CONNECTION,
  ...FILTER,
  reason: textOption({
    help: "The reason, for the history; only with cancel.",
  }),
  leaveDependents: switchOption({
    help: "Leave tasks that failed because a named one did; only with retry.",
  }),
  yes: switchOption({
    help: "Act on all tasks that the filter finds. Without it they are only " +
      "counted.",
  }),
} as const;

/** The name of the command. */
type Action = "retry" | "cancel" | "pause" | "resume" | "run";

const ABOUT: Readonly<Record<Action, string>> = {
  retry: "Retries ended tasks",
  cancel: "Cancels tasks",
  pause: "Keeps tasks from starting until they are resumed",
  resume: "Resumes paused tasks",
  run: "Runs tasks now, whatever their dates",
};

/** Most ids that the arguments may name. */
const MAX_IDS = 1_000;

/** Runs the command; returns the exit code. */
export async function runAction(
  action: Action,
  { args, io }: { readonly args: readonly string[]; readonly io: CliIo },
): Promise<number> {
  const command: CommandShape = {
    usage: action === "run"
      ? "tercet tasks run ID…"
      : `tercet tasks ${action} ID… | --worker WORKER --status STATUS --yes`,
    about: `${ABOUT[action]}, by id${action === "run" ? "" : " or filter"}. ` +
      "Exit codes: 0 success, 1 failure of a task, refused or no answer, 2 " +
      "invalid arguments.",
    positionals: MAX_IDS,
    leastPositionals: 0,
  };
  const read = readCommand(FLAGS, { args, io, command });
  if (read.kind === "done") return read.exitCode;
  const { values, positionals: ids } = read;
  const { signal: _, ...filter } = buildFilter(values);
  const hasFilter = Object.values(filter).some((value) => value !== undefined);
  if (hasFilter === ids.length > 0) {
    const fault = "Cannot select tasks: give ids or a filter";
    return wrongArguments(fault, { io, command }).exitCode;
  }
  if (action !== "cancel" && values.reason !== undefined) {
    const fault = "Cannot use --reason: only cancel has a reason";
    return wrongArguments(fault, { io, command }).exitCode;
  }
  if (action === "run" && hasFilter) {
    const fault = "Cannot run tasks by a filter: give ids";
    return wrongArguments(fault, { io, command }).exitCode;
  }
  if (values.leaveDependents && (action !== "retry" || ids.length === 0)) {
    const fault = "Cannot use --leave-dependents: it needs retry and ids";
    return wrongArguments(fault, { io, command }).exitCode;
  }
  const connected = await connect(values, { io, command });
  if (connected.kind === "done") return connected.exitCode;
  const { tasks } = connected;
  return ids.length > 0 || action === "run"
    ? await actOnEach(ids, { action, tasks, io, ...values })
    : await asking(
      io,
      () => actOnAll(filter, { action, tasks, io, ...values }),
    );
}

interface Acting<Of extends Action = Action> {
  readonly action: Of;
  readonly tasks: TasksClient;
  readonly io: CliIo;
  readonly json: boolean;
  readonly yes: boolean;
  readonly reason?: string | undefined;
  readonly leaveDependents: boolean;
}

/** Acts on each task; goes on with the next after a failure. */
async function actOnEach(
  ids: readonly string[],
  { action, tasks, io, json, reason, leaveDependents }: Acting,
): Promise<number> {
  let exitCode = 0;
  for (const id of ids) {
    const own = { ...io, err: (text: string) => io.err(`${id}: ${text}`) };
    const code = await asking(own, async () => {
      const task = action === "retry"
        ? await tasks.retry(id, { revivesDependents: !leaveDependents })
        : await tasks[action](id, { reason });
      io.out(
        json
          ? JSON.stringify(task)
          : `${id} ${task.status}${describeRevived(task)}`,
      );
      return 0;
    });
    exitCode = Math.max(exitCode, code);
  }
  return exitCode;
}

/** Tells how many tasks wait for one that was retried again. */
function describeRevived({ revived_dependents: revived }: Task): string {
  const { count = 0 } = revived ?? {};
  return count === 0 ? "" : `, and ${count} that failed by it`;
}

async function actOnAll(
  filter: ReturnType<typeof buildFilter>,
  { action, tasks, io, json, yes }: Acting<Exclude<Action, "run">>,
): Promise<number> {
  const started = await tasks.apply({ action, filter, dry_run: !yes });
  const result = "id" in started
    ? await tasks.finished(started, {
      onProgress: ({ matched, changed }) =>
        io.progress?.(`${changed} of ${matched} tasks`),
    })
    : started;
  io.progress?.("");
  if (json) io.out(JSON.stringify(result));
  else {
    const did = yes ? "changed" : "would be changed; say --yes to do it";
    io.out(`${result.changed} of ${result.matched} tasks ${did}`);
    for (const { id, detail } of result.errors) io.err(`${id}: ${detail}`);
  }
  if ("status" in result && result.status === "failed") {
    throw new TasksError(`Cannot ${action} the tasks: the operation failed`, {
      code: "internal",
    });
  }
  return result.failed > 0 ? 1 : 0;
}
