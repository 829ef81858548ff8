/**
 * The relayer's program: `relayer` runs the service, its commands manage
 * accounts, the ledger and the vault.
 *
 * @module
 */

import { randomBytes } from "node:crypto";
import { systemClock } from "../shared/clock.ts";
import { openDataFolder } from "../shared/data_folder.ts";
import { trustedProxiesOf } from "../shared/http/client_address.ts";
import { type CommandIo, processIo } from "../shared/command_line.ts";
import { type ProgramIo, runProgram } from "../shared/program.ts";
import { createLogger, type Logger } from "../shared/logger.ts";
import { describeError } from "../shared/settled.ts";
import { processSignals } from "../shared/lifecycle.ts";
import { stderrWriter } from "../shared/stderr_writer.ts";
import { openTracing } from "../shared/telemetry/open_tracing.ts";
import { startSettings } from "../shared/telemetry/start_settings.ts";
import { VERSION } from "../shared/version.ts";
import { serviceCredentialFault } from "./auth/owner_tokens.ts";
import type { runAccount } from "./cli/account.ts";
import type { OpenRpc } from "./ledger/embedded_rpc.ts";
import {
  LEDGER_FILE,
  type RelayerSettings,
  relayerSettings,
} from "./settings.ts";
import { parseMasterKeys } from "../shared/master_keys.ts";

/**
 * Runs the command that the arguments name; without arguments, the relayer
 * service.
 *
 * @returns The exit code.
 */
export function run(args: readonly string[], io: ProgramIo): Promise<number> {
  return runProgram({
    name: "relayer",
    about: "remembers text for accounts, encrypted, and finds it again",
    settings: relayerSettings,
    serve: () => runService(io),
    commands: [{
      name: "account",
      about: "make accounts, and say whose keys may use them",
      async run(rest) {
        const { runAccount } = await import("./cli/account.ts");
        return await runOnLedger(rest, { io, run: runAccount });
      },
    }, {
      name: "ledger",
      about: "alone: serve accounts and transactions for several relayers; " +
        "check the ledger, or enter key servers",
      async run(rest) {
        if (rest.length === 0) return await runService(io, serveLedgerWith);
        const { runLedger } = await import("./cli/ledger.ts");
        return await runOnLedger(rest, { io, run: runLedger });
      },
    }, {
      name: "vault",
      about: "put memories behind key servers; renew the key of receipts",
      async run(rest) {
        const { runVault } = await import("./cli/vault.ts");
        return await runVault(rest, dataTools(io));
      },
    }],
    examples: [
      "DATA_DIR=/var/lib/relayer relayer",
      "relayer account create --public-key PUBLIC_KEY --json",
      "relayer ledger check",
    ],
  }, { args, io });
}

/** Tools of the commands that open the data folder as the service does. */
function dataTools(io: CommandIo) {
  return {
    io,
    withSettings: (
      run: (settings: RelayerSettings) => Promise<number>,
    ): Promise<number> => runService(io, run),
    clock: systemClock,
    logger: loggerOf,
    signals: processSignals,
  };
}

/** Runs a command on the embedded ledger's file in the data folder. */
async function runOnLedger(
  args: readonly string[],
  { io, run }: { readonly io: CommandIo; readonly run: typeof runAccount },
): Promise<number> {
  const dataDir = Deno.env.get("DATA_DIR") || "relayer-data";
  try {
    // `ledger check` only reads, so the folder need not be writable; commands
    // that write report it themselves when they cannot.
    await openDataFolder(dataDir, {
      service: "relayer",
      mustBeWritable: false,
    });
    return await run(args, {
      io,
      ledgerPath: `${dataDir}/${LEDGER_FILE}`,
      packageId: Deno.env.get("LEDGER_PACKAGE_ID") || undefined,
      clock: systemClock,
    });
  } catch (error) {
    io.err(describeError(error));
    return 1;
  }
}

/**
 * Serves with these settings until the process is told to stop; resolves with
 * the exit code.
 */
type ServeWith = (settings: RelayerSettings, io: CommandIo) => Promise<number>;

async function runService(
  io: CommandIo,
  run: ServeWith = serveWith,
): Promise<number> {
  const settings = await startSettings(relayerSettings, {
    readVariable: (name) => Deno.env.get(name),
    allVariables: () => Deno.env.toObject(),
    io,
    readText: Deno.readTextFile,
    faultsOf: settingFaults,
  });
  if (settings === undefined) return 1;
  try {
    return await run(settings, io);
  } catch (error) {
    io.err(describeError(error));
    return 1;
  }
}

