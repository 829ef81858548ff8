/**
 * The commands `relayer ledger check`, which verifies the embedded ledger's
 * file, and `relayer ledger add-key-server`. Both work beside a running
 * service.
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
import { checkLedger, type CheckOutcome } from "../ledger/ledger_check.ts";
import { readKeyServer } from "../ledger/key_server_input.ts";
import { LedgerBrokenError } from "../ledger/ledger_replica.ts";
import type { ChangeLedger, LedgerCommandOptions } from "./on_ledger.ts";

const FLAGS = {
  head: textOption({
    help: "check: a hash that an earlier check printed, 64 hexadecimal " +
      "digits.",
  }),
  name: textOption({
    default: "",
    help: "add-key-server: its name.",
  }),
  url: textOption({ help: "add-key-server: its address." }),
  publicKey: textOption({
    help: "add-key-server: its public key, 192 hexadecimal digits.",
  }),
  json: switchOption({ help: "Write the outcome as JSON." }),
} as const;

const COMMAND = {
  usage: "relayer ledger check|add-key-server",
  about: "check verifies every entry of the ledger in DATA_DIR, or with " +
    "STORE=postgres in the database, and the accounts that follow from them. It prints the last entry's hash, and with --head " +
    "whether the log contains that hash. add-key-server registers a key " +
    "server for the ledger's clients, by --url and --public-key. Without a " +
    "command the ledger is served at HOST and PORT. Exit codes: 0 success, 1 " +
    "failed check or failure, 2 invalid arguments.",
  positionals: 1,
} as const;

/**
 * Runs the command.
 *
 * @returns 0 when the check passes or the key server is added, 1 when the check
 * fails, 2 when the arguments are wrong.
 */
export async function runLedger(
  args: readonly string[],
  options: LedgerCommandOptions,
): Promise<number> {
  const { io } = options;
  const read = readCommand(FLAGS, { args, io, command: COMMAND });
  if (read.kind === "done") return read.exitCode;
  const { values, positionals: [verb = ""] } = read;
  const wrong = (fault: string): number =>
    wrongArguments(fault, { io, command: COMMAND }).exitCode;
  if (verb === "check") {
    if (values.head !== undefined && !/^[0-9a-f]{64}$/.test(values.head)) {
      return wrong("Cannot check: --head is not 64 hexadecimal digits");
    }
    return await options.withLedger((change) =>
      check(change, { io, head: values.head, isJson: values.json })
    );
  }
  if (verb !== "add-key-server") {
    return wrong(`Cannot run ${quote(verb)}: there is no such command`);
  }
  const { name, url = "", publicKey = "" } = values;
  const server = await readKeyServer({ name, url, publicKey });
  if (server.kind === "invalid") return wrong(server.reason);
  return await options.withLedger(async (change) => {
    const objectId = await change((ledger) =>
      ledger.addKeyServer(server.server)
    );
    io.out(values.json ? JSON.stringify({ object_id: objectId }) : objectId);
    return 0;
  });
}

async function check(
  change: ChangeLedger,
  { io, head, isJson }: {
    readonly io: CommandIo;
    readonly head: string | undefined;
    readonly isJson: boolean;
  },
): Promise<number> {
  const outcome = await checkAll(change, head);
  if (isJson) io.out(JSON.stringify(outcome));
  if (outcome.kind === "broken") {
    const { sequence, reason } = outcome;
    const where = sequence === 0 ? "rows" : `entry ${sequence}`;
    if (!isJson) io.err(`Cannot trust the ledger: ${where}: ${reason}`);
    return 1;
  }
  if (!isJson) {
    io.out([
      `entries   ${outcome.entries}`,
      `accounts  ${outcome.accounts}`,
      `head      ${outcome.head}`,
    ].join("\n"));
  }
  return 0;
}

/** Checks the ledger; one that does not even open is broken as well. */
async function checkAll(
  change: ChangeLedger,
  head: string | undefined,
): Promise<CheckOutcome> {
  try {
    // One state, whatever a running service writes meanwhile.
    return await change((ledger) =>
      ledger.inOneState(() => checkLedger(ledger, { head }))
    );
  } catch (error) {
    if (!(error instanceof LedgerBrokenError)) throw error;
    const { sequence, reason } = error;
    return { kind: "broken", sequence, reason };
  }
}
