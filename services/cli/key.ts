/**
 * `tercet key new`: makes a key pair for a delegate of an account.
 *
 * @module
 */

import { generateDelegateKey } from "../../sdk/account.ts";
import {
  type CommandIo,
  readCommand,
  wrongArguments,
} from "../shared/command_line.ts";
import { switchOption } from "../shared/options.ts";
import { quote } from "../shared/quote.ts";

const FLAGS = {
  json: switchOption({ help: "Write both keys as JSON." }),
} as const;

const COMMAND = {
  usage: "tercet key new",
  about:
    "Creates a key pair and stores it nowhere. The private key is for the " +
    "SDK and secret. Pass the public key to relayer account create " +
    "--public-key. Exit codes: 0 success, 2 invalid arguments.",
  positionals: 1,
} as const;

/** Runs the command; returns the exit code. */
export async function runKey(
  args: readonly string[],
  io: CommandIo,
): Promise<number> {
  const read = readCommand(FLAGS, { args, io, command: COMMAND });
  if (read.kind === "done") return read.exitCode;
  const [verb = ""] = read.positionals;
  if (verb !== "new") {
    const fault = `Cannot run ${quote(verb)}: there is no such command`;
    return wrongArguments(fault, { io, command: COMMAND }).exitCode;
  }
  const { privateKey, publicKey, suiAddress } = await generateDelegateKey();
  const shown = {
    privateKey,
    publicKey: publicKey.toHex(),
    address: suiAddress,
  };
  io.out(
    read.values.json
      ? JSON.stringify(shown)
      : `private key  ${shown.privateKey}\n` +
        `public key   ${shown.publicKey}\naddress      ${shown.address}`,
  );
  return 0;
}
