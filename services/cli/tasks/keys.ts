/**
 * `tercet tasks keys`: lists, creates, rotates and removes API keys of a
 * tenant.
 *
 * @module
 */

import type { ApiKey, NewApiKey, TasksClient } from "../../../sdk/tasks.ts";
import {
  type CommandShape,
  readCommand,
  wrongArguments,
} from "../../shared/command_line.ts";
import {
  calendarDurationOption,
  choiceOption,
  repeatedOption,
  textOption,
} from "../../shared/options.ts";
import { quote } from "../../shared/quote.ts";
import { asking, type CliIo, connect, CONNECTION } from "./connection.ts";
import { formatTable, shownTime } from "./table.ts";

const FLAGS = {
  ...CONNECTION,
  name: textOption({ help: "The name of a new key." }),
  role: choiceOption({
    values: {
      viewer: "viewer",
      member: "member",
      admin: "admin",
      owner: "owner",
    },
    help: "The role of a new key; this or --scope.",
  }),
  scope: repeatedOption({
    help: "A scope of a new key, such as tasks:write.",
  }),
  expires: textOption({ help: "The time when a new key expires, RFC 3339." }),
  overlap: calendarDurationOption({
    help: "How long the old key stays valid after a rotation.",
  }),
} as const;

const COMMAND: CommandShape = {
  usage: "tercet tasks keys list | create | rotate ID | remove ID",
  about:
    "Manages API keys. A new key is shown once. Exit codes: 0 success, 1 " +
    "refused or no answer, 2 invalid arguments.",
  positionals: 2,
  leastPositionals: 1,
};

/** Runs the command; returns the exit code. */
export async function runKeys(
  args: readonly string[],
  io: CliIo,
): Promise<number> {
  const read = readCommand(FLAGS, { args, io, command: COMMAND });
  if (read.kind === "done") return read.exitCode;
  const { values, positionals: [verb = "", id] } = read;
  const needsId = verb === "rotate" || verb === "remove";
  const fault = !["list", "create", "rotate", "remove"].includes(verb)
    ? `Cannot run ${quote(verb)}: there is no such command`
    : needsId !== (id !== undefined)
    ? `Cannot ${verb} keys: ${needsId ? "the id is missing" : "it takes no id"}`
    : undefined;
  if (fault !== undefined) {
    return wrongArguments(fault, { io, command: COMMAND }).exitCode;
  }
  const connected = await connect(values, { io, command: COMMAND });
  if (connected.kind === "done") return connected.exitCode;
  const { tasks: { keys } } = connected;
  return await asking(io, async () => {
    switch (verb) {
      case "list":
        return await listKeys(keys, { io, json: values.json });
      case "remove":
        await keys.remove(id!);
        io.out(values.json ? JSON.stringify({ id }) : `${id} removed`);
        return 0;
      default: {
        const made = verb === "create"
          ? await keys.create(newKey(values))
          : await keys.rotate(id!, {
            overlap: values.overlap,
          });
        io.out(
          values.json
            ? JSON.stringify(made)
            : `${made.key}\n\nKeep the key now: it is not shown again.`,
        );
        return 0;
      }
    }
  });
}

function newKey({ name, role, scope, expires }: {
  readonly name?: string | undefined;
  readonly role?: NewApiKey["role"];
  readonly scope: readonly string[];
  readonly expires?: string | undefined;
}): NewApiKey {
  return {
    name,
    ...(scope.length === 0
      ? { role: role ?? "member" }
      // Not checked here: the service refuses unknown scopes.
      : { role, scopes: scope as NonNullable<NewApiKey["scopes"]> }),
    expires_at: expires,
  };
}

async function listKeys(
  keys: TasksClient["keys"],
  { io, json }: { readonly io: CliIo; readonly json: boolean },
): Promise<number> {
  const rows: (readonly string[])[] = [];
  for await (const key of keys.list()) {
    if (json) io.out(JSON.stringify(key));
    else rows.push(toRow(key));
  }
  if (!json) {
    io.out(formatTable(["ID", "NAME", "MAY", "EXPIRES", "LAST USED"], rows));
  }
  return 0;
}

function toRow(key: ApiKey): readonly string[] {
  return [
    key.id,
    key.name,
    key.role ?? key.scopes?.join(" ") ?? "",
    shownTime(key.expires_at) || "never",
    shownTime(key.last_used_at) || "never",
  ];
}
