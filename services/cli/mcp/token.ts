/**
 * `tercet mcp token`: makes an access token for a relayer, without asking it.
 *
 * @module
 */

import { createAccessToken } from "../../../sdk/account.ts";
import {
  type CommandShape,
  readCommand,
  wrongArguments,
} from "../../shared/command_line.ts";
import {
  choiceOption,
  durationOption,
  repeatedOption,
  switchOption,
  textOption,
} from "../../shared/options.ts";
import { quote } from "../../shared/quote.ts";
import { describeError } from "../../shared/settled.ts";
import { KEY_FLAGS, readOwnKey } from "../memory/connection.ts";
import type { CliIo } from "../tasks/connection.ts";

const FLAGS = {
  ...KEY_FLAGS,
  access: choiceOption({
    values: { read: "read", write: "write" },
    default: "read",
    help: "What the token permits; write includes read.",
  }),
  namespace: repeatedOption({
    help: "A namespace that the token is for; may be given several times. " +
      "Default: all.",
  }),
  expires: durationOption({
    default: "30d",
    min: "1s",
    max: "400d",
    help: "How long the token is valid.",
  }),
  file: textOption({
    help:
      "A new file for the token, which its owner alone may read. Default: " +
      "standard output.",
  }),
  json: switchOption({ help: "Write the token and what it says as JSON." }),
} as const;

const COMMAND: CommandShape = {
  usage: "tercet mcp token --account ID",
  about: "Signs an access token with the key of a delegate: for agents, curl " +
    "and programs that send it as Authorization: Bearer. The key never leaves " +
    "this machine, and no request is sent. Removing the delegate's key from " +
    "the account revokes the token. Exit codes: 0 success, 1 a file cannot be " +
    "read or made, 2 invalid arguments.",
};

/** Runs the command; returns the exit code. */
export async function runToken(
  args: readonly string[],
  io: CliIo,
): Promise<number> {
  const read = readCommand(FLAGS, { args, io, command: COMMAND });
  if (read.kind === "done") return read.exitCode;
  const { access, namespace, expires, file, json } = read.values;
  const own = await readOwnKey(read.values, { io, command: COMMAND });
  if (own.kind === "done") return own.exitCode;
  const { key, accountId } = own;
  let made;
  try {
    made = await createAccessToken({
      ...{ key, accountId, access },
      namespaces: namespace.length === 0 ? undefined : namespace,
      expiresInMs: expires,
      clock: io.clock,
    });
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    return wrongArguments(error.message, { io, command: COMMAND }).exitCode;
  }
  const expiresAt = new Date(made.expiresAtMs).toISOString();
  const shown = json
    ? JSON.stringify({
      token: made.token,
      id: made.id,
      account_id: made.accountId,
      public_key: made.publicKey,
      access: made.access,
      namespaces: made.namespaces ?? null,
      expires_at: expiresAt,
    })
    : made.token;
  if (file === undefined) io.out(shown);
  else {
    try {
      await io.writeSecret(file, `${shown}\n`);
    } catch (error) {
      io.err(`Cannot make file ${quote(file)}: ${describeError(error)}`);
      return 1;
    }
  }
  const names = made.namespaces?.map((name) => quote(name)).join(", ");
  io.err(
    `token ${made.id}: ${access}, ${names ?? "all namespaces"}, until ` +
      expiresAt,
  );
  return 0;
}
