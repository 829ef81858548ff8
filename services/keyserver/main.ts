/**
 * The key server's program: `keyserver` runs the service, `keyserver key` makes
 * or shows its key.
 *
 * @module
 */

import {
  type CommandIo,
  processIo,
  readCommand,
  wrongArguments,
} from "../shared/command_line.ts";
import { parseTrustedProxies } from "../shared/http/client_address.ts";
import { LOCAL_PACKAGE_ID } from "../shared/ledger/account_contract.ts";
import { switchOption } from "../shared/options.ts";
import { type ProgramIo, runProgram } from "../shared/program.ts";
import { quote } from "../shared/quote.ts";
import {
  openLog,
  runService,
  thisProcess,
  withSettings,
} from "../shared/run_service.ts";
import { VERSION } from "../shared/version.ts";
import type { SecretPlace } from "./secret_file.ts";
import { type KeyServerSettings, keyServerSettings } from "./settings.ts";

const KEY_COMMAND = {
  usage: "keyserver key new|show",
  about: "new creates the secret in DATA_DIR, once. Both commands print the " +
    "object id and the public key, which are not secret. Exit codes: 0 " +
    "success, 1 failure, 2 invalid arguments.",
  positionals: 1,
} as const;

const KEY_FLAGS = {
  json: switchOption({ help: "Write them as JSON." }),
  ifMissing: switchOption({
    help: "With new: keep an existing secret and print its key, for programs " +
      "that run this at each start.",
  }),
} as const;

const SERVICE = { settings: keyServerSettings, findFaults: settingFaults };

const ID = /^0x[0-9a-f]{64}$/;

/**
 * Runs the command that the arguments name; without arguments, the key server.
 *
 * @returns The exit code.
 */
export function run(args: readonly string[], io: ProgramIo): Promise<number> {
  return runProgram({
    name: "keyserver",
    about:
      "keeps one share of the keys to owners' memories, and gives keys to " +
      "authorized callers",
    settings: keyServerSettings,
    serve: () =>
      runService(
        SERVICE,
        thisProcess(io, Deno.env),
        async (settings, tools) => {
          const { addParts } = await import("./serve.ts");
          addParts(settings, {
            ...tools,
            tracing: await tools.openTracing(settings),
            version: VERSION,
            packageId: settings.ledgerPackageId || LOCAL_PACKAGE_ID,
          });
        },
      ),
    commands: [{
      name: "key",
      about: "create the secret once (new), or print its public key (show)",
      run: (rest) => runKey(rest, io),
    }],
    examples: [
      "DATA_DIR=/var/lib/keyserver keyserver key new",
      "keyserver key show --json",
      "LEDGER_RPC_URL=http://127.0.0.1:8000/rpc keyserver",
    ],
  }, { args, io });
}

async function runKey(
  args: readonly string[],
  io: CommandIo,
): Promise<number> {
  const read = readCommand(KEY_FLAGS, { args, io, command: KEY_COMMAND });
  if (read.kind === "done") return read.exitCode;
  const { values, positionals: [verb = ""] } = read;
  const { makeSecret, openSecret } = await import("./secret_file.ts");
  const { json, ifMissing } = values;
  const act = {
    new: (place: SecretPlace) => makeSecret(place, { ifMissing }),
    show: openSecret,
  }[verb];
  if (act === undefined) {
    const fault = `Cannot run ${quote(verb)}: there is no such command`;
    return wrongArguments(fault, { io, command: KEY_COMMAND }).exitCode;
  }
  const process = thisProcess(io, Deno.env);
  return await withSettings(SERVICE, process, async (settings) => {
    const { dataDir, masterKeys } = settings;
    const form = { logFormat: "text", logLevel: "warning" } as const;
    const keys = await act({
      ...{ dataDir, masterKeys },
      logger: openLog(form, process),
    });
    keys.secret.fill(0);
    const shown = {
      objectId: keys.objectId,
      publicKey: keys.publicKey.toHex(),
    };
    io.out(
      json
        ? JSON.stringify(shown)
        : `object id   ${shown.objectId}\npublic key  ${shown.publicKey}`,
    );
    return 0;
  });
}

/** Returns all faults of the settings as a whole, one sentence each. */
function settingFaults(settings: KeyServerSettings): readonly string[] {
  const faults: string[] = [];
  parseTrustedProxies(settings.trustedProxies, faults);
  const { ledgerRpcUrl, ledgerMode, ledgerPackageId, objectId } = settings;
  const url = URL.parse(ledgerRpcUrl);
  if (url?.protocol !== "http:" && url?.protocol !== "https:") {
    faults.push(
      `Cannot use LEDGER_RPC_URL ${quote(ledgerRpcUrl)}: it is not an http ` +
        "or https URL",
    );
  }
  if (ledgerMode === "fullnode" && ledgerPackageId === "") {
    faults.push(
      "Cannot use a full node: LEDGER_PACKAGE_ID is missing",
    );
  }
  const ids: readonly (readonly [string, string])[] = [
    ["LEDGER_PACKAGE_ID", ledgerPackageId],
    ["KEY_SERVER_ID", objectId],
  ];
  for (const [name, id] of ids) {
    if (id !== "" && !ID.test(id)) {
      faults.push(
        `Cannot use ${name} ${quote(id)}: it is not 0x and 64 lower-case ` +
          "hexadecimal digits",
      );
    }
  }
  return faults;
}

if (import.meta.main) Deno.exit(await run(Deno.args, processIo()));
