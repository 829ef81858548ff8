/**
 * The relayer as a process of its own, with its production permissions.
 *
 * @module
 */

import { generateDelegateKey } from "../../sdk/account.ts";
import { runAccount } from "../../services/relayer/cli/account.ts";
import { runLedger } from "../../services/relayer/cli/ledger.ts";
import {
  withLedgerFile,
  withSettingsLedger,
} from "../../services/relayer/cli/on_ledger.ts";
import {
  LEDGER_FILE,
  type RelayerSettings,
  relayerSettings,
} from "../../services/relayer/settings.ts";
import { systemClock } from "../../services/shared/clock.ts";
import type { CommandIo } from "../../services/shared/command_line.ts";
import { openDataFolder } from "../../services/shared/data_folder.ts";
import { describeError } from "../../services/shared/settled.ts";
import { readSettings } from "../../services/shared/settings.ts";
import {
  type DataServiceOptions,
  DataServiceProcess,
  listening,
  runToEnd,
} from "./data_service_process.ts";
import { RecordingLogger } from "./recording_logger.ts";
import type { ServiceRun } from "./service_process.ts";

/** An account that may use the relayer, and the key of its delegate. */
export interface RelayerAccount {
  /** The private key of a delegate, 64 hexadecimal digits. */
  readonly key: string;
  /** The delegate's public key, 64 hexadecimal digits. */
  readonly publicKey: string;
  /** The id of the account. */
  readonly accountId: string;
  /** The owner's address. */
  readonly owner: string;
}

const LOCAL_ENV: Readonly<Record<string, string>> = {
  HOST: "127.0.0.1",
  PORT: "0",
  METRICS_PORT: "0",
  RATE_LIMIT_DISABLED: "true",
};

/** Starts the service and waits until it listens. */
export function startRelayer(
  options: DataServiceOptions,
): Promise<RelayerProcess> {
  return listening(new RelayerProcess(options));
}

/** Runs the program to its end, for commands and for starts that fail. */
export function runRelayer(options: DataServiceOptions): Promise<ServiceRun> {
  return runToEnd(new RelayerProcess(options));
}

/**
 * Runs a command of the relayer in this process, where not the process is
 * tested: a start costs more than what most commands do.
 */
export async function runRelayerCommand(
  { dataDir, env = {}, args = [] }: DataServiceOptions,
): Promise<ServiceRun> {
  const [out, err]: [string[], string[]] = [[], []];
  const io = {
    out: (text: string) => void out.push(`${text}\n`),
    err: (text: string) => void err.push(`${text}\n`),
  };
  const [name = "", ...rest] = args;
  await openDataFolder(dataDir, { service: "relayer" });
  const onLedger = { account: runAccount, ledger: runLedger }[name];
  const code = onLedger === undefined
    ? await runOnData({ dataDir, env, args: rest, io })
    : await onLedger(rest, {
      io,
      withLedger: (use) =>
        env["STORE"] === "postgres"
          ? withSettingsLedger(
            readValues({ dataDir, env }),
            { clock: systemClock, logger: new RecordingLogger() },
            use,
          )
          : withLedgerFile({
            clock: systemClock,
            ledgerPath: `${dataDir}/${LEDGER_FILE}`,
          }, use),
    });
  return { code, stdout: out.join(""), stderr: err.join("") };
}

function readValues(
  { dataDir, env }: Required<Pick<DataServiceOptions, "dataDir" | "env">>,
): RelayerSettings {
  const variables: typeof env = { ...LOCAL_ENV, DATA_DIR: dataDir, ...env };
  const read = readSettings(relayerSettings, (name) => variables[name]);
  if (read.kind === "invalid") throw new Error(read.problems.join("\n"));
  return read.values;
}

/** Runs the command that opens all data, whose modules only few tests load. */
async function runOnData(
  { dataDir, env, args, io }:
    & Required<
      Pick<DataServiceOptions, "dataDir" | "env" | "args">
    >
    & { readonly io: CommandIo },
): Promise<number> {
  const { runVault } = await import("../../services/relayer/cli/vault.ts");
  const values = readValues({ dataDir, env });
  return await runVault(args, {
    io,
    withSettings: async (use) => {
      try {
        return await use(values);
      } catch (error) {
        io.err(describeError(error));
        return 1;
      }
    },
    clock: systemClock,
    logger: () => new RecordingLogger(),
    signals: { listen: () => () => {} },
  });
}

/**
 * Creates an account for a new key with the relayer's command, as
 * `relayer account create` does.
 *
 * @param place where the relayer keeps its data
 * @param run runs the command; in this process by default
 */
export async function createAccount(
  place: Pick<DataServiceOptions, "dataDir" | "env">,
  run: (options: DataServiceOptions) => Promise<ServiceRun> = runRelayerCommand,
): Promise<RelayerAccount> {
  const pair = await generateDelegateKey();
  const publicKey = pair.publicKey.toHex();
  const { code, stdout: text, stderr } = await run({
    ...place,
    args: ["account", "create", "--public-key", publicKey, "--json"],
  });
  if (code !== 0) throw new Error(`Cannot make the account: ${stderr}`);
  const made: unknown = JSON.parse(text);
  const readText = (name: string): string => {
    const value: unknown = Reflect.get(Object(made), name);
    if (typeof value === "string") return value;
    throw new Error(`Cannot make the account: no ${name} in ${text}`);
  };
  return {
    key: pair.privateKey,
    publicKey,
    accountId: readText("account_id"),
    owner: readText("owner"),
  };
}

/** A process of the service, from its start to its end. */
export class RelayerProcess extends DataServiceProcess {
  /** Starts the process without waiting for anything. */
  constructor(
    { dataDir, env, args, fromSource, runtimeFlags }: DataServiceOptions,
  ) {
    super({
      service: "relayer",
      env: { ...LOCAL_ENV, DATA_DIR: dataDir, ...env },
      ...(args === undefined ? {} : { args }),
      fromSource,
      ...(runtimeFlags === undefined ? {} : { runtimeFlags }),
    });
  }
}
