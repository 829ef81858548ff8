/**
 * The command `tasks tenant create`, which creates a tenant over HTTP: the
 * running service alone writes to its store.
 *
 * @module
 */

import {
  type CommandIo,
  readCommand,
  wrongArguments,
} from "../../shared/command_line.ts";
import { switchOption, textOption } from "../../shared/options.ts";
import { quote } from "../../shared/quote.ts";
import { parseJsonObject } from "../access/bounded_fetch.ts";
import { type CallService, readTarget } from "./service_call.ts";

const FLAGS = {
  url: textOption({
    default: "http://accounts.localhost:8070",
    help: "Address of the accounts host of the service.",
  }),
  token: textOption({
    help: "Token that may create tenants. Prefer --token-file, because " +
      "others on this machine can see arguments.",
  }),
  tokenFile: textOption({ help: "File with the token." }),
  json: switchOption({ help: "Write the answer as JSON." }),
} as const;

const COMMAND = {
  usage: "tasks tenant create DOMAIN",
  about: "Creates a tenant and shows its owner's key once. Exit codes: 0 " +
    "success, 1 failure, 2 invalid arguments.",
  positionals: 2,
} as const;

/** Options of {@linkcode runTenant}. */
interface RunTenantOptions {
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
 * @returns 0 when the tenant is created, 1 when it is not, 2 when the arguments
 * are wrong.
 */
export async function runTenant(
  args: readonly string[],
  { io, call, readText }: RunTenantOptions,
): Promise<number> {
  const read = readCommand(FLAGS, { args, io, command: COMMAND });
  if (read.kind === "done") return read.exitCode;
  const { values, positionals: [verb = "", domain = ""] } = read;
  const fail = (problem: string): number =>
    wrongArguments(problem, { io, command: COMMAND }).exitCode;
  if (verb !== "create") {
    return fail(`Cannot run ${quote(verb)}: "create" is all there is`);
  }
  const target = await readTarget(values, readText);
  if (target.kind === "wrong") return fail(target.problem);
  if (target.kind === "failed") {
    io.err(target.problem);
    return 1;
  }
  const { url, token } = target;
  const outcome = await call({ url, body: { domain }, token });
  if (outcome.kind === "failed") {
    io.err(`Cannot reach ${url.origin}: ${outcome.reason}`);
    return 1;
  }
  const answer = parseJsonObject(outcome.text);
  if (outcome.status !== 201) {
    const detail = answer?.detail;
    io.err(
      typeof detail === "string"
        ? detail
        : `Cannot create tenant: ${url.origin} answered ${outcome.status}`,
    );
    return 1;
  }
  io.out(values.json ? outcome.text : describe(answer ?? {}));
  return 0;
}

function describe(tenant: Readonly<Record<string, unknown>>): string {
  const lines = [
    ["domain", tenant.domain],
    ["address", tenant.url],
    ["plan", tenant.plan],
    ["owner key", tenant.owner_key],
  ].map(([name, value]) => `${String(name).padEnd(10)} ${String(value)}`);
  return `${lines.join("\n")}\n\nKeep the key now: it is not shown again.`;
}
