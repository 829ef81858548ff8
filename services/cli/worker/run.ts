/**
 * `tercet-worker run`: takes tasks of a worker, and runs a command for each.
 *
 * @module
 */

import { WorkEnded, Worker, type WorkerOptions } from "../../../sdk/tasks.ts";
import {
  type CommandIo,
  type CommandShape,
  readCommand,
  wrongArguments,
} from "../../shared/command_line.ts";
import type { SignalSource } from "../../shared/lifecycle.ts";
import {
  durationOption,
  integerOption,
  repeatedOption,
  switchOption,
  textOption,
} from "../../shared/options.ts";
import { describeError } from "../../shared/settled.ts";
import { CONNECTION, readConnection } from "../tasks/connection.ts";
import { fetchLocally } from "../tasks/fetch_locally.ts";
import { FAILED_FOR_GOOD, runCommand } from "./task_command.ts";

const FLAGS = {
  url: CONNECTION.url,
  keyFile: textOption({
    help: "File that holds the worker's credential; the variable TASKS_KEY " +
      "when it is not given.",
  }),
  worker: textOption({ required: true, help: "Name or id of the worker." }),
  job: repeatedOption({
    help: "Takes only tasks of this job.",
  }),
  concurrency: integerOption({
    ...{ default: 1, min: 1, max: 1_000 },
    help: "Number of concurrent commands.",
  }),
  lease: durationOption({
    ...{ default: "30s", min: "5s", max: "1h" },
    help: "How long after the death of this process another one has its tasks.",
  }),
  grace: durationOption({
    ...{ default: "30s" },
    help: "How long commands may continue after SIGTERM or SIGINT.",
  }),
  instance: textOption({ help: "Name of this process in histories." }),
  secrets: switchOption({
    help: "Hand the worker's secrets to commands, as SECRET_NAME.",
  }),
  history: switchOption({
    help: "Write standard error of commands into the history of their tasks.",
  }),
} as const;

const COMMAND: CommandShape = {
  usage: "tercet-worker run --worker WORKER -- COMMAND ARGUMENT…",
  about:
    "Runs a command for each task of a worker. The task's data is JSON on " +
    "its standard input. TASK_ID, TASK_JOB, TASK_METADATA, TASK_FENCE, " +
    "TASK_RUN and TASK_ATTEMPT are in its environment. Its standard output " +
    "is the result. A command succeeds with exit code 0 and fails finally " +
    `with ${FAILED_FOR_GOOD}; after any other code the task's rules for ` +
    "retries apply. The command gets SIGTERM when its task is canceled, and " +
    "SIGKILL ten seconds later; after --grace it gets both three seconds " +
    "apart. Exit codes: 0 stopped by a signal, 1 credential or worker " +
    "refused, 2 invalid arguments.",
};

/** Milliseconds between SIGTERM and SIGKILL of a command. */
const KILL_AFTER_MS = 10_000;
/**
 * The same when the worker stops. It gives tasks up five seconds after their
 * signals, and another worker takes them; no command may go on then.
 */
const STOPPING_KILL_AFTER_MS = 3_000;

/** What the command gets from the process it runs in. */
interface RunWorkerOptions {
  /** Where the command writes its output. */
  readonly io: CommandIo;
  /** Reads a variable of the environment. */
  readonly readVariable: (name: string) => string | undefined;
  /** Reads a file. */
  readonly readText: (path: string) => Promise<string>;
  /** SIGTERM and SIGINT. */
  readonly signals: SignalSource;
}

/** Runs the command; returns the exit code. */
export async function runWorker(
  args: readonly string[],
  { io, readVariable, readText, signals }: RunWorkerOptions,
): Promise<number> {
  const fail = (fault: string): number =>
    wrongArguments(fault, { io, command: COMMAND }).exitCode;
  // All arguments after -- are the command that is run for each task.
  const at = args.includes("--") ? args.indexOf("--") : args.length;
  const [program, ...rest] = args.slice(at + 1);
  const own = args.slice(0, at);
  const read = readCommand(FLAGS, { args: own, io, command: COMMAND });
  if (read.kind === "done") return read.exitCode;
  if (program === undefined) {
    return fail("Missing command: write it after --");
  }
  const { values } = read;
  const connection = await readConnection(values, {
    io: { ...io, readVariable, readText },
    command: COMMAND,
  });
  if (connection.kind === "done") return connection.exitCode;
  const { url, key } = connection;
  const commands = new Commands();
  const options: WorkerOptions = {
    url,
    key,
    worker: values.worker,
    jobs: values.job.length === 0 ? undefined : values.job,
    concurrency: values.concurrency,
    leaseMs: values.lease,
    instance: values.instance,
    withSecrets: values.secrets,
    fetch: fetchLocally,
    onError: (error) => io.err(error.message),
    handlers: async (task, context) => {
      io.out(`${task.id} ${task.job} begins, attempt ${context.attempt}`);
      try {
        const result = await commands.track(runCommand(task, context, {
          program,
          args: rest,
          onLine: (line) => {
            io.err(`${task.id} | ${line}`);
            if (values.history) context.log(line);
          },
          killAfterMs: () => killAfterMs(context.signal),
        }));
        io.out(`${task.id} ${task.job} is done`);
        return result;
      } catch (error) {
        const [why] = describeError(error).split("\n").slice(-1);
        io.out(`${task.id} ${task.job} has failed: ${why}`);
        throw error;
      }
    },
  };
  let worker: Worker;
  try {
    worker = new Worker(options);
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    return fail(error.message);
  }
  const graceMs = values.grace;
  return await work(worker, { io, signals, graceMs, commands });
}

function killAfterMs({ reason }: AbortSignal): number {
  return reason instanceof WorkEnded && reason.cause === "stopping"
    ? STOPPING_KILL_AFTER_MS
    : KILL_AFTER_MS;
}

/** The commands that run. */
class Commands {
  readonly #running = new Set<Promise<unknown>>();

  /** Remembers a command until it has ended. */
  async track<Result>(command: Promise<Result>): Promise<Result> {
    this.#running.add(command);
    try {
      return await command;
    } finally {
      this.#running.delete(command);
    }
  }

  /** Waits until all commands have ended. */
  async ended(): Promise<void> {
    await Promise.allSettled(this.#running);
  }
}

async function work(
  worker: Worker,
  { io, signals, graceMs, commands }: {
    readonly io: CommandIo;
    readonly signals: SignalSource;
    readonly graceMs: number;
    readonly commands: Commands;
  },
): Promise<number> {
  const stop = (): void => {
    io.err("Stopping; no more tasks are taken");
    void worker.stop({ graceMs });
  };
  const stopListening = (["SIGTERM", "SIGINT"] as const).map((name) =>
    signals.listen(name, stop)
  );
  worker.start();
  try {
    await worker.ended;
    return 0;
  } catch {
    // The error was written by onError already.
    return 1;
  } finally {
    // One that was left behind would do its task beside another worker.
    await commands.ended();
    for (const end of stopListening) end();
  }
}
