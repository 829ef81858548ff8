/**
 * `tercet tasks workers`: lists, creates and removes workers of a tenant, and
 * creates credentials for their processes.
 *
 * @module
 */

import { type TasksClient, TasksError } from "../../../sdk/tasks.ts";
import {
  type CommandShape,
  readCommand,
  wrongArguments,
} from "../../shared/command_line.ts";
import {
  integerOption,
  switchOption,
  textOption,
} from "../../shared/options.ts";
import { quote } from "../../shared/quote.ts";
import { describeError, settle } from "../../shared/settled.ts";
import { asking, type CliIo, connect, CONNECTION } from "./connection.ts";
import { buildRetain, RETAIN_FLAGS } from "./create.ts";
import { formatLines, formatTable, shownTime } from "./table.ts";

const FLAGS = {
  ...CONNECTION,
  callUrl: textOption({
    help: "Address of a new push worker; without it the worker pulls tasks.",
  }),
  concurrency: integerOption({
    ...{ min: 0, max: 1_000_000 },
    help: "Maximum number of running tasks of a new worker; 0 for no limit.",
  }),
  ...RETAIN_FLAGS,
  name: textOption({ help: "The name of a new credential." }),
  file: textOption({
    help:
      "File for a credential. An existing file is kept, and no credential is " +
      "created.",
  }),
  ifMissing: switchOption({
    help: "Keep an existing worker, and set the given values.",
  }),
  cancelTasks: switchOption({
    help: "Cancel the live tasks of a removed worker.",
  }),
} as const;

const COMMAND: CommandShape = {
  usage:
    "tercet tasks workers list | create NAME | credential NAME | remove NAME",
  about: "Manages workers. Credentials, with which tercet-worker takes " +
    "tasks, are shown once, and so is the secret that signs the calls of a " +
    "new worker. Exit codes: 0 success, 1 refused or no answer, 2 invalid " +
    "arguments.",
  positionals: 2,
  leastPositionals: 1,
};

const VERBS: readonly string[] = ["list", "create", "credential", "remove"];

/** Runs the command; returns the exit code. */
export async function runWorkers(
  args: readonly string[],
  io: CliIo,
): Promise<number> {
  const read = readCommand(FLAGS, { args, io, command: COMMAND });
  if (read.kind === "done") return read.exitCode;
  const { values, positionals: [verb = "", name] } = read;
  const fault = !VERBS.includes(verb)
    ? `Cannot run ${quote(verb)}: there is no such command`
    : (verb === "list") === (name !== undefined)
    ? `Cannot ${verb}: ${
      name === undefined ? "the name is missing" : "it takes no name"
    }`
    : undefined;
  if (fault !== undefined) {
    return wrongArguments(fault, { io, command: COMMAND }).exitCode;
  }
  const connected = await connect(values, { io, command: COMMAND });
  if (connected.kind === "done") return connected.exitCode;
  const { tasks: { workers } } = connected;
  const { json } = values;
  return await asking(io, async () => {
    switch (verb) {
      case "list":
        return await listWorkers(workers, { io, json });
      case "create": {
        const worker = {
          name: name!,
          url: values.callUrl,
          concurrency: values.concurrency,
          retain: buildRetain(values),
        };
        const made = values.ifMissing
          ? await workers.ensure(worker)
          : await workers.create(worker);
        io.out(
          json ? JSON.stringify(made) : formatLines([
            ["id", made.id],
            ["name", made.name],
            ["kind", made.kind],
            ["signing secret", made.signing_secret ?? ""],
          ]),
        );
        return 0;
      }
      case "credential": {
        const { file } = values;
        if (file !== undefined) {
          const options = { name: values.name, file, io, json };
          return await keepCredential(name!, { workers, ...options });
        }
        const made = await workers.createCredential(name!, {
          name: values.name,
        });
        io.out(
          json
            ? JSON.stringify(made)
            : `${made.secret}\n\nKeep it now: it is not shown again.`,
        );
        return 0;
      }
      default:
        await workers.remove(name!, { cancelsTasks: values.cancelTasks });
        io.out(json ? JSON.stringify({ name }) : `${name} removed`);
        return 0;
    }
  });
}

/** Makes a credential unless the file has one. */
async function keepCredential(
  worker: string,
  { workers, name, file, io, json }: {
    readonly workers: TasksClient["workers"];
    readonly name: string | undefined;
    readonly file: string;
    readonly io: CliIo;
    readonly json: boolean;
  },
): Promise<number> {
  try {
    await workers.ensureCredential(worker, {
      name,
      async load() {
        const read = await settle(() => io.readText(file));
        if (read.kind === "ok") return read.value;
        if (read.error instanceof Deno.errors.NotFound) return undefined;
        throw read.error;
      },
      save: (secret) => io.writeSecret(file, `${secret}\n`),
    });
  } catch (error) {
    if (error instanceof TasksError) throw error;
    io.err(
      `Cannot keep the credential in ${quote(file)}: ${describeError(error)}`,
    );
    return 1;
  }
  io.out(json ? JSON.stringify({ file }) : `${file} holds the credential`);
  return 0;
}

async function listWorkers(
  workers: TasksClient["workers"],
  { io, json }: { readonly io: CliIo; readonly json: boolean },
): Promise<number> {
  const rows: (readonly string[])[] = [];
  for await (const worker of workers.list()) {
    if (json) {
      io.out(JSON.stringify(worker));
      continue;
    }
    const { waiting, running, retry, failed } = worker.counts;
    rows.push([
      worker.name,
      worker.kind,
      worker.status,
      ...[waiting, running, retry, failed].map(String),
      shownTime(worker.last_seen_at) || "never",
    ]);
  }
  const titles = ["NAME", "KIND", "STATUS", "WAITING", "RUNNING", "RETRY"];
  if (!json) io.out(formatTable([...titles, "FAILED", "LAST SEEN"], rows));
  return 0;
}
