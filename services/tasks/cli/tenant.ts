/**
 * `tasks tenant create`: makes a tenant of a running service, whose store is its
 * own; so it asks over HTTP as anybody would.
 *
 * @module
 */

import type { CommandIo } from "../../shared/command_io.ts";
import { switchFlag, textFlag } from "../../shared/flags.ts";
import { quote } from "../../shared/quote.ts";
import { readCommand, wrongArguments } from "../../shared/read_command.ts";
import { describeError } from "../../shared/settled.ts";
import type { PostJson } from "./post_json.ts";

const FLAGS = {
  url: textFlag({
    default: "http://accounts.localhost:8070",
    help: "Address of the accounts host of the service.",
  }),
  token: textFlag({
    help: "Token that may create tenants; others on this machine can see it, " +
      "--token-file is better.",
  }),
  tokenFile: textFlag({ help: "File that holds the token." }),
  json: switchFlag({ help: "Write the answer as JSON." }),
} as const;

const COMMAND = {
  usage: "tasks tenant create DOMAIN",
  about: "Creates a tenant and shows the key of its owner, which nothing " +
    "shows again. Exits with 0 when it is made, 1 when it is not, 2 for wrong " +
    "arguments.",
  positionals: 2,
} as const;

/** Options of {@linkcode runTenant}. */
export interface RunTenantOptions {
  /** Where the command writes to. */
  readonly io: CommandIo;
  /** Sends the request. */
  readonly post: PostJson;
  /** Reads the file of the token. */
  readonly readText: (path: string) => Promise<string>;
}

/**
 * Runs the command.
 *
 * @returns 0 when the tenant is made, 1 when it is not, 2 when the arguments are
 * wrong.
 */
export async function runTenant(
  args: readonly string[],
  { io, post, readText }: RunTenantOptions,
): Promise<number> {
  const read = readCommand(FLAGS, { args, io, command: COMMAND });
  if (read.kind === "done") return read.exitCode;
  const { values, positionals: [verb = "", domain = ""] } = read;
  const fail = (problem: string): number =>
    wrongArguments(problem, { io, command: COMMAND }).exitCode;
  if (verb !== "create") {
    return fail(`Cannot run ${quote(verb)}: "create" is all there is`);
  }
  const url = URL.parse(values.url);
  if (url === null || !/^https?:$/.test(url.protocol)) {
    return fail(
      `Cannot use address ${quote(values.url)}: it is no http or https URL`,
    );
  }
  let { token } = values;
  if (values.tokenFile !== undefined) {
    if (token !== undefined) {
      return fail("Cannot take both --token and --token-file: one is enough");
    }
    try {
      token = (await readText(values.tokenFile)).trim();
    } catch (error) {
      io.err(
        `Cannot read token file ${quote(values.tokenFile)}: ${
          describeError(error)
        }`,
      );
      return 1;
    }
  }
  const outcome = await post({ url, body: { domain }, token });
  if (outcome.kind === "failed") {
    io.err(`Cannot reach ${url.origin}: ${outcome.reason}`);
    return 1;
  }
  const answer = parseObject(outcome.text);
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

function parseObject(
  text: string,
): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null
      ? { ...value }
      : undefined;
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    return undefined;
  }
}
