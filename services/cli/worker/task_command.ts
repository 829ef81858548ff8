/**
 * One run of a command for one task: data on its standard input, the result on its
 * standard output, how it went as its exit code.
 *
 * @module
 */

import { describeError, settle } from "../../shared/settled.ts";
import {
  type LeasedTask,
  type TaskAttemptContext,
  TaskFailure,
} from "../../../sdk/tasks.ts";

/** The command, and what it gets. */
interface TaskCommand {
  /** The program. */
  readonly program: string;
  /** Its arguments. */
  readonly args: readonly string[];
  /** Takes each line that it writes to standard error. */
  readonly onLine: (line: string) => void;
}

/** A command says so that another try is useless, as mail's delivery programs do. */
export const FAILED_FOR_GOOD = 100;

/** More of a result is not taken: the service keeps 64 KiB of it. */
const MAX_RESULT_BYTES = 65_536;
/** The time between the request to end and the end by force. */
const KILL_AFTER_MS = 10_000;
/** How long the command's streams are waited for after its end. */
const LEFT_OPEN_MS = 1_000;
/** So much of the end of standard error stands in the error. */
const MAX_ERROR_CHARS = 2_000;

/**
 * Runs the command for a task.
 *
 * @returns What it wrote to standard output: as JSON where that is JSON, else as text.
 * @throws {TaskFailure} When it ends with anything but 0.
 */
export async function runCommand(
  task: LeasedTask,
  context: TaskAttemptContext,
  command: TaskCommand,
): Promise<unknown> {
  const { signal } = context;
  const child = spawned(task, context, command);
  const end = endOnAbort(child, signal);
  const output = child.stdout.getReader();
  const lines = child.stderr.getReader();
  try {
    const input = settle(() => writeInput(child.stdin, task));
    const read = Promise.all([
      readStart(output),
      readLines(lines, command.onLine),
    ]);
    const status = await child.status;
    // Processes that the command has left behind may hold its streams open for ever.
    const leftOpen = Promise.withResolvers<undefined>();
    const timer = setTimeout(() => {
      void output.cancel();
      void lines.cancel();
      leftOpen.resolve(undefined);
    }, LEFT_OPEN_MS);
    const [stdout, errors] = await read;
    // A write that waits for a reader can't be ended: it is left to itself.
    const written = await Promise.race([input, leftOpen.promise]);
    clearTimeout(timer);
    if (written?.kind === "failed") throw written.error;
    signal.throwIfAborted();
    if (status.code === 0 && status.signal === null) return resultOf(stdout);
    throw new TaskFailure(
      errors ||
        (status.signal === null
          ? `the command ended with ${status.code}`
          : `the command was ended by ${status.signal}`),
      {
        code: status.signal === null ? `exit_${status.code}` : "killed",
        isFinal: status.code === FAILED_FOR_GOOD,
      },
    );
  } finally {
    end.cancel();
  }
}

function spawned(
  task: LeasedTask,
  context: TaskAttemptContext,
  { program, args }: TaskCommand,
): Deno.ChildProcess {
  try {
    return new Deno.Command(program, {
      args: [...args],
      stdin: "piped",
      stdout: "piped",
      stderr: "piped",
      env: {
        TASK_ID: task.id,
        TASK_JOB: task.job,
        TASK_METADATA: JSON.stringify(task.metadata),
        TASK_FENCE: String(context.fence),
        TASK_RUN: String(context.run),
        TASK_ATTEMPT: String(context.attempt),
        ...secretVariables(context.secrets),
        // It is the worker's and not for what it runs.
        TASKS_KEY: "",
      },
    }).spawn();
  } catch (cause) {
    const state = cause instanceof Deno.errors.NotFound
      ? "it is not there"
      : describeError(cause);
    throw new TaskFailure(`Cannot run ${program}: ${state}`, {
      code: "command_not_run",
      cause,
    });
  }
}

/** The worker's secrets, as variables that begin with `SECRET_`. */
function secretVariables(
  secrets: Readonly<Record<string, string>>,
): Record<string, string> {
  return Object.fromEntries(
    Object.entries(secrets).map(([name, value]) => [`SECRET_${name}`, value]),
  );
}

/** Asks the command to end when the work is of no use, and ends it if it does not. */
function endOnAbort(
  child: Deno.ChildProcess,
  signal: AbortSignal,
): { cancel(): void } {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const kill = (name: Deno.Signal): void => {
    try {
      child.kill(name);
    } catch (error) {
      // It has ended already.
      if (!(error instanceof TypeError)) throw error;
    }
  };
  const onAbort = (): void => {
    kill("SIGTERM");
    timer = setTimeout(() => kill("SIGKILL"), KILL_AFTER_MS);
  };
  if (signal.aborted) onAbort();
  else signal.addEventListener("abort", onAbort, { once: true });
  return {
    cancel() {
      clearTimeout(timer);
      signal.removeEventListener("abort", onAbort);
    },
  };
}

async function writeInput(
  stdin: WritableStream<Uint8Array>,
  { data }: LeasedTask,
): Promise<void> {
  const writer = stdin.getWriter();
  try {
    const text = `${JSON.stringify(data ?? null)}\n`;
    await writer.write(new TextEncoder().encode(text));
    await writer.close();
  } catch (error) {
    // A command need not read what it is given.
    if (!(error instanceof Deno.errors.BrokenPipe)) throw error;
  }
}

type Reader = ReadableStreamDefaultReader<Uint8Array>;

/** The beginning of an output; the rest is read and dropped. */
async function readStart(reader: Reader): Promise<string> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of chunksOf(reader)) {
    if (length < MAX_RESULT_BYTES) {
      chunks.push(chunk.subarray(0, MAX_RESULT_BYTES - length));
    }
    length += chunk.length;
  }
  return await new Blob(chunks as BlobPart[]).text();
}

/** Hands lines on; gives the end of all of them. */
async function readLines(
  reader: Reader,
  onLine: (line: string) => void,
): Promise<string> {
  const decoder = new TextDecoder();
  let rest = "";
  let end = "";
  const take = (line: string): void => {
    onLine(line);
    end = `${end}${line}\n`.slice(-MAX_ERROR_CHARS);
  };
  for await (const chunk of chunksOf(reader)) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split("\n");
    // One line without an end must not fill the memory.
    rest = lines.pop()!.slice(-MAX_ERROR_CHARS);
    lines.forEach(take);
  }
  if (rest !== "") take(rest);
  return end.trim();
}

async function* chunksOf(reader: Reader): AsyncGenerator<Uint8Array> {
  while (true) {
    const { done, value } = await reader.read();
    if (done) return;
    yield value;
  }
}

function resultOf(text: string): unknown {
  if (text.trim() === "") return null;
  try {
    return JSON.parse(text);
  } catch {
    // What is no JSON is a text.
    return text;
  }
}
