/**
 * The common parts of the commands for users of the tasks service over HTTP:
 * the service's URL, the API key, and the output of errors.
 *
 * @module
 */

import { TasksClient, TasksError } from "../../../sdk/tasks.ts";
import type { Clock } from "../../shared/clock.ts";
import {
  type CommandIo,
  type CommandShape,
  wrongArguments,
} from "../../shared/command_line.ts";
import { switchOption, textOption } from "../../shared/options.ts";
import type { ProgramIo } from "../../shared/program.ts";
import { quote } from "../../shared/quote.ts";
import { describeError } from "../../shared/settled.ts";
import { fetchLocally } from "./fetch_locally.ts";

/**
 * The process's output, environment, files and network, as commands use them.
 */
export interface CliIo extends ProgramIo {
  /** Reads a variable of the environment. */
  readonly readVariable: (name: string) => string | undefined;
  /** Reads a file. */
  readonly readText: (path: string) => Promise<string>;
  /**
   * Reads a file with the secret of a memory; `what` says what it holds, for
   * errors.
   *
   * @default {readSecretFile}
   */
  readonly readSecret?:
    | ((path: string, what: string) => Promise<string>)
    | undefined;
  /** Makes a file that its owner alone may read. */
  readonly writeSecret: (path: string, text: string) => Promise<void>;
  /** Reads standard input to its end. */
  readonly readInput: () => Promise<string>;
  /**
   * Asks a person whether to go on; gives undefined where there is no terminal.
   *
   * @default there is no terminal
   */
  readonly ask?:
    | ((question: string) => Promise<boolean | undefined>)
    | undefined;
  /**
   * Sends requests; replaced in tests.
   *
   * @default {fetchLocally}
   */
  readonly fetch?: typeof fetch | undefined;
  /**
   * The time, and pauses; replaced in tests.
   *
   * @default {systemClock}
   */
  readonly clock?: Clock | undefined;
}

/** Flags of every command that sends requests to a service. */
export const CONNECTION = {
  url: textOption({
    help: "Address of the tenant, such as https://acme.tasks.example.com; " +
      "TASKS_URL when it is not given.",
  }),
  keyFile: textOption({
    help: "File with the API key. Default: the variable TASKS_KEY.",
  }),
  json: switchOption({ help: "Write JSON, one value a line." }),
} as const;

/** Exit code when a task did not succeed. */
export const NOT_SUCCEEDED = 3;

/** The service's URL and the key, or the exit code when one is missing. */
type Connection =
  | { readonly kind: "connection"; readonly url: string; readonly key: string }
  | { readonly kind: "done"; readonly exitCode: number };

/** Reads the service's URL and the key from flags and environment. */
export async function readConnection(
  values: {
    readonly url?: string | undefined;
    readonly keyFile?: string | undefined;
  },
  { io, command }: {
    readonly io: Pick<CliIo, "out" | "err" | "readVariable" | "readText">;
    readonly command: CommandShape;
  },
): Promise<Connection> {
  const url = values.url ?? io.readVariable("TASKS_URL") ?? "";
  if (url === "") {
    const fault = "Cannot find the service: set TASKS_URL or use --url";
    return wrongArguments(fault, { io, command });
  }
  const { keyFile } = values;
  let text = io.readVariable("TASKS_KEY");
  if (keyFile !== undefined) {
    try {
      text = await io.readText(keyFile);
    } catch (error) {
      io.err(`Cannot read key file ${quote(keyFile)}: ${describeError(error)}`);
      return { kind: "done", exitCode: 1 };
    }
  }
  const key = text?.trim() ?? "";
  if (key !== "") return { kind: "connection", url, key };
  const fault = "Cannot authenticate: set TASKS_KEY or use --key-file; there " +
    "is no flag for the key itself, because others on this machine can see " +
    "arguments";
  return wrongArguments(fault, { io, command });
}

/** A client, or the exit code when its URL or key is missing or wrong. */
type Connected =
  | { readonly kind: "client"; readonly tasks: TasksClient }
  | { readonly kind: "done"; readonly exitCode: number };

/** Makes a client of the service that flags or the environment name. */
export async function connect(
  values: Parameters<typeof readConnection>[0],
  { io, command }: { readonly io: CliIo; readonly command: CommandShape },
): Promise<Connected> {
  const read = await readConnection(values, { io, command });
  if (read.kind === "done") return read;
  const { url, key } = read;
  try {
    const tasks = new TasksClient({
      ...{ url, key },
      fetch: io.fetch ?? fetchLocally,
    });
    return { kind: "client", tasks };
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    return wrongArguments(error.message, { io, command });
  }
}

/**
 * Runs a request; on a {@linkcode TasksError} writes why it failed and returns
 * 1.
 */
export async function asking(
  io: CommandIo,
  ask: () => Promise<number>,
): Promise<number> {
  try {
    return await ask();
  } catch (error) {
    io.progress?.("");
    if (!(error instanceof TasksError)) throw error;
    io.err(error.message);
    for (const { pointer, parameter, detail } of error.faults.slice(1)) {
      io.err(`  ${detail} (${pointer ?? parameter})`);
    }
    return 1;
  }
}

/**
 * Makes a file that its owner alone may read.
 *
 * @throws {Error} When there is a file already.
 */
export async function writeSecretFile(
  path: string,
  text: string,
): Promise<void> {
  await Deno.writeTextFile(path, text, { createNew: true, mode: 0o600 });
}

/** Reads standard input to its end. */
export async function readStandardInput(): Promise<string> {
  return await new Response(Deno.stdin.readable).text();
}

/** Asks a person; gives undefined without a terminal. */
export function askAtTerminal(question: string): Promise<boolean | undefined> {
  return Promise.resolve(
    Deno.stdin.isTerminal() ? confirm(question) : undefined,
  );
}
