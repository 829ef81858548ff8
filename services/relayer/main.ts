/**
 * The relayer's program: `relayer` runs the service, its commands manage
 * accounts, the ledger and the vault.
 *
 * @module
 */

import { randomBytes } from "node:crypto";
import { systemClock } from "../shared/clock.ts";
import { openDataFolder } from "../shared/data_folder.ts";
import { parseTrustedProxies } from "../shared/http/client_address.ts";
import { databaseFaults } from "../shared/postgres/connection.ts";
import { type CommandIo, processIo } from "../shared/command_line.ts";
import { type ProgramIo, runProgram } from "../shared/program.ts";
import {
  openLog,
  runService,
  type ServiceTools,
  thisProcess,
  withSettings,
} from "../shared/run_service.ts";
import { describeError } from "../shared/settled.ts";
import { VERSION } from "../shared/version.ts";
import { serviceCredentialFault } from "./auth/owner_tokens.ts";
import { readSettings } from "../shared/settings.ts";
import type { runAccount } from "./cli/account.ts";
import type { TransferOptions } from "./cli/transfer_commands.ts";
import type { OpenRpc } from "./ledger/embedded_rpc.ts";
import {
  LEDGER_FILE,
  type RelayerSettings,
  relayerSettings,
  usesDataFolder,
} from "./settings.ts";
import { parseMasterKeys } from "../shared/master_keys.ts";

const SERVICE = { settings: relayerSettings, findFaults: settingFaults };

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
    serve: () => runService(SERVICE, thisProcess(io, Deno.env), addRelayer),
    commands: [{
      name: "account",
      about: "create accounts, and manage their delegate keys",
      async run(rest) {
        const { runAccount } = await import("./cli/account.ts");
        return await runOnLedger(rest, { io, run: runAccount });
      },
    }, {
      name: "ledger",
      about: "serve accounts and transactions for several relayers; or check " +
        "the ledger, or register key servers",
      async run(rest) {
        if (rest.length === 0) {
          return await runService(
            SERVICE,
            thisProcess(io, Deno.env),
            addLedger,
          );
        }
        const { runLedger } = await import("./cli/ledger.ts");
        return await runOnLedger(rest, { io, run: runLedger });
      },
    }, {
      name: "vault",
      about: "move memories behind key servers; replace the key of receipts",
      async run(rest) {
        const { runVault } = await import("./cli/vault.ts");
        const process = thisProcess(io, Deno.env);
        return await runVault(rest, {
          ...process,
          withSettings: (use) => withSettings(SERVICE, process, use),
          logger: (settings) => openLog(settings, process),
        });
      },
    }, {
      name: "export",
      about: "write all data to a file, for another store",
      async run(rest) {
        const { runExport } = await import("./cli/transfer_commands.ts");
        return await runExport(rest, commandOptions(io));
      },
    }, {
      name: "import",
      about: "read such a file into an empty store",
      async run(rest) {
        const { runImport } = await import("./cli/transfer_commands.ts");
        return await runImport(rest, commandOptions(io));
      },
    }, {
      name: "migrate",
      about: "make the tables on PostgreSQL, or print how",
      async run(rest) {
        const { runMigrate } = await import(
          "../shared/postgres/migrate_command.ts"
        );
        const { migrationPlan: plan } = await import(
          "./store/postgres/migrations.ts"
        );
        const { settings } = commandOptions(io);
        if (settings.kind === "ok") {
          const of = { io, service: "relayer", plan };
          return await runMigrate(rest, { ...of, settings: settings.values });
        }
        for (const problem of settings.problems) io.err(problem);
        return 1;
      },
    }],
    examples: [
      "DATA_DIR=/var/lib/relayer relayer",
      "relayer account create --public-key PUBLIC_KEY --json",
      "relayer ledger check",
    ],
  }, { args, io });
}

/** What commands need that work on all data of a stopped relayer. */
function commandOptions(io: CommandIo): TransferOptions {
  return {
    io,
    settings: readSettings(relayerSettings, (name) => Deno.env.get(name)),
    clock: systemClock,
  };
}