async function serveWith(
  settings: RelayerSettings,
  io: CommandIo,
): Promise<number> {
  const logger = loggerOf(settings);
  const tracing = await openTracing(settings, {
    defaultServiceName: relayerSettings.tracingServiceName.fallback,
    clock: systemClock,
    logger,
    readText: Deno.readTextFile,
  });
  if (tracing.kind === "invalid") {
    for (const problem of tracing.problems) io.err(problem);
    return 1;
  }
  await openDataFolder(settings.dataDir, { service: "relayer" });
  const { serve } = await import("./serve.ts");
  const outcome = await serve(settings, {
    version: VERSION,
    randomBytes,
    random: Math.random,
    clock: systemClock,
    logger,
    traces: tracing.kind === "on" ? tracing.open : undefined,
    signals: processSignals,
    loadRpc,
  });
  return outcome.exitCode;
}

/**
 * Loads what answers JSON-RPC over the embedded ledger, which is a room of its
 * own: nothing else of the relayer names it.
 */
async function loadRpc(): Promise<OpenRpc> {
  const { openRpc } = await import("../localnet/json_rpc.ts");
  return openRpc;
}

function loggerOf({ logFormat, logLevel }: RelayerSettings): Logger {
  return createLogger({
    format: logFormat,
    level: logLevel,
    clock: systemClock,
    write: stderrWriter(),
  });
}

async function serveLedgerWith(settings: RelayerSettings): Promise<number> {
  const logger = loggerOf(settings);
  await openDataFolder(settings.dataDir, { service: "relayer" });
  const { serveLedger } = await import("./serve_ledger.ts");
  const { exitCode } = await serveLedger(settings, {
    version: VERSION,
    clock: systemClock,
    logger,
    signals: processSignals,
    openRpc: await loadRpc(),
  });
  return exitCode;
}

/** Returns all faults of the settings as a whole, one sentence each. */
function settingFaults(settings: RelayerSettings): readonly string[] {
  const faults: string[] = [];
  const { ledgerRpcUrl, ledgerPackageId, publisherUrl, aggregatorUrls } =
    settings;
  if (ledgerRpcUrl !== "" && ledgerPackageId === "") {
    faults.push(
      "Cannot read accounts of LEDGER_RPC_URL: LEDGER_PACKAGE_ID must say " +
        "whose accounts count",
    );
  }
  const { keyServers, keyServerThreshold } = settings;
  if (keyServerThreshold > keyServers.length) {
    faults.push(
      `Cannot tell of a threshold of ${keyServerThreshold} ` +
        `(KEY_SERVER_THRESHOLD): KEY_SERVERS names ${keyServers.length}`,
    );
  }
  if (settings.vault === "key-servers" && keyServers.length === 0) {
    faults.push(
      "Cannot keep memories behind key servers (VAULT): KEY_SERVERS names none",
    );
  }
  if (
    settings.vault === "key-servers" && ledgerRpcUrl !== "" &&
    settings.ledgerRegistryId === ""
  ) {
    faults.push(
      "Cannot keep memories behind key servers (VAULT): LEDGER_REGISTRY_ID has to " +
        "name the registry, which owners' accounts are found by",
    );
  }
  if ((publisherUrl === "") !== (aggregatorUrls.length === 0)) {
    faults.push(
      "Cannot keep blobs elsewhere: BLOB_PUBLISHER_URL and " +
        "BLOB_AGGREGATOR_URLS go together",
    );
  }
  const urls: readonly (readonly [string, string])[] = [
    ["LEDGER_RPC_URL", ledgerRpcUrl],
    ["BLOB_PUBLISHER_URL", publisherUrl],
    ["PUBLIC_URL", settings.publicUrl],
    ["EMBEDDING_API_BASE", settings.embeddingUrl],
    ["CHAT_API_BASE", settings.chatUrl],
    ...aggregatorUrls.map((url) => ["BLOB_AGGREGATOR_URLS", url] as const),
  ];
  for (const [name, url] of urls) {
    if (url !== "" && !isHttpUrl(url)) {
      faults.push(`Cannot use ${name} "${url}": it is no http or https URL`);
    }
  }
  if (settings.masterKeys !== "") {
    const outcome = parseMasterKeys(settings.masterKeys);
    if (outcome.kind === "invalid") {
      faults.push(`${outcome.reason} (MASTER_KEYS)`);
    }
  }
  trustedProxiesOf(settings.trustedProxies, faults);
  if (settings.ledgerCredential !== "") {
    const fault = serviceCredentialFault(settings.ledgerCredential);
    if (fault !== undefined) faults.push(`${fault} (LEDGER_CREDENTIAL)`);
  }
  if (settings.serviceCredential !== "") {
    const fault = serviceCredentialFault(settings.serviceCredential);
    if (fault !== undefined) faults.push(`${fault} (SERVICE_CREDENTIAL)`);
  }
  return faults;
}

function isHttpUrl(text: string): boolean {
  const url = URL.parse(text);
  return url !== null &&
    (url.protocol === "http:" || url.protocol === "https:");
}

if (import.meta.main) Deno.exit(await run(Deno.args, processIo()));
