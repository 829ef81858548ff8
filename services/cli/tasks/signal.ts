/**
 * `tercet tasks event`, `approve` and `reject`: resume a task that waits for an
 * event or for a person.
 *
 * @module
 */

import {
  type CommandShape,
  readCommand,
  wrongArguments,
} from "../../shared/command_line.ts";
import { integerOption, textOption } from "../../shared/options.ts";
import { asking, type CliIo, connect, CONNECTION } from "./connection.ts";
import { readData } from "./create.ts";

const EVENT_FLAGS = {
  ...CONNECTION,
  data: textOption({
    help: "Data of the event: JSON, @FILE for a file, @- for standard input.",
  }),
  idempotencyKey: textOption({
    help: "Sends the event once, however often the command runs with this key.",
  }),
} as const;

const EVENT: CommandShape = {
  usage: "tercet tasks event ID NAME",
  about: "Sends an event to a task, which goes on if it waits for it; else " +
    "the event is kept for a later wait. Exit codes: 0 sent, 1 refused or no " +
    "answer, 2 invalid arguments.",
  positionals: 2,
};

/** Runs `event`; returns the exit code. */
export async function runEvent(
  args: readonly string[],
  io: CliIo,
): Promise<number> {
  const read = readCommand(EVENT_FLAGS, { args, io, command: EVENT });
  if (read.kind === "done") return read.exitCode;
  const { values, positionals: [id = "", name = ""] } = read;
  const given = await readData(values.data, io);
  if (given.kind === "fault") {
    return wrongArguments(given.fault, { io, command: EVENT }).exitCode;
  }
  const connected = await connect(values, { io, command: EVENT });
  if (connected.kind === "done") return connected.exitCode;
  const { idempotencyKey, json } = values;
  return await asking(io, async () => {
    const event = { name, data: given.value };
    const task = await connected.tasks.sendEvent(id, event, { idempotencyKey });
    io.out(json ? JSON.stringify(task) : `${id} ${task.status}`);
    return 0;
  });
}

const DECIDE_FLAGS = {
  ...CONNECTION,
  comment: textOption({ help: "Why, for the worker and the history." }),
  ifVersion: integerOption({
    min: 1,
    help: "Decides only if the task still has this version.",
  }),
} as const;

/** Runs `approve` or `reject`; returns the exit code. */
export async function runDecide(
  decision: "approve" | "reject",
  { args, io }: { readonly args: readonly string[]; readonly io: CliIo },
): Promise<number> {
  const command: CommandShape = {
    usage: `tercet tasks ${decision} ID`,
    about: `${decision === "approve" ? "Approves" : "Rejects"} what a task ` +
      "waits for; the task goes on with the decision. Exit codes: 0 decided, " +
      "1 refused or no answer, 2 invalid arguments.",
    positionals: 1,
  };
  const read = readCommand(DECIDE_FLAGS, { args, io, command });
  if (read.kind === "done") return read.exitCode;
  const { values, positionals: [id = ""] } = read;
  const { comment, ifVersion, json } = values;
  const connected = await connect(values, { io, command });
  if (connected.kind === "done") return connected.exitCode;
  return await asking(io, async () => {
    const task = await connected.tasks[decision](id, { comment, ifVersion });
    io.out(json ? JSON.stringify(task) : `${id} ${task.status}`);
    return 0;
  });
}