/**
 * Runs a command on the embedded ledger: in the data folder, whatever the other
 * settings are, or in the database that they name.
 */
async function runOnLedger(
  args: readonly string[],
  { io, run }: { readonly io: ProgramIo; readonly run: typeof runAccount },
): Promise<number> {
  const { withLedgerFile, withSettingsLedger } = await import(
    "./cli/on_ledger.ts"
  );
  if (Deno.env.get("STORE") === "postgres") {
    const process = thisProcess(io, Deno.env);
    return await run(args, {
      io,
      withLedger: (use) =>
        withSettings(SERVICE, process, (settings) => {
          const logger = openLog(settings, process);
          return withSettingsLedger(settings, { ...process, logger }, use);
        }),
    });
  }
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
      withLedger: (use) =>
        withLedgerFile({
          ledgerPath: `${dataDir}/${LEDGER_FILE}`,
          packageId: Deno.env.get("LEDGER_PACKAGE_ID") || undefined,
          clock: systemClock,
        }, use),
    });
  } catch (error) {
    io.err(describeError(error));
    return 1;
  }
}

/** Adds the parts of the relayer. */
async function addRelayer(
  settings: RelayerSettings,
  tools: ServiceTools,
): Promise<void> {
  const tracing = await tools.openTracing(settings);
  if (usesDataFolder(settings)) {
    await openDataFolder(settings.dataDir, { service: "relayer" });
  }
  const { addParts } = await import("./serve.ts");
  await addParts(settings, {
    ...{ ...tools, tracing, randomBytes },
    version: VERSION,
    random: Math.random,
    loadRpc,
  });
}

/**
 * Loads what answers JSON-RPC over the embedded ledger, which is a room of its
 * own: nothing else of the relayer names it.
 */
async function loadRpc(): Promise<OpenRpc> {
  const { openRpc } = await import("../localnet/json_rpc.ts");
  return openRpc;
}

/** Adds the parts of a ledger that runs alone. */
async function addLedger(
  settings: RelayerSettings,
  tools: ServiceTools,
): Promise<void> {
  if (settings.store === "sqlite") {
    await openDataFolder(settings.dataDir, { service: "relayer" });
  }
  const { addLedgerParts } = await import("./serve_ledger.ts");
  const openRpc = await loadRpc();
  addLedgerParts(settings, { ...tools, version: VERSION, openRpc });
}

/** Returns all faults of the settings as a whole, one sentence each. */
function settingFaults(settings: RelayerSettings): readonly string[] {
  const faults: string[] = [...storageFaults(settings)];
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
  if (settings.embedderFile !== "" && settings.embeddingUrl !== "") {
    faults.push(
      "Cannot use EMBEDDER_FILE and EMBEDDING_API_BASE together: leave out one",
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
      faults.push(
        `Cannot use ${name} "${url}": it is not an http or https ` +
          "URL",
      );
    }
  }
  if (settings.masterKeys !== "") {
    const outcome = parseMasterKeys(settings.masterKeys);
    if (outcome.kind === "invalid") {
      faults.push(`${outcome.reason} (MASTER_KEYS)`);
    }
  }
  parseTrustedProxies(settings.trustedProxies, faults);
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

/** What is wrong with the settings of the storage, as messages. */
function storageFaults(settings: RelayerSettings): readonly string[] {
  if (settings.store === "postgres") {
    const faults = databaseFaults(settings, "relayer");
    return settings.masterKeys === ""
      ? [
        ...faults,
        "Cannot use STORE=postgres: MASTER_KEYS is empty, and relayers on " +
        "one database need the same keys",
      ]
      : faults;
  }
  const faults: string[] = [];
  if (settings.blobs === "postgres") {
    faults.push("Cannot use BLOBS=postgres: STORE is sqlite");
  }
  if (settings.durability === "replicated") {
    faults.push(
      "Cannot use DURABILITY=replicated: STORE is sqlite, which is one file",
    );
  }
  return faults;
}

function isHttpUrl(text: string): boolean {
  const url = URL.parse(text);
  return url !== null &&
    (url.protocol === "http:" || url.protocol === "https:");
}

if (import.meta.main) Deno.exit(await run(Deno.args, processIo()));
