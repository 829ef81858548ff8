/**
 * Runs a command for a task: the task's data is its standard input, its
 * standard output is the result, and its exit code tells whether the task
 * succeeded.
 *
 * @module
 */

import { describeError, settle } from "../../shared/settled.ts";
import {
  type LeasedTask,
  type TaskAttemptContext,
  TaskFailure,
} from "../../../sdk/tasks.ts";

/** A command, and where its standard error goes. */
interface TaskCommand {
  /** The program. */
  readonly program: string;
  /** Its arguments. */
  readonly args: readonly string[];
  /** Takes each line that it writes to standard error. */
  readonly onLine: (line: string) => void;
  /**
   * How long after SIGTERM it gets SIGKILL, in milliseconds; asked when it gets
   * SIGTERM.
   */
  readonly killAfterMs: () => number;
}

/**
 * The exit code for a failure that no retry helps, as mail delivery programs
 * use it.
 */
export const FAILED_FOR_GOOD = 100;

/**
 * Most bytes of a result; the rest is dropped, for the service keeps 64 KiB.
 */
const MAX_RESULT_BYTES = 65_536;
/** How long the command's streams may stay open after it has ended. */
const LEFT_OPEN_MS = 1_000;
/**
 * How many of the last characters of standard error become the error message.
 */
const MAX_ERROR_CHARS = 2_000;

/**
 * Runs the command for a task.
 *
 * @returns The command's standard output: parsed if it is JSON, null if it is
 * blank, else as text.
 * @throws {TaskFailure} When the command cannot be run, or ends with anything
 * but 0.
 */
export async function runCommand(
  task: LeasedTask,
  context: TaskAttemptContext,
  command: TaskCommand,
): Promise<unknown> {
  const { signal } = context;
  const child = spawned(task, context, command);
  const end = endOnAbort(child, { signal, killAfterMs: command.killAfterMs });
  const output = child.stdout.getReader();
  const lines = child.stderr.getReader();
  try {
    const input = settle(() => writeInput(child.stdin, task));
    const read = Promise.all([
      readStart(output),
      readLines(lines, command.onLine),
    ]);
    const status = await child.status;
    // Processes that the command left behind may keep its streams open for
    // ever.
    const leftOpen = Promise.withResolvers<undefined>();
    const timer = setTimeout(() => {
      void output.cancel();
      void lines.cancel();
      leftOpen.resolve(undefined);
    }, LEFT_OPEN_MS);
    const [stdout, errors] = await read;
    // A write that waits for a reader cannot be canceled, so it is not awaited.
    const written = await Promise.race([input, leftOpen.promise]);
    clearTimeout(timer);
    if (written?.kind === "failed") throw written.error;
    signal.throwIfAborted();
    if (status.code === 0 && status.signal === null) return parseResult(stdout);
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
        // The credential is for the worker, so it is hidden from the command.
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

/** Sends SIGTERM when the signal aborts, and SIGKILL if the command goes on. */
function endOnAbort(
  child: Deno.ChildProcess,
  { signal, killAfterMs }: {
    readonly signal: AbortSignal;
    readonly killAfterMs: () => number;
  },
): { cancel(): void } {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const kill = (name: Deno.Signal): void => {
    try {
      child.kill(name);
    } catch (error) {
      // A TypeError means that the command has ended already.
      if (!(error instanceof TypeError)) throw error;
    }
  };
  const onAbort = (): void => {
    kill("SIGTERM");
    timer = setTimeout(() => kill("SIGKILL"), killAfterMs());
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
    // A broken pipe is no failure: a command need not read its input.
    if (!(error instanceof Deno.errors.BrokenPipe)) throw error;
  }
}

type Reader = ReadableStreamDefaultReader<Uint8Array>;

/** Reads an output to its end; returns its first `MAX_RESULT_BYTES` bytes. */
async function readStart(reader: Reader): Promise<string> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of readChunks(reader)) {
    if (length < MAX_RESULT_BYTES) {
      chunks.push(chunk.subarray(0, MAX_RESULT_BYTES - length));
    }
    length += chunk.length;
  }
  return await new Blob(chunks as BlobPart[]).text();
}

/**
 * Passes each line to `onLine`; returns the last `MAX_ERROR_CHARS` characters.
 */
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
  for await (const chunk of readChunks(reader)) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split("\n");
    // Only the end of a long line is kept, so that it cannot fill the memory.
    rest = lines.pop()!.slice(-MAX_ERROR_CHARS);
    lines.forEach(take);
  }
  if (rest !== "") take(rest);
  return end.trim();
}

async function* readChunks(reader: Reader): AsyncGenerator<Uint8Array> {
  while (true) {
    const { done, value } = await reader.read();
    if (done) return;
    yield value;
  }
}

function parseResult(text: string): unknown {
  if (text.trim() === "") return null;
  try {
    return JSON.parse(text);
  } catch {
    // Output that is no JSON is the result as text.
    return text;
  }
}
