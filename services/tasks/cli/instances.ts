/**
 * The command `tasks instances`, which asks the running service for its
 * instances.
 *
 * @module
 */

import {
  type CommandIo,
  readCommand,
  wrongArguments,
} from "../../shared/command_line.ts";
import { switchOption, textOption } from "../../shared/options.ts";
import { isJsonObject } from "../../shared/schema/schema.ts";
import { parseJsonObject } from "../access/bounded_fetch.ts";
import { type CallService, readTarget } from "./service_call.ts";

const FLAGS = {
  url: textOption({
    default: "http://accounts.admin.localhost:8070",
    help: "Address of the operator's host of the service.",
  }),
  token: textOption({
    help: "The operator's token. Prefer --token-file, because others on this " +
      "machine can see arguments.",
  }),
  tokenFile: textOption({ help: "File with the token." }),
  json: switchOption({ help: "Write the answer as JSON." }),
} as const;

const COMMAND = {
  usage: "tasks instances",
  about: "Lists the running instances of the service. Exit codes: 0 success, " +
    "1 failure, 2 invalid arguments.",
  positionals: 0,
} as const;

/** Options of {@linkcode runInstances}. */
interface RunInstancesOptions {
  /** Where the command writes to. */
  readonly io: CommandIo;
  /** Sends the request. */
  readonly call: CallService;
  /** Reads the file that has the token. */
  readonly readText: (path: string) => Promise<string>;
}

/**
 * Runs the command.
 *
 * @returns 0 when the instances are listed, 1 when they are not, 2 when the
 * arguments are wrong.
 */
export async function runInstances(
  args: readonly string[],
  { io, call, readText }: RunInstancesOptions,
): Promise<number> {
  const read = readCommand(FLAGS, { args, io, command: COMMAND });
  if (read.kind === "done") return read.exitCode;
  const target = await readTarget(read.values, readText);
  if (target.kind === "wrong") {
    return wrongArguments(target.problem, { io, command: COMMAND }).exitCode;
  }
  if (target.kind === "failed") {
    io.err(target.problem);
    return 1;
  }
  const { url, token } = target;
  const outcome = await call({ url: new URL("/v1/instances", url), token });
  if (outcome.kind === "failed") {
    io.err(`Cannot reach ${url.origin}: ${outcome.reason}`);
    return 1;
  }
  const answer = parseJsonObject(outcome.text);
  const { data, detail } = answer ?? {};
  if (outcome.status !== 200 || !Array.isArray(data)) {
    io.err(
      typeof detail === "string"
        ? detail
        : `Cannot list instances: ${url.origin} answered ${outcome.status}`,
    );
    return 1;
  }
  io.out(read.values.json ? outcome.text : describe(data));
  return 0;
}

/** A table of the instances. */
function describe(instances: readonly unknown[]): string {
  const rows = instances.filter(isJsonObject).map((instance) => [
    `${instance.id}${instance.is_answering === true ? " *" : ""}`,
    String(instance.version),
    String(instance.address),
    String(instance.joined_at),
    String(instance.seen_at),
    Array.isArray(instance.duties) ? instance.duties.join(" ") : "",
  ]);
  const table = [
    ["instance", "version", "address", "joined", "seen", "duties"],
    ...rows,
  ];
  const widths = table[0]!.map((_, column) =>
    Math.max(...table.map((row) => row[column]!.length))
  );
  return table.map((row) =>
    row.map((cell, column) => cell.padEnd(widths[column]!)).join("  ").trimEnd()
  ).join("\n") + "\n\n* answers";
}
